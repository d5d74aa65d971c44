import type { Context } from 'cordis'
import { type Agent, type ToolRun, override } from '@headrace/agent'
import { RunContext } from '@headrace/run-context'
import type { SessionStore } from '@headrace/session'
import { turns } from '@headrace/testing/gate'
import type { Killer } from './killer.ts'
import type { Side } from './watched.ts'

/** The two prompts of a session's work; each is answered with a call of every tool, then with a text. */
export const PROMPTS = ['One: look around.', 'Two: look again.'] as const
export const TITLE = 'Say a title.'

/** A plugin that takes part everywhere: all kinds of events come of it. */
export function work(killer: Killer, side: Side): { name: string; inject: string[]; apply(ctx: Context): Promise<void> } {
  const tool = (name: string, sequential: boolean, act: (run: ToolRun) => void) => ({
    name, description: `The tool ${name}.`, parameters: { type: 'object' }, sequential,
    execute: async (_input: unknown, run: ToolRun) => {
      side.say({ what: 'tool', id: run.call.id, name })
      const nth = killer.count('tool')
      await turns()
      killer.pass('tool', nth)
      act(run)
      return `${name} was here`
    },
  })
  const apply = async (ctx: Context): Promise<void> => {
    ctx.tools.define(tool('left', false, ({ agent }) => void agent.inject('Noted by left.')))
    ctx.tools.define(tool('right', false, ({ agent }) => void agent.steer('Mind the right.')))
    ctx.tools.define(tool('alone', true, () => undefined))
    ctx.agents.prefix({ key: 'opener', content: () => 'You are watched.' })
    ctx.agents.before({ key: 'frame', content: () => 'In front.' })
    ctx.agents.after({ key: 'last', content: (_agent, _turn, step) => `Step ${step.number}.` })
    ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => ({ ...await next(), additionalContext: ['With the prompt.'] }))
    ctx.on('agent/request', async (_agent, _turn, step, _config, next) => ({ ...await next(), temperature: step.number % 2 }))
    ctx.on('agent/request-error', async (_agent, _turn, step) => (step.attempt < 4 ? 'retry' : 'fail'))
    ctx.on('tools/post-execute', async (_agent, _turn, call) => override({ additionalContext: [`After ${call.name}.`] }, 'nobody else has anything'))
    ctx.on('agent/pre-step', async (agent, turn, step, next) => {
      if (turn.number > 1 && step.number === 1) summarise(agent)
      return next()
    })
    ctx.on('agent/turn-stopping', async (agent) => {
      const asked = [...agent.session.events()].some((event) => event.type === 'request/dispatch' && event.data.purpose === 'title')
      if (!asked) await agent.ask([TITLE], { purpose: 'title' })
    })
    ctx.on('llm/stream', async function* (_agent, _turn, request, next) {
      side.say({ what: 'request', dispatch: request.dispatch! })
      const answer = next()
      for await (const chunk of answer) {
        yield chunk
        killer.pass('chunk', killer.count('chunk'))
      }
    })
  }
  return { name: 'work', inject: ['agents', 'tools'], apply }
}

/** Puts a line in the place of everything in front of the newest prompt, once. */
function summarise(agent: Agent): void {
  const entries = agent.session.entries()
  const newest = entries.findLastIndex(({ owner }) => owner === 'user')
  if (newest < 2 || entries.some(({ owner }) => owner === 'work/summary')) return
  agent.replace(entries[0]!.id, entries[newest - 1]!.id, ['It looked around.'], { reason: 'too long', key: 'summary' })
}

/** Asks for all of it; says what it was promised. */
export async function drive(agent: Agent, side: Side, store: Pick<SessionStore, 'post'>): Promise<void> {
  const stop = agent.session.on('event', ({ type }) => {
    if (type !== 'tool/start') return
    stop()
    agent.steer('And be quick.')
  })
  side.say({ what: 'blob', digest: (await agent.putImage(Buffer.from(`the picture of ${agent.id}`), 'image/png')).digest })
  const letters = (async () => {
    const { letter } = await store.post(agent.id, { kind: 'prompt', key: 'k', input: { role: 'user', content: [{ type: 'text', text: 'By letter.' }] } })
    side.say({ what: 'letter', id: letter! })
  })()
  const turns = Promise.all(PROMPTS.map(async (text) => {
    const handle = agent.prompt(text, { context: new RunContext({ facts: [['prompt', text]] }) })
    await handle.accepted
    side.say({ what: 'prompt', seq: handle.prompt! })
    const { reason } = await handle.result
    side.say({ what: 'turn', prompt: handle.prompt!, reason })
  }))
  const withdrawn = (async () => agent.prompt('Never mind.').cancel())()
  await Promise.all([turns, withdrawn, letters])
}
