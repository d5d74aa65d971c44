import { type ItemChange, ShownItems, itemsOf, saidItems } from '@headrace/desk'
import { gate } from '@headrace/testing/gate'
import { describe, expect, it } from 'vitest'
import { type Message, Stream, app, isTurnEnd, toldEvents } from './kit.ts'

describe('a session', () => {
  it('is begun, prompted and followed: pieces between their dispatch and its end, an append each under its cursor', async () => {
    const { call, json, create, events } = await app({ script: [{ text: 'Hello there.', pieces: 3 }] })
    const id = await create()
    const stream = new Stream(await call('GET', `/sessions/${id}/events`))
    expect(await json('POST', `/sessions/${id}/prompt`, { prompt: 'Hi' })).toMatchObject({ status: 202, body: { letter: expect.any(String) as string } })
    await stream.until(isTurnEnd)
    const told = toldEvents(stream.messages)
    expect(told).toEqual((await events(id)).slice(0, told.length))
    expect(stream.messages.filter(({ event }) => event === 'append').every(({ id: cursor }) => /^\d+\.[0-9a-f]{8}$/.test(cursor!))).toBe(true)
    expect(stream.messages.flatMap(({ event, data }) => (event === 'piece' ? [(JSON.parse(data) as { text: string }).text] : [])).join('')).toBe('Hello there.')
    expect(stream.messages.filter(({ event }) => event === 'piece').every(({ id: cursor }) => cursor === undefined)).toBe(true)
    expect((await json('GET', `/sessions/${id}`)).body).toMatchObject({ id, prompt: 'Hi', turn: { number: 1, reason: 'done' }, questions: [] })
    expect((await json<{ sessions: { id: string }[] }>('GET', '/sessions')).body.sessions.map((card) => card.id)).toEqual([id])
  })

  it('goes on behind any cursor, by Last-Event-ID and by after; one that the log does not have begins with a reset', async () => {
    const { call, json, create, events } = await app()
    const id = await create()
    await json('POST', `/sessions/${id}/prompt`, { prompt: 'Hi' })
    const all = new Stream(await call('GET', `/sessions/${id}/events`))
    await all.until(isTurnEnd)
    const log = await events(id)
    for (const { id: cursor } of all.messages.filter((message) => message.event === 'append' && !isTurnEnd(message))) {
      const stream = new Stream(await call('GET', `/sessions/${id}/events`, undefined, { 'last-event-id': cursor! }))
      await stream.until(isTurnEnd)
      expect(toldEvents(stream.messages)).toEqual(log.slice(Number.parseInt(cursor!) + 1))
      const other = new Stream(await call('GET', `/sessions/${id}/events?after=${cursor!}`))
      await other.until(isTurnEnd)
      expect(toldEvents(other.messages)).toEqual(toldEvents(stream.messages))
    }
    const reset = new Stream(await call('GET', `/sessions/${id}/events?after=3.00000000`))
    await reset.until(isTurnEnd)
    expect(reset.messages[0]).toEqual({ id: '', event: 'reset', data: '{}' })
    expect(toldEvents(reset.messages)).toEqual(log)
    expect(await json('GET', `/sessions/${id}/events?after=12`)).toMatchObject({ status: 400, body: { error: { code: 'CURSOR_INVALID' } } })
  })

  it('takes a prompt once for a key, and refuses the key for other words', async () => {
    const { json, create, call, events, requests } = await app()
    const id = await create()
    const stream = new Stream(await call('GET', `/sessions/${id}/events`))
    const key = { 'idempotency-key': 'click-1' }
    expect((await json('POST', `/sessions/${id}/prompt`, { prompt: 'Hi' }, key)).body).not.toHaveProperty('repeated')
    expect((await json('POST', `/sessions/${id}/prompt`, { prompt: 'Hi' }, key)).body).toMatchObject({ repeated: true })
    await stream.until(isTurnEnd)
    expect((await json('POST', `/sessions/${id}/prompt`, { prompt: 'Hi' }, key)).body).toMatchObject({ repeated: true })
    expect(await json('POST', `/sessions/${id}/prompt`, { prompt: 'Ho' }, key)).toMatchObject({ status: 409, body: { error: { code: 'KEY_TAKEN' } } })
    expect((await events(id)).filter(({ type }) => type === 'prompt/queued')).toHaveLength(1)
    expect(requests).toHaveLength(1)
    const again = { 'idempotency-key': 'new-1' }
    expect((await json('POST', '/sessions', undefined, again)).body).toEqual((await json('POST', '/sessions', undefined, again)).body)
  })

  it('is steered, and stopped by whoever asks; a reader that goes away stops nothing', async () => {
    const { json, create, call, events } = await app({ script: [{ text: 'thinking', hang: true }, 'done'] })
    const id = await create()
    await json('POST', `/sessions/${id}/prompt`, { prompt: 'Go.' })
    const one = new Stream(await call('GET', `/sessions/${id}/events`))
    await one.until(({ event }) => event === 'piece')
    await one.leave()
    expect((await json('GET', `/sessions/${id}`)).body).toMatchObject({ state: 'running' })
    expect((await json('POST', `/sessions/${id}/steer`, { prompt: 'Left.' })).status).toBe(202)
    const two = new Stream(await call('GET', `/sessions/${id}/events`))
    await two.until((message) => toldEvents([message]).some(({ type, data }) => type === 'prompt/queued' && data.steer === true))
    expect((await json('POST', `/sessions/${id}/cancel`, { turn: 7 })).status).toBe(404)
    expect((await json('POST', `/sessions/${id}/cancel`, {})).status).toBe(204)
    await two.until(isTurnEnd)
    expect((await events(id)).findLast(({ type }) => type === 'turn/end')).toMatchObject({ data: { reason: 'cancelled' } })
    expect(await json('POST', `/sessions/${id}/cancel`, {})).toMatchObject({ status: 404, body: { error: { code: 'NO_TURN' } } })
  })

  it('says that it lives while it is silent', async () => {
    const hold = gate()
    const { json, create, call } = await app({ script: async () => { await hold.promise; return 'at last' } })
    const id = await create()
    await json('POST', `/sessions/${id}/prompt`, { prompt: 'Go.' })
    const response = await call('GET', `/sessions/${id}/events`)
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no', 'cache-control': 'no-store' })
    const stream = new Stream(response)
    while (!stream.text.includes(':\n\n:\n\n')) await stream.more()
    hold.open()
    await stream.until(isTurnEnd)
  })

  it('is removed, and gone then', async () => {
    const { json, create } = await app({ options: { sessionsPerUser: 1 } })
    const id = await create()
    expect(await json('POST', '/sessions')).toMatchObject({ status: 429, body: { error: { code: 'TOO_MANY_SESSIONS' } } })
    expect((await json('DELETE', `/sessions/${id}`)).status).toBe(204)
    expect((await json('GET', `/sessions/${id}`)).status).toBe(404)
    expect((await json('POST', '/sessions')).status).toBe(201)
  })
})

