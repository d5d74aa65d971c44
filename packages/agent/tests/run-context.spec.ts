import { textOf } from '@headrace/message'
import { RunContext, contextLogOf } from '@headrace/run-context'
import type { SessionEvent } from '@headrace/session'
import { expectAppendOnly, harness } from '@headrace/testing'
import { RequestBudget, heuristicCounter } from '@headrace/tokens'
import { describe, expect, it } from 'vitest'

const context = (date: string): RunContext => new RunContext({ facts: [['date', date]], headSections: [['guide', 'Be brief.']], tailSections: [['branch', 'On main.']] })
const of = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T): SessionEvent<T>[] => events.filter((event) => event.type === type) as SessionEvent<T>[]

describe('a RunContext in a run', () => {
  it('opens before and closes after, in every request of the turn, and never enters history', async () => {
    const plugin = { name: 'framer', inject: ['agents', 'tools'], apply: async (ctx: import('cordis').Context) => {
      ctx.agents.before({ key: 'b', content: () => 'before' })
      ctx.agents.after({ key: 'a', content: () => 'after' })
      ctx.tools.define({ name: 'now', description: '', parameters: { type: 'object' }, execute: () => 'noon' })
    } }
    const h = await harness({ plugins: [plugin], script: [{ calls: [{ name: 'now' }] }, 'ok'] })
    const monday = context('Monday')
    const result = await h.agent.prompt('Go', { context: monday }).result
    await h.run('Again')
    for (const request of h.requests.slice(0, 2)) {
      const { messages, segments, owners } = request
      expect(segments).toMatchObject({ before: 2, after: 2 })
      expect(messages[0]).toEqual(monday.headMessage)
      expect(messages.at(-1)).toEqual(monday.tailMessage)
      expect([owners[0], owners.at(-1)]).toEqual(['app', 'app'])
    }
    expect(h.requests[2]!.segments).toMatchObject({ before: 1, after: 1 })
    const said = JSON.stringify([h.agent.session.deriveMessages(), result.messages])
    expect(said).not.toContain('Monday')
    expect(said).not.toContain('Be brief.')
    expectAppendOnly(h.requests)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('the provider is asked once at every turn/start, whatever woke it; a prompt\'s own wins', async () => {
    const asked: number[] = []
    const h = await harness({ agent: { context: (turn) => { asked.push(turn.number); return context(`turn ${turn.number}`) } } })
    await h.run('one')
    await h.agent.prompt('two', { context: context('own') }).result
    h.agent.steer('three')
    await h.agent.idle()
    expect(asked).toEqual([1, 3])
    const facts = of(await h.events(), 'run/context').map(({ data }) => [data.turn, data.facts[0]![1]])
    expect(facts).toEqual([[1, 'turn 1'], [2, 'own'], [3, 'turn 3']])
    await h.dispose()
  })

  it('is written once a turn, in the append of the first dispatch and in front of it; a body stands once in the log', async () => {
    const h = await harness({ agent: { context: (turn) => context(`day ${turn.number}`) } })
    await h.run('one')
    await h.run('two')
    await h.resume({ context: (turn) => context(`day ${turn.number}`) })
    await h.run('three')
    const events = await h.events()
    const contexts = of(events, 'run/context')
    expect(contexts.map(({ data }) => data.turn)).toEqual([1, 2, 3])
    for (const { seq, time } of contexts) {
      const dispatch = events.slice(seq).find((event) => event.type === 'request/dispatch')!
      expect(events.slice(seq + 1, dispatch.seq).every((event) => event.type.startsWith('request/header'))).toBe(true)
      expect(dispatch.time).toBe(time)
    }
    expect(contexts[0]!.data.sections.every((section) => 'rendered' in section)).toBe(true)
    for (const later of contexts.slice(1)) expect(later.data.sections.map((section) => 'in' in section && section.in)).toEqual([contexts[0]!.seq, contexts[0]!.seq])
    const log = contextLogOf(events)
    expect(log.decode(log.last!.data).tailMessage).toEqual(context('day 3').tailMessage)
    expect(log.body('0'.repeat(64))).toBeUndefined()
    await h.dispose()
  })

  it('is recorded also where no header event is owed, and when it is empty; omitted is recorded not at all', async () => {
    const h = await harness({})
    const fixed = new RunContext({ tailSections: [['r', 'R']] })
    await h.agent.prompt('one', { context: fixed }).result
    await h.agent.prompt('two', { context: fixed }).result
    await h.agent.prompt('three', { context: new RunContext() }).result
    await h.run('four')
    const events = await h.events()
    expect(of(events, 'run/context').map(({ data }) => [data.turn, data.sections.length])).toEqual([[1, 1], [2, 1], [3, 0]])
    const second = of(events, 'run/context')[1]!
    expect(events[second.seq + 1]!.type).toBe('request/dispatch')
    expect(h.requests[2]!.segments.after).toBe(0)
    await h.dispose()
  })

  it('given with a prompt survives a crash before its turn, with its bodies once', async () => {
    const h = await harness({ script: [{ hang: true }, 'ok'] })
    h.agent.prompt('runs')
    await expect.poll(() => h.requests.length).toBe(1)
    const queued = h.agent.prompt('waits', { context: context('then') })
    await queued.accepted
    await h.resume()
    h.agent.wake()
    await h.agent.idle()
    const last = h.requests.at(-1)!
    expect(textOf(last.messages.at(-1)!)).toContain('- date: then')
    const [recorded] = of(await h.events(), 'run/context')
    expect(recorded!.data.sections.every((section) => 'in' in section && section.in === queued.prompt)).toBe(true)
    await h.dispose()
  })

  it('a provider that gives something else, or throws, ends the turn and says so', async () => {
    const h = await harness({ agent: { context: () => ({ date: 'today' }) as never } })
    expect(await h.run('Go')).toMatchObject({ reason: 'error', error: { code: 'CONTEXT_INVALID' } })
    expect(h.requests).toHaveLength(0)
    await h.dispose()
  })
})

describe('a seed', () => {
  const call = { role: 'assistant', content: [{ type: 'tool-call', id: 'c1', name: 'now', arguments: '{}' }] } as const
  const result = { role: 'tool', content: [{ type: 'tool-result', id: 'c1', name: 'now', content: [{ type: 'text', text: 'noon' }] }] } as const
  const seed = [{ role: 'user', content: 'Hi' }, call, result, { role: 'assistant', content: 'Noon.' }] as const

  it('on create is the history so far, in the log and in the requests', async () => {
    const h = await harness({ agent: { seed } })
    await h.run('Go')
    expect(h.requests[0]!.owners).toEqual(['user', 'model', 'tool', 'model', 'user'])
    const [open] = of(await h.events(), 'session/open')
    expect(open!.data.seed).toHaveLength(4)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('with an incomplete tool pair is refused', async () => {
    await expect(harness({ agent: { seed: [seed[0], call] } })).rejects.toThrow(/seed has a tool call without its result/)
  })

  it.each([
    ['shorter', seed.slice(0, 3), /index 3 it ends there, the log has a assistant message/],
    ['longer', [...seed, { role: 'user', content: 'More' }], /index 4 it has a user message, the log ends there/],
    ['of another role', [{ role: 'system', content: 'Hi' }, ...seed.slice(1)], /index 0 it has a system message, the log has a user message/],
    ['with another call id', [seed[0], { ...call, content: [{ ...call.content[0], id: 'c2' }] }, ...seed.slice(2)], /index 1 it has a assistant message, the log has a different assistant message/],
  ] as const)('on resume, %s than the log\'s history, is refused before anything is written', async (_what, other, message) => {
    const h = await harness({ agent: { seed } })
    const before = (await h.events()).length
    await h.agent.dispose()
    await expect(h.ctx.agents.resume('test', { seed: other as never })).rejects.toThrow(message)
    expect((await h.events()).length).toBe(before)
    await h.ctx.agents.resume('test', { seed })
    await h.ctx.fiber.dispose()
  })
})

describe('the budget', () => {
  const budget = (window: number): RequestBudget => new RequestBudget({ counter: heuristicCounter(), profiles: { 'scripted/model': { window, completionReserve: 10, safetyMargin: 0 }, 'scripted/large': { window: 1e6, completionReserve: 10, safetyMargin: 0 } } })

  it('a request that cannot fit is not sent; each term stands in the error and in step/end', async () => {
    const h = await harness({ agent: { budget: budget(60) } })
    const result = await h.agent.prompt('word '.repeat(200), { context: context('Monday') }).result
    expect(result).toMatchObject({ reason: 'error', error: { failure: { kind: 'overflow' } } })
    expect(result.error!.message).toMatch(/history \d+.*context \d+.*window of 60/)
    expect(h.requests).toHaveLength(0)
    const events = await h.events()
    expect(of(events, 'request/dispatch')).toHaveLength(0)
    const { budget: terms } = of(events, 'step/end')[0]!.data
    expect(terms).toMatchObject({ window: 60, reserve: 10 })
    expect(terms!.context).toBeGreaterThan(20)
    expect(terms!.free).toBeLessThan(0)
    await h.dispose()
  })

  it('a substitute is tried by its own window, and what was not sent is not on record', async () => {
    const h = await harness({ agent: { budget: budget(60) } })
    h.ctx.on('agent/request-error', async (_agent, _turn, _step, failure, next) => (failure.kind === 'overflow' ? { retry: { config: { model: 'large' } } } : next()))
    expect(await h.run('word '.repeat(200))).toMatchObject({ reason: 'done' })
    expect(h.requests.map(({ config }) => config.model)).toEqual(['scripted/large'])
    const events = await h.events()
    expect(of(events, 'request/header').map(({ data }) => data.header.config.model)).toEqual(['scripted/model'])
    expect(of(events, 'request/header-delta').map(({ data }) => [data.delta.config!.model, data.substitute])).toEqual([['scripted/large', true]])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })
})
