import { Context, type Plugin } from 'cordis'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import * as agentPlugin from '@headrace/agent'
import { MemoryStore } from '@headrace/session'
import { scriptedAdapter } from '@headrace/testing'

let ctx: Context
let lines: string[]
beforeEach(() => {
  ctx = new Context()
  lines = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    lines.push(String(text))
    return true
  })
})
afterEach(async () => {
  vi.useRealTimers()
  await ctx.fiber.dispose()
  vi.restoreAllMocks()
})

const load = (plugin: Plugin): PromiseLike<unknown> => (ctx.plugin as (plugin: Plugin) => PromiseLike<unknown>)(plugin)
/** Loads a plugin that nobody awaits, until it failed. */
const lost = (plugin: Plugin): Promise<void> => Promise.resolve(load(plugin)).then(() => undefined, () => undefined)

it('in an app that listens to no log, warnings and errors are a line of stderr each, and information is none', async () => {
  await ctx.plugin(agentPlugin)
  ctx.logger('clock').warn('no %s', 'moon')
  ctx.logger('clock').error(new TypeError('no sun\nat all'))
  ctx.logger('clock').info('tick')
  expect(lines).toEqual(['headrace: warning: clock: no moon\n', 'headrace: error: clock: TypeError: no sun at all\n'])
})

it('what was logged before is told, once, also where the agent is loaded again', async () => {
  await lost({ name: 'early', apply: async () => { throw new Error('no dawn') } })
  const fiber = await ctx.plugin(agentPlugin)
  expect(lines).toEqual(['headrace: error: early: Error: no dawn\n'])
  await fiber.dispose()
  await ctx.plugin(agentPlugin)
  expect(lines).toHaveLength(1)
})

it('a plugin that fails to load is told, also where nobody waits for it, and one whose config does not fit', async () => {
  await ctx.plugin(agentPlugin)
  await lost({ name: 'fails', apply: async () => { throw new Error('no dawn') } })
  await lost({ name: 'strict', Config: { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'no size' }] }) } }, apply: async () => undefined } as Plugin)
  expect(lines).toEqual(['headrace: error: fails: Error: no dawn\n', expect.stringMatching(/^headrace: error: strict: ValidationError: invalid config: .*no size.*\n$/)])
})

it('what is logged is one line, with nothing in it that drives a terminal', async () => {
  await ctx.plugin(agentPlugin)
  ctx.logger('a\x1b[2J').warn('%s', `b\x1b]0;owned\x07\u202ec\u200bd\rforged${'x'.repeat(10_000)}`)
  expect(lines.join('')).toMatch(/^headrace: warning: a\\x1b\[2J: b\\x1b\]0;owned\\x07\\u202ec\\u200bd\\x0dforgedx+…\n$/)
  expect(lines[0]!.length).toBeLessThan(2_100)
})

it('an exporter of the app\'s own takes over, and quiet takes all of it away', async () => {
  await ctx.plugin(agentPlugin)
  const own: unknown[] = []
  ctx.logger.exporter({ levels: { default: 1 }, export: ({ args }) => void own.push(args[0]) })
  ctx.logger.warn('theirs')
  expect([lines, own]).toEqual([[], ['theirs']])
  const quiet = new Context()
  quiet.logger.warn('before')
  await quiet.plugin(agentPlugin, { quiet: true })
  quiet.logger.warn('after')
  expect(lines).toEqual([])
  await quiet.fiber.dispose()
})

it('a service that never comes is told after a while, once, with what is near', async () => {
  vi.useFakeTimers()
  await ctx.plugin(agentPlugin)
  void load({ name: 'waiter', inject: ['agentss'], apply: async () => undefined })
  const late = load({ name: 'later', inject: ['thing'], apply: async () => undefined })
  await vi.advanceTimersByTimeAsync(3_000)
  expect(lines).toEqual([])
  void load({ name: 'provider', apply: async (inner: Context) => void inner.provide('thing', {}) })
  await late
  await vi.advanceTimersByTimeAsync(60_000)
  expect(lines).toEqual(['headrace: warning: plugin waiter waits for agentss, which nobody provides; did you mean "agents"?\n'])
})

it('a mistyped seam and a listener that throws are told at the first turn', async () => {
  await ctx.plugin(agentPlugin)
  ctx.sessions.store(new MemoryStore())
  ctx.llm.adapter('scripted', scriptedAdapter(['Hello.']))
  await load({ name: 'guard', apply: async (inner: Context) => void (inner.on as (name: string, listener: () => void) => void)('tools/pre-exec', () => undefined) })
  const agent = await ctx.agents.create({ model: 'scripted/model' })
  await agent.prompt('Hi').result
  expect(lines).toEqual(['headrace: warning: plugin guard in tools/pre-exec: there is no such event, so it is never called; did you mean "tools/pre-execute"?\n'])
})
