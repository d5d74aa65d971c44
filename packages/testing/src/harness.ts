import { Context, type Plugin } from 'cordis'
import * as agentPlugin from '@headrace/agent'
import type { Agent, CreateOptions, Report, ResumeOptions, Settings } from '@headrace/agent'
import { checkOptions } from '@headrace/agent/internal'
import { fibersOf, whyNotRunning } from '@headrace/cordis'
import { messageOf } from '@headrace/message'
import { MemoryStore, type SessionEvent, type SessionStore, type Verification, verify } from '@headrace/session'
import { Reports } from './reports.ts'
import { type Script, type ScriptedAdapter, scriptedAdapter } from './scripted.ts'

/** Options of `harness()`. */
export interface HarnessOptions {
  readonly script?: Script
  /** Loaded in this order, after the agent's services. */
  readonly plugins?: readonly (Plugin | readonly [plugin: Plugin, config: unknown])[]
  /** Default: a new one in memory. */
  readonly store?: SessionStore
  /** `strict` is on unless it says otherwise. */
  readonly settings?: Partial<Omit<Settings, 'limits'>> & { readonly limits?: Partial<Settings['limits']> }
  readonly agent?: CreateOptions
  /** Allows reports in this test. Default: a report is an error (see `Harness.run`). */
  readonly reports?: 'allow'
}

/** An app with the agent's services, a scripted model and one agent. */
export interface Harness {
  readonly ctx: Context
  readonly agent: Agent
  readonly model: ScriptedAdapter
  /** What the model got. */
  readonly requests: ScriptedAdapter['requests']
  readonly store: SessionStore
  /** Reports so far. Reports that a test has read here are not thrown any more. */
  readonly reports: readonly Report[]
  /**
   * Prompts, and waits for the turn. Rejects with a ReportedError where something was reported before, or a seam broke
   * a turn, that no test has looked at.
   */
  run(input: string): ReturnType<Agent['prompt']>['result']
  /** The log as it stands in the store. */
  events(): Promise<readonly SessionEvent[]>
  /** Verifies the log as it stands in the store. */
  verify(): Promise<Verification>
  /** Ends the agent and drives its session with a new instance, in the same app. */
  resume(options?: ResumeOptions): Promise<Agent>
  /** Unloads the app, and rejects as `run` does. */
  dispose(): Promise<void>
}

/**
 * Makes an app to test plugins in.
 *
 * ```ts
 * const { run, requests, dispose } = await harness({ script: ['Hello.'], plugins: [clock] })
 * await run('Hi')
 * expect(requests[0]!.messages.at(-1)).toMatchObject({ role: 'system' })
 * ```
 */
export async function harness(options: HarnessOptions = {}): Promise<Harness> {
  checkOptions('harness', options, ['script', 'plugins', 'store', 'settings', 'agent', 'reports'])
  const ctx = new Context()
  const store = options.store ?? new MemoryStore()
  const reports = new Reports(options.reports === 'allow')
  await ctx.plugin(agentPlugin, { strict: true, quiet: true, ...options.settings })
  ctx.sessions.store(store)
  const model = scriptedAdapter(options.script ?? ['ok'])
  ctx.llm.adapter('scripted', model)
  ctx.on('agent/report', (_, report) => reports.add(report))
  for (const item of options.plugins ?? [])
    await (Array.isArray(item) ? ctx.plugin(item[0], item[1]) : ctx.plugin(item as Plugin, undefined))
  await checkLoaded(ctx)
  let agent = await ctx.agents.create({ id: 'test', model: 'scripted/model', ...options.agent })
  const events = async (): Promise<readonly SessionEvent[]> => {
    const list: SessionEvent[] = []
    for await (const batch of store.load(agent.id)) list.push(...batch)
    return list
  }
  return {
    ctx, store, model, requests: model.requests, events,
    get agent() { return agent },
    get reports() { return reports.look() },
    async run(input) {
      reports.check()
      return reports.turn(await agent.prompt(input).result)
    },
    verify: async () => verify(await events()),
    async resume(resumeOptions) {
      const { id } = agent
      await agent.dispose()
      // Only the newest part of the log is in memory, so that a plugin that needs the older part synchronously fails here.
      return (agent = await ctx.agents.resume(id, { recent: true, ...resumeOptions }))
    },
    async dispose() {
      await agent.dispose()
      await ctx.fiber.dispose()
      reports.check()
    },
  }
}

/** A plugin that waits for a service says nothing by itself, and a test of it would be green. @throws TypeError that names both */
async function checkLoaded(ctx: Context): Promise<void> {
  for (const fiber of fibersOf(ctx)) {
    await fiber.await().catch(() => undefined)
    const why = whyNotRunning(fiber)
    if (!why) continue
    if (why.kind !== 'waits') throw new TypeError(`plugin ${fiber.name} failed to load${why.kind === 'failed' ? `: ${messageOf(why.error)}` : ''}`)
    throw new TypeError(`plugin ${fiber.name} is not loaded: it waits for ${why.services.join(', ')}; give the harness the plugin that provides it, in front of it`)
  }
}
