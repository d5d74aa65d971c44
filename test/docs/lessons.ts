import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context, type Plugin } from 'cordis'
import * as agentPlugin from '@headrace/agent'
import { BriefingService } from '@headrace/briefing'
import { textOf } from '@headrace/message'
import { removeFolder } from '@headrace/testing/folder'
import { type Harness, type HarnessOptions, type Reply, harness } from '@headrace/testing'
import { expect, vi } from 'vitest'
import type { Values } from './run.ts'

/** What a lesson of docs/plugins.md gives: a plugin, as its block exports it. */
export type Lesson = Plugin & Values & { readonly name: string }

/** Shows that the plugin does what the page says. Where the page shows what the model saw, it gives the app that the model ran in. */
export type Proof = (plugin: Lesson, others: Readonly<Record<string, Lesson>>) => Promise<Harness | void>

const tool = (name: string, execute: (input: Values) => unknown = () => 'done', more: object = {}): Plugin => ({
  name: `tool-${name}`, inject: ['tools'],
  apply: async (ctx: Context) => void ctx.tools.define({ name, description: name, parameters: { type: 'object' }, execute: execute as never, ...more }),
})
const calls = (name: string, input: object = {}): Reply => ({ calls: [{ name, arguments: input }] })
const start = (plugin: Lesson, { plugins = [], ...options }: HarnessOptions = {}): Promise<Harness> =>
  harness({ ...options, plugins: [...plugins, plugin] })
/** The texts of the last request's messages of a role. */
const texts = (app: Harness, role: string): readonly string[] => app.requests.at(-1)!.messages.filter((message) => message.role === role)
  .map((message) => message.role === 'tool' ? message.content.map((result) => textOf(result)).join() : textOf(message))