describe('items', () => {
  it('are the log\'s, live and from any cursor: changes that a page applies, and what only pieces said is forgotten at a reconnect', async () => {
    const calls = [{ name: 'go' }]
    const { call, json, create, events } = await app({
      script: [{ reasoning: 'Hm.', text: 'One moment.', calls, pieces: 3 }, { text: 'All done.', pieces: 3 }],
      setup: (ctx) => void ctx.tools.define({ name: 'go', description: 'goes', parameters: { type: 'object' }, execute: () => 'gone' }),
    })
    const id = await create()
    const live = new Stream(await call('GET', `/sessions/${id}/items`))
    await json('POST', `/sessions/${id}/prompt`, { prompt: 'Hi' })
    const log = new Stream(await call('GET', `/sessions/${id}/events`))
    await log.until(isTurnEnd)
    const items = itemsOf(await events(id))
    const last = log.messages.findLast(({ event }) => event === 'append')!.id
    await live.until(({ id: cursor }) => cursor === last)
    const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
    const apply = (list: ShownItems, message: Message): ShownItems => list.apply(changesOf(message))
    const changesOf = ({ data }: Message): readonly ItemChange[] => (JSON.parse(data) as { changes: ItemChange[] }).changes
    const told = live.messages.filter(({ event }) => event === 'items')
    expect(plain(told.reduce(apply, new ShownItems()).items)).toEqual(plain(items))
    const cursors = told.flatMap(({ id: cursor }, index) => (cursor !== undefined && cursor !== last ? [index] : []))
    for (const at of cursors) {
      const before = told.slice(0, at + 1).reduce(apply, new ShownItems())
      const again = new Stream(await call('GET', `/sessions/${id}/items`, undefined, { 'last-event-id': told[at]!.id! }))
      await again.until(({ id: cursor }) => cursor === last)
      const shown = again.messages.filter(({ event }) => event === 'items').reduce(apply, before)
      expect(plain(saidItems(shown.items))).toEqual(plain(items))
    }
  })
})
