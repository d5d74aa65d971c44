import { describe, expect, it } from 'vitest'
import { type Message, callsOf } from '@headrace/message'
import { MemoryStore, type SessionEvent, Batch, unpaired } from '@headrace/session'
import { harness } from '@headrace/testing'
import { gate } from '@headrace/testing/gate'
import { app, calls, eventsOf, expectRebuilds, plugin, textsOf, thrownBy, tool } from './help.ts'

/** Every call has one result, in call order, nothing between. Written for itself, not with the source's own check. */
function expectPaired(messages: readonly Message[]): void {
  for (let index = 0; index < messages.length; index++) {
    const waiting = callsOf(messages[index]!)
    const results = messages.slice(index + 1, index + 1 + waiting.length)
    expect(results.map((message) => (message.role === 'tool' ? message.content[0].id : message.role))).toEqual(waiting.map(({ id }) => id))
    if (messages[index]!.role === 'tool') expect(['tool', 'assistant']).toContain(messages[index - 1]!.role)
  }
  const count = messages.flatMap((message) => callsOf(message)).length
  expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(count)
}

/** A store with the first events of a log, as a crash would have left it. */
async function cutOff(events: readonly SessionEvent[]): Promise<MemoryStore> {
  const store = new MemoryStore()
  const lease = await store.create('test')
  lease.append(new Batch(events))
  await lease.release()
  return store
}

