import type { Context, Fiber, Plugin } from 'cordis'
import * as agentPlugin from '@headrace/agent'
import briefing from '@headrace/briefing'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { scriptedAdapter } from '@headrace/testing'
import { turns } from '@headrace/testing/gate'
import { modelOf } from './world.ts'

/** An app in which plugins come and go. */
export interface Stage {
  readonly ctx: Context
  readonly directory: string
  /** Ids of the calls that ran. */
  readonly ran: string[]
  /** Called once by whoever stands at the moment. */
  act(): Promise<void>
}

export const settings = { strict: false, grace: 20, seamTimeout: 500, toolTimeout: 500 }

/** Takes part everywhere; what it says is its config. */
export const guest = (stage: Stage) => ({
  name: 'guest', inject: ['agents', 'tools', 'system', 'llm', 'briefing'],
  apply: async (ctx: Context, { word }: { readonly word: string }): Promise<void> => {
    const tool = (name: string, ask: boolean) => ctx.tools.define({
      name, description: word, parameters: { type: 'object' }, ask,
      execute: async (_input, { call }) => {
        stage.ran.push(call.id)
        if (name === 'look') await stage.act()
        await turns()
        return word
      },
    })
    tool('look', false)
    tool('ask', true)
    ctx.system.section({ key: 'word', content: word })
    ctx.briefing.topic({ key: 'word', content: () => word })
    ctx.agents.prefix({ key: 'word', content: () => word })
    ctx.agents.before({ key: 'word', content: () => word })
    ctx.agents.after({ key: 'word', content: () => word })
    for (const seam of ['agent/prompt-submit', 'agent/pre-step', 'agent/request', 'tools/pre-execute', 'tools/execute', 'tools/post-execute'] as const) {
      ctx.on(seam, (async (...args: unknown[]) => {
        await new Promise((resolve) => setImmediate(resolve))
        return (args.at(-1) as () => unknown)()
      }) as never)
    }
    ctx.on('llm/stream', async function* (_agent, _turn, _request, next) {
      const stream = next()
      for await (const chunk of stream) yield chunk
    })
  },
})

export const provider = { name: 'provider', inject: ['llm'], apply: async (ctx: Context) => void ctx.llm.adapter('own', scriptedAdapter(modelOf(true))) }

export const storing = {
  name: 'storing', inject: ['sessions'],
  apply: async (ctx: Context, { directory }: { readonly directory: string }) => void ctx.sessions.store(new JsonlStore({ directory, fsync: 'never' })),
}

/** Who goes, and how they come back. */
export interface Departure {
  readonly who: string
  /** How the turn in which they go may end. */
  readonly ends: readonly string[]
  leave(stage: Stage): unknown
  back(stage: Stage): unknown
}

const fiberOf = ({ ctx }: Stage, name: string): Fiber => {
  for (const runtime of ctx.registry.values()) for (const fiber of runtime.fibers) if (fiber.name === name) return fiber
  throw new TypeError(`no plugin ${name} is loaded`)
}

const load = ({ ctx }: Stage, plugin: unknown, config?: unknown): PromiseLike<unknown> => {
  return (ctx.plugin as (plugin: Plugin, config: unknown) => PromiseLike<unknown>)(plugin as Plugin, config)
}

/** The agents go with it: their turn is parked, unless it had ended. */
const service = (who: string, name: string): Departure => {
  let callback: unknown
  return {
    who: `the service ${who}`, ends: ['parked', 'done'],
    leave: (stage) => {
      const fiber = fiberOf(stage, name)
      callback = fiber.runtime!.callback
      return fiber.dispose()
    },
    back: (stage) => load(stage, callback, settings),
  }
}

export const DEPARTURES: readonly Departure[] = [
  { who: 'the plugin', ends: ['done'], leave: (stage) => fiberOf(stage, 'guest').dispose(), back: (stage) => load(stage, guest(stage), { word: 'again' }) },
  { who: 'the plugin, for another config,', ends: ['done'], leave: (stage) => fiberOf(stage, 'guest').update({ word: 'again' }), back: () => undefined },
  { who: 'the provider', ends: ['done', 'error'], leave: (stage) => fiberOf(stage, 'provider').dispose(), back: (stage) => load(stage, provider) },
  { who: 'the briefing', ends: ['done'], leave: (stage) => fiberOf(stage, 'briefing').dispose(), back: (stage) => load(stage, briefing, {}) },
  { who: 'the store', ends: ['done'], leave: (stage) => fiberOf(stage, 'storing').dispose(), back: (stage) => load(stage, storing, { directory: stage.directory }) },
  service('tools', 'Tools'), service('system', 'System'), service('llm', 'Llm'), service('agents', 'AgentsOfApp'), service('sessions', 'Sessions'),
  { who: 'everything of the agent', ends: ['parked', 'done'], leave: (stage) => fiberOf(stage, 'agent').dispose(), back: (stage) => load(stage, agentPlugin, settings) },
]

/** An app with all of them. */
export async function open(directory: string, act: () => Promise<void>, ctx: Context): Promise<Stage> {
  const stage: Stage = { ctx, directory, ran: [], act }
  await load(stage, agentPlugin, settings)
  await load(stage, briefing, {})
  await load(stage, storing, { directory })
  await load(stage, provider)
  await load(stage, guest(stage), { word: 'once' })
  ctx.on('agent/request-error', async (_agent, _turn, step) => (step.attempt < 3 ? 'retry' : 'fail'))
  ctx.on('tools/ask', async () => 'allow')
  return stage
}
