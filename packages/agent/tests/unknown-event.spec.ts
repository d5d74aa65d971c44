import { readFileSync, readdirSync } from 'node:fs'
import type { Context, Plugin } from 'cordis'
import { expect, it, onTestFinished } from 'vitest'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { EVENTS } from '../src/seams/unknown-events.ts'

async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness(options)
  // What is reported is what these tests look at.
  onTestFinished(() => made.dispose().catch(() => undefined))
  return made
}

function listens(name: string, ...events: readonly string[]): Plugin {
  return {
    name,
    apply: async (ctx: Context) => {
      for (const event of events) (ctx as unknown as { on(event: string, listener: () => void): void }).on(event, () => undefined)
    },
  }
}

const turn = (made: Harness) => made.agent.prompt('Hi').result

it('a listener of an event that there is none of is reported by name, with what was meant, and the turn goes on', async () => {
  const made = await app({ plugins: [listens('guard', 'tools/pre-exec')] })
  expect(await turn(made)).toMatchObject({ reason: 'done' })
  expect(made.reports).toEqual([{ kind: 'unknown', plugin: 'guard', seam: 'tools/pre-exec', problem: 'there is no such event, so it is never called; did you mean "tools/pre-execute"?' }])
})

it.each([
  ['agent/prompts-submit', 'did you mean "agent/prompt-submit"?'],
  ['agent/Pre-Step', 'did you mean "agent/pre-step"?'],
  ['llm/streams', 'did you mean "llm/stream"?'],
  ['session/events', 'did you mean "session/event"?'],
  ['skills/diagnostics', 'did you mean "skills/diagnostic"?'],
  ['loader/reports', 'did you mean "loader/report"?'],
  ['tool/pre-execute', 'did you mean "tools/pre-execute"?'],
  ['tools/pre_execute', 'did you mean "tools/pre-execute"?'],
  ['tools/preExecute', 'did you mean "tools/pre-execute"?'],
  ['tools:pre-execute', 'did you mean "tools/pre-execute"?'],
  ['Tools/PreExecute', 'did you mean "tools/pre-execute"?'],
  ['tools.preExecute', 'did you mean "tools/pre-execute"?'],
  ['toolsPreExecute', 'did you mean "tools/pre-execute"?'],
  ['agent/pre-execute', 'did you mean "tools/pre-execute"?'],
  ['call/pre-execute', 'did you mean "tools/pre-execute"?'],
  ['pre-execute', 'did you mean "tools/pre-execute"?'],
  ['preStep', 'did you mean "agent/pre-step"?'],
  ['tool/pre-exceute', 'did you mean "tools/pre-execute"?'],
  ['agents/request-message', 'did you mean "agent/request-messages"?'],
  ['turn/prompt-submit', 'did you mean "agent/prompt-submit"?'],
  ['sessions/event', 'did you mean "session/event"?'],
  ['model/stream', 'did you mean "llm/stream"?'],
  ['toolz/pre-execute', 'did you mean "tools/pre-execute"?'],
  ['sesion/event', 'did you mean "session/event"?'],
  ['PreToolUse', 'did you mean "tools/pre-execute"?'],
  ['pre_tool_use', 'did you mean "tools/pre-execute"?'],
  ['PostToolUse', 'did you mean "tools/post-execute"?'],
  ['UserPromptSubmit', 'did you mean "agent/prompt-submit"?'],
  ['SessionStart', 'did you mean "agent/session-prefix"?'],
  ['Stop', 'did you mean "agent/turn-stopping"?'],
  ['PreCompact', 'did you mean "agent/pre-step"?'],
  ['turn/stopping', 'did you mean "agent/turn-stopping"?'],
  ['turn-stopping', 'did you mean "agent/turn-stopping"?'],
  ['turnStopping', 'did you mean "agent/turn-stopping"?'],
  ['turn/stop', 'did you mean "agent/turn-stopping"?'],
  ['tool/preexecute', 'did you mean "tools/pre-execute"?'],
  ['preexecute', 'did you mean "tools/pre-execute"?'],
  ['tools/preexecute', 'did you mean "tools/pre-execute"?'],
  ['tools/postexecute', 'did you mean "tools/post-execute"?'],
  ['tool/before-execute', 'did you mean "tools/pre-execute"?'],
  ['beforeToolCall', 'did you mean "tools/pre-execute"?'],
  ['onToolCallBefore', 'did you mean "tools/pre-execute"?'],
  ['step/before', 'did you mean "agent/pre-step"?'],
  ['prestep', 'did you mean "agent/pre-step"?'],
  ['pre/step', 'did you mean "agent/pre-step"?'],
  ['prompt/submit', 'did you mean "agent/prompt-submit"?'],
  ['promptsubmit', 'did you mean "agent/prompt-submit"?'],
  ['request/messages', 'did you mean "agent/request-messages"?'],
  ['requestMessages', 'did you mean "agent/request-messages"?'],
  ['session/prefix', 'did you mean "agent/session-prefix"?'],
  ['lmm/stream', 'did you mean "llm/stream"?'],
  ['tols/pre-execute', 'did you mean "tools/pre-execute"?'],
  ['agent/requestError', 'did you mean "agent/request-error"?'],
  ['agent/promptsubmit', 'did you mean "agent/prompt-submit"?'],
  ['agent/turnstopping', 'did you mean "agent/turn-stopping"?'],
  ['agent/turn-stop', 'did you mean "agent/turn-stopping"?'],
  ['hooks/PreToolUse', 'did you mean "tools/pre-execute"?'],
  ['tools/pre execute', 'did you mean "tools/pre-execute"?'],
  ['TOOLS/PRE-EXECUTE', 'did you mean "tools/pre-execute"?'],
  ['tools/permission', 'there is tools/pre-execute, tools/ask, tools/execute, tools/post-execute'],
  ['tools/', 'there is tools/pre-execute, tools/ask, tools/execute, tools/post-execute'],
])('%s is none, and is told: %s', async (event, meant) => {
  const made = await app({ plugins: [listens('guard', event)] })
  await turn(made)
  expect(made.reports.map(({ seam, problem }) => `${seam}: ${problem}`)).toEqual([`${event}: there is no such event, so it is never called; ${meant}`])
})