/** By heading. */
export const PROOFS: Readonly<Record<string, Proof>> = {
  'A plugin': async (plugin) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const app = await harness()
      const fiber = await app.ctx.plugin(plugin)
      vi.advanceTimersByTime(60_000)
      expect(JSON.stringify(app.ctx.logger.buffer.map(({ args, name }) => [name, args]))).toContain('["heartbeat",["%d agents",1]]')
      const running = vi.getTimerCount()
      await fiber.dispose()
      expect(vi.getTimerCount()).toBe(running - 1)
      await app.dispose()
    } finally {
      vi.useRealTimers()
    }
  },
  'A tool': async (plugin) => {
    const app = await start(plugin, { script: [calls('roll', { sides: 6 }), calls('roll', { sides: 1 }), 'ok'] })
    await app.run('Roll')
    expect(texts(app, 'tool')).toEqual([expect.stringMatching(/^You rolled [1-6]\.$/), expect.stringMatching(/^The arguments do not fit: /)])
    return app
  },
  'A section of the system prompt': async (plugin) => {
    const app = await start(plugin)
    await app.run('Hi')
    expect(app.requests[0]!.system).toBe('Answer in one sentence.')
    expect(app.agent.session.requestHeader()!.owners.system).toEqual([{ owner: 'tone/tone', length: 23 }])
    return app
  },
  'A topic': async (plugin) => {
    const cwd = await mkdtemp(join(tmpdir(), 'headrace-docs-'))
    try {
      await writeFile(join(cwd, 'RUNBOOK.md'), 'Restart the pump first.\n')
      const app = await start(plugin, { plugins: [BriefingService], agent: { cwd } })
      for (const prompt of ['How do I restart it?', 'And then?']) await app.run(prompt)
      await writeFile(join(cwd, 'RUNBOOK.md'), 'Close the valve first.\n')
      await app.run('And now?')
      return app
    } finally {
      removeFolder(cwd)
    }
  },
  'Last and fresh': async (plugin) => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-29T12:00:00Z') })
    try {
      const app = await start(plugin)
      await app.run('Hi')
      vi.setSystemTime(new Date('2026-11-30T12:00:00Z'))
      await app.run('Hi again')
      expect(app.requests[1]!.owners.at(-1)).toBe('clock/day')
      return app
    } finally {
      vi.useRealTimers()
    }
  },
  'A message, once': async (plugin) => {
    const app = await start(plugin)
    await app.ctx.parallel('deploy/done' as never, '1.2' as never)
    for (const prompt of ['Hi', 'Hi again']) await app.run(prompt)
    return app
  },
  'With the user\'s words: agent/prompt-submit': async (plugin) => {
    const app = await start(plugin)
    await app.run('Mend #42.')
    await app.run('Thanks')
    expect(app.requests[1]!.owners.slice(0, 2)).toEqual(['user', 'issues/42'])
    return app
  },
  'May it run: tools/pre-execute': async (plugin) => {
    const app = await start(plugin, { plugins: [tool('bash')], script: [calls('bash', { command: 'rm -r x' }), calls('bash', { command: 'ls' }), 'ok'] })
    await app.run('Go')
    expect(texts(app, 'tool')).toEqual([expect.stringContaining('Nothing is removed here.'), 'done'])
    return app
  },
  'Who answers: tools/ask': async (plugin) => {
    const plugins = [tool('write', undefined, { ask: true }), tool('remove', undefined, { ask: true })]
    const app = await start(plugin, { plugins, script: [calls('write'), calls('remove'), 'ok'] })
    await app.run('Go')
    expect(texts(app, 'tool')).toEqual(['done', expect.stringContaining('nobody here to give it')])
    return app
  },
  'In its place: tools/execute': async (plugin) => {
    const ran = vi.fn(() => 'done')
    const app = await start(plugin, { plugins: [tool('bash', ran)], script: [calls('bash', { command: 'make' }), 'ok'] })
    await app.run('Go')
    expect(texts(app, 'tool')).toEqual(['This would run: make'])
    expect(ran).not.toHaveBeenCalled()
    return app
  },
  'After a result: tools/post-execute': async (plugin) => {
    const serve = tool('serve', ({ port }) => port === 80 ? 'Error: EADDRINUSE' : 'listening')
    const app = await start(plugin, { plugins: [serve], script: [{ calls: [{ name: 'serve', arguments: { port: 80 } }, { name: 'serve', arguments: { port: 81 } }] }, 'ok'] })
    await app.run('Go')
    expect(app.requests[1]!.owners).toEqual(['user', 'model', 'tool', 'tool', 'hints/port'])
    return app
  },
  'Ahead of a step: agent/pre-step': async (plugin) => {
    const app = await start(plugin, { plugins: [tool('work')], script: [calls('work')] })
    const result = await app.run('Go')
    expect([result.reason, result.steps, app.requests.length]).toEqual(['stopped', 20, 20])
    expect([8, 9].map((index) => app.requests[index]!.owners.includes('patience/ten'))).toEqual([false, true])
    return app
  },
  'An opener: agent/session-prefix': async (plugin) => {
    const app = await start(plugin)
    for (const prompt of ['Hi', 'Hi again']) await app.run(prompt)
    expect(app.requests.map(({ owners, segments }) => [owners[0], segments.prefix])).toEqual([['charter/prefix', 1], ['charter/prefix', 1]])
    return app
  },
  'Which model, how warm: agent/request': async (plugin) => {
    const app = await start(plugin, { plugins: [tool('work')], script: [calls('work'), calls('work'), 'ok'] })
    await app.run('Go')
    expect(app.requests.map(({ config }) => config.model)).toEqual(['scripted/small', 'scripted/large', 'scripted/large'])
    return app
  },
  'Around the history: agent/request-messages': async (plugin) => {
    const app = await start(plugin)
    await app.run('Hi')
    expect(app.requests[0]!.owners).toEqual(['frame/before', 'user', 'frame/after'])
    return app
  },
  'Leaving others out: override': async (plugin, { 'Last and fresh': clock }) => {
    const app = await harness({ plugins: [plugin, clock!] })
    await app.run('Hi')
    expect(app.requests[0]!.owners).toEqual(['user'])
    const [note] = (await app.events()).filter(({ type }) => type === 'agent/override')
    expect(note!.data).toEqual({ plugin: 'bare', seam: 'agent/request-messages', reason: 'this agent is measured without framing', dropped: ['clock/day'] })
    return app
  },
  'When a request failed: agent/request-error': async (plugin) => {
    const app = await start(plugin, { script: [{ error: { kind: 'rate-limit' } }, 'ok', 'ok', { error: { kind: 'server' } }] })
    for (const prompt of ['One', 'Two']) expect(await app.run(prompt)).toMatchObject({ reason: 'done' })
    expect(app.requests.map(({ config }) => config.model)).toEqual(['scripted/model', 'scripted/small', 'scripted/model'])
    expect(await app.run('Three')).toMatchObject({ reason: 'error' })
    return app
  },
  'Before it stops: agent/turn-stopping': async (plugin) => {
    const app = await start(plugin)
    expect(await app.run('Go')).toMatchObject({ reason: 'done', steps: 2 })
    return app
  },
  'A question beside the turn: agent.ask': async (plugin) => {
    const app = await start(plugin, { script: (request) => request.owners.at(-1) === 'titles/title' ? 'A small greeting' : 'Hello.' })
    for (const prompt of ['Hi', 'Hi again']) await app.run(prompt)
    const events = await app.events()
    expect(events.filter(({ type }) => type === 'titles/title' as never).map(({ data }) => data)).toEqual([{ title: 'A small greeting' }])
    expect(app.requests.map(({ owners }) => owners.at(-1))).toEqual(['user', 'titles/title', 'user'])
    expect(app.requests[2]!.owners).toEqual(['user', 'model', 'user'])
    return app
  },
  'Watching: session/event': async (plugin) => {
    const app = await start(plugin, { script: [{ text: 'Hello.', usage: { output: 3 } }] })
    for (const prompt of ['Hi', 'Hi again']) await app.run(prompt)
    expect(JSON.stringify(app.ctx.logger.buffer.map(({ args }) => args))).toContain('["%d tokens written so far",6]')
    return app
  },
  'The answer as it comes: llm/stream': async (plugin) => {
    const app = await start(plugin, { script: ['**Hello**'] })
    expect(await app.run('Hi')).toMatchObject({ text: 'Hello' })
    return app
  },
  'A model': async (plugin) => {
    const app = await start(plugin, { agent: { model: 'echo/any' } })
    expect(await app.run('Hi')).toMatchObject({ reason: 'done', text: 'You said: Hi' })
    return app
  },
  'A store': async (plugin) => {
    const ctx = new Context()
    await ctx.plugin(agentPlugin)
    const before = ctx.sessions.current
    await ctx.plugin(plugin)
    expect(ctx.sessions.current).not.toBe(before)
    await ctx.agents.create({ id: 'kept', model: 'echo/any' })
    const ids: string[] = []
    for await (const { id } of ctx.sessions.current.list()) ids.push(id)
    expect(ids).toEqual(['kept'])
    await ctx.fiber.dispose()
  },
  'A service, and its Config': async (plugin) => {
    const Tally = plugin.default as Plugin
    const app = await harness({ plugins: [[Tally, {}]], script: [{ text: 'Hello.', usage: { output: 3 } }] })
    for (const prompt of ['Hi', 'Hi again']) await app.run(prompt)
    expect(Reflect.get(app.ctx.get('tally' as never) as unknown as object, 'total')).toBe('6 tokens')
    await expect((async () => { await app.ctx.plugin(Tally, { unit: 3 }) })()).rejects.toThrow('unit')
    return app
  },
}

/** As `headrace explain` shows it: role, owner, text. */
export function seenOf(app: Harness, plugin: string): string {
  const { messages = [], owners = [] } = app.requests.at(-1) ?? {}
  return messages.flatMap((message, index) => owners[index]!.startsWith(`${plugin}/`) ? [`${message.role}  ${owners[index]!}  ${textOf(message as never).replace(/\s+/g, ' ').trim()}`] : []).join('\n')
}