describe('L16 Tool pairs are adjacent', () => {
  it('every call gets exactly one result, in call order, whichever finishes first', async () => {
    // Each goes on when the result of the one before is in the log.
    const after = { slow: gate(), middle: gate() }
    const made = await app({
      script: [calls('slow', 'quick', 'middle'), 'Done.'],
      plugins: [plugin('tools', (ctx) => {
        tool(ctx, 'slow', () => after.slow.promise.then(() => 'slow'))
        tool(ctx, 'quick', () => 'quick')
        tool(ctx, 'middle', () => after.middle.promise.then(() => 'middle'))
      })],
    })
    made.agent.session.on('event', (event) => {
      if (event.type === 'tool/result') [undefined, after.middle, after.slow][event.data.index]?.open()
    })
    await made.run('Hi.')
    expect(eventsOf(await made.events(), 'tool/result').map(({ data }) => data.index)).toEqual([1, 2, 0])
    expect(textsOf(made.requests[1]!)).toEqual(['Hi.', '', 'slow: slow', 'quick: quick', 'middle: middle'])
    await expectRebuilds(made)
  })

  it('nothing between: injects, steers and contexts stand behind the batch', async () => {
    const made = await app({
      script: [calls('one', 'two'), 'Done.'],
      plugins: [plugin('noisy', (ctx) => {
        for (const name of ['one', 'two']) tool(ctx, name, () => {
          ctx.agents.get('test')!.inject(`injected by ${name}`)
          made.agent.steer(`steered by ${name}`)
          return name
        })
        ctx.on('tools/post-execute', async (_agent, _turn, call, _outcome, next) => ({ ...await next(), additionalContext: [`context of ${call.name}`] }))
        ctx.on('session/event', (agent, { type }) => {
          if (type === 'tool/result') agent.inject('at a result')
        })
      })],
    })
    await made.run('Hi.')
    expect(textsOf(made.requests[1]!)).toEqual([
      'Hi.', '', 'one: one', 'two: two', 'context of one', 'context of two', 'injected by one', 'injected by two', 'at a result', 'at a result', 'steered by one', 'steered by two',
    ])
    expectPaired(made.requests[1]!.messages)
    await expectRebuilds(made)
  })

  it('ids that the model uses again are told apart by place', async () => {
    const ran: string[] = []
    const made = await app({
      script: (_request, index) => (index < 2 ? { calls: [{ name: 'look', id: 'same', arguments: { n: index } }, { name: 'look', id: 'same', arguments: { n: index + 10 } }] } : 'Done.'),
      plugins: [plugin('tools', (ctx) => ctx.tools.define({ name: 'look', description: '', parameters: { type: 'object' }, execute: (input: never) => {
        ran.push(JSON.stringify(input))
        return JSON.stringify(input)
      } }))],
    })
    await made.run('Hi.')
    expect(ran.toSorted()).toEqual(['{"n":0}', '{"n":10}', '{"n":11}', '{"n":1}'])
    expect(textsOf(made.requests[2]!).slice(1)).toEqual(['', 'look: {"n":0}', 'look: {"n":10}', '', 'look: {"n":1}', 'look: {"n":11}'])
    expectPaired(made.requests[2]!.messages)
    await expectRebuilds(made)
  })

  it('a call to no tool, with arguments that do not fit, or denied, has a result too', async () => {
    const made = await app({
      script: [{ calls: [{ name: 'nothing' }, { name: 'strict', arguments: '{"n":' }, { name: 'strict', arguments: { n: 'x' } }, { name: 'denied' }, { name: 'throws' }] }, 'Done.'],
      plugins: [plugin('tools', (ctx) => {
        ctx.tools.define({ name: 'strict', description: '', parameters: { type: 'object', properties: { n: { type: 'number' } } }, execute: () => 'never' })
        tool(ctx, 'denied')
        tool(ctx, 'throws', () => { throw new Error('broken') })
        ctx.on('tools/pre-execute', async (_agent, _turn, call, next) => (call.name === 'denied' ? { deny: 'Not here.' } : next()))
      })],
    })
    await made.run('Hi.')
    const results = eventsOf(await made.events(), 'tool/result').toSorted((a, b) => a.data.index - b.data.index)
    expect(results.map(({ data }) => data.outcome)).toEqual(['error', 'error', 'error', 'denied', 'error'])
    expect(results.every(({ data }) => data.message.content[0].error)).toBe(true)
    expectPaired(made.requests[1]!.messages)
  })

  it('a cancel closes what has no result: unknown where it was started, not started where it was not', async () => {
    const started = gate()
    const made = await app({
      script: [calls('hangs', 'alone'), 'Done.'],
      settings: { grace: 5 },
      plugins: [plugin('tools', (ctx) => {
        tool(ctx, 'hangs', () => {
          started.open()
          return new Promise(() => undefined)
        })
        ctx.tools.define({ name: 'alone', description: '', parameters: { type: 'object' }, sequential: true, execute: () => 'never' })
      })],
    })
    const handle = made.agent.prompt('Hi.')
    await started.promise
    handle.cancel()
    expect(await handle.result).toMatchObject({ reason: 'cancelled' })
    expect(eventsOf(await made.events(), 'tool/result').map(({ data }) => data.outcome)).toEqual(['unknown', 'not-started'])
    await made.run('Again.')
    expectPaired(made.requests[1]!.messages)
    expect(textsOf(made.requests[1]!).slice(2, 4)).toEqual([expect.stringMatching(/^hangs: .*outcome is unknown/), expect.stringMatching(/^alone: .*not started/)])
    await expectRebuilds(made)
  })

  it('a cancel while the model streams keeps its calls, closed as not started', async () => {
    let ran = 0
    const made = await app({
      script: [{ text: 'Let me', calls: [{ name: 'look' }, { name: 'look' }], hang: true }, 'Done.'],
      plugins: [plugin('tools', (ctx) => tool(ctx, 'look', () => `${++ran}`))],
    })
    const handle = made.agent.prompt('Hi.')
    for await (const event of handle) if (event.type === 'tool-call' && event.index === 1) handle.cancel()
    expect(eventsOf(await made.events(), 'tool/result').map(({ data }) => data.outcome)).toEqual(['not-started', 'not-started'])
    await made.run('Again.')
    expect(textsOf(made.requests[1]!)).toEqual(['Hi.', 'Let me', expect.stringMatching(/^look: .*not started/), expect.stringMatching(/^look: .*not started/), 'Again.'])
    expect(ran).toBe(0)
    await expectRebuilds(made)
  })

  it('after a crash at any event: an honest outcome, never deleted, never run again', async () => {
    const ran: string[] = []
    const tools = plugin('tools', (ctx) => {
      for (const name of ['one', 'two']) tool(ctx, name, () => (ran.push(name), name))
    })
    const script = (request: { readonly messages: readonly Message[] }): ReturnType<typeof calls> => (request.messages.some(({ role }) => role === 'tool') ? 'Done.' : calls('one', 'two'))
    const original = await app({ script, plugins: [tools] })
    await original.run('Hi.')
    const log = await original.events()
    const answer = eventsOf(log, 'assistant/message')[0]!.seq
    const started = eventsOf(log, 'tool/start')[0]!.seq
    const outcomes = new Set<string>()
    for (let length = 2; length <= log.length; length++) {
      const store = await cutOff(log.slice(0, length))
      ran.length = 0
      const made = await harness({ script, plugins: [tools], store, agent: { id: 'other' } })
      const agent = await made.ctx.agents.resume('test')
      agent.wake()
      await agent.idle()
      const events: SessionEvent[] = []
      for await (const batch of store.load('test')) events.push(...batch)
      expect(events.slice(0, length)).toEqual(log.slice(0, length))
      expectPaired(agent.session.deriveMessages())
      for (const { data } of eventsOf(events, 'tool/result').filter(({ seq }) => seq >= length)) outcomes.add(data.outcome)
      if (length > answer) expect(ran).toEqual([])
      const closed = eventsOf(events, 'tool/result').filter(({ seq }) => seq >= length).map(({ data }) => data.outcome)
      if (length === answer + 1) expect(closed).toEqual(['not-started', 'not-started'])
      if (length === started + 2) expect(closed).toEqual(['unknown', 'unknown'])
      expect(agent.session.owed).toBe(false)
      await made.dispose()
    }
    expect([...outcomes].toSorted()).toEqual(['done', 'not-started', 'unknown'])
  })

  it('a replacement that would part a pair is refused', async () => {
    const made = await app({ script: [calls('look'), 'Done.'], plugins: [plugin('tools', (ctx) => tool(ctx, 'look'))] })
    await made.run('Hi.')
    const ids = made.agent.session.entries().map(({ id }) => id)
    expect(thrownBy(() => made.agent.replace(ids[0]!, ids[1]!, ['x'], { reason: 'r' }))).toMatchObject({ code: 'LOG_INVALID', message: expect.stringContaining('L16') as unknown })
    expect(thrownBy(() => made.agent.replace(ids[2]!, ids[3]!, ['x'], { reason: 'r' }))).toMatchObject({ message: expect.stringContaining('L16') as unknown })
    made.agent.replace(ids[1]!, ids[2]!, ['x'], { reason: 'r' })
    expect(unpaired(made.agent.session.deriveMessages())).toBeUndefined()
  })
})