it('an event of a plugin\'s own, under a name of its own, is nobody else\'s business', async () => {
  const made = await app({ plugins: [listens('mine', 'mine/step', 'agents/step', 'my-agent/step', 'agent', 'internal/status', 'http/request', 'db/pre-execute', 'db/execute', 'ask', 'request', 'http/request-error', 'chat/event', 'model/loaded', 'ready', 'request/error', 'turn/stopped', 'prompt/submitted', 'tool/call', 'tool/used', 'step/done', 'agenda/request', 'agency/report', 'user/message', 'message/received', 'before/exit', 'after/all', 'stop', 'start', 'session-started', 'page/prefix', 'form/submit', 'user/submit', 'queue/pre-run', 'job/post-run', 'call/end', 'report', 'execute', 'stream', 'event', 'http/stream', 'task/execute', 'dom/event', 'tool', 'agent-ready', 'tools', 'step', 'turn')] })
  await turn(made)
  expect(made.reports).toEqual([])
})

it('each listener is told of once, whatever turns, agents and instances come, and one that comes later at the next turn', async () => {
  const made = await app({ script: ['1', '2', '3', '4'], plugins: [listens('guard', 'tools/pre-exec', 'tools/pre-exec')] })
  const seams = () => made.reports.map(({ plugin }) => plugin)
  await turn(made)
  expect(seams()).toEqual(['guard', 'guard'])
  await made.ctx.plugin(listens('late', 'agent/presteps'))
  await turn(made)
  await made.resume()
  await turn(made)
  const other = await made.ctx.agents.create({ model: 'scripted/model' })
  await other.prompt('Hi').result
  expect(seams()).toEqual(['guard', 'guard', 'late'])
})

it('a listener of one agent is told of to that agent', async () => {
  const made = await app({ script: ['1', '2'] })
  const other = await made.ctx.agents.create({ id: 'other', model: 'scripted/model' })
  await other.ctx.plugin(listens('guard', 'tools/pre-exec'))
  const told: string[] = []
  made.ctx.on('agent/report', (agent) => void told.push(agent.id))
  await turn(made)
  expect(told).toEqual([])
  await other.prompt('Hi').result
  expect(told).toEqual(['other'])
})

it('the known ones are those that the packages and plugins declare under these names, no more and no less', () => {
  const root = new URL('../../../', import.meta.url)
  const declared = ['packages', 'plugins'].flatMap((kind) => readdirSync(new URL(kind, root)).flatMap((name) => {
    const src = new URL(`${kind}/${name}/src/`, root)
    return readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts')).flatMap((file) => {
      const [, events = ''] = /interface Events \{\n([^]*?)\n {2}\}/.exec(readFileSync(new URL(file, src), 'utf8')) ?? []
      return [...events.matchAll(/^ {4}'((?:agent|tools|llm|session|skills|loader|compaction)\/[\w-]+)'\(/gm)].map(([, event]) => event)
    })
  }))
  expect([...EVENTS].sort()).toEqual(declared.sort())
})
