import * as agentPlugin from '@headrace/agent'
import { gate, settles, until } from '@headrace/testing/gate'
import { type Script, scriptedAdapter } from '@headrace/testing'
import { MemoryStore, type SessionEvent, type SessionStore, verify } from '@headrace/session'
import { Context } from 'cordis'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as desk from '../src/index.ts'
import type { Seat, SeatChange } from '../src/index.ts'

interface App {
  readonly ctx: Context
  readonly store: SessionStore
  readonly requests: ReturnType<typeof scriptedAdapter>['requests']
}

async function app(script: Script = ['ok'], store: SessionStore = new MemoryStore()): Promise<App> {
  const ctx = new Context()
  onTestFinished(() => ctx.fiber.dispose())
  await ctx.plugin(agentPlugin, { strict: true, quiet: true })
  ctx.sessions.store(store)
  const model = scriptedAdapter(script)
  ctx.llm.adapter('scripted', model)
  await ctx.plugin(desk, {})
  return { ctx, store, requests: model.requests }
}

async function events(store: SessionStore, id: string): Promise<readonly SessionEvent[]> {
  const list: SessionEvent[] = []
  for await (const batch of store.load(id)) list.push(...batch)
  return list
}

describe('a seat', () => {
  it('sends, and tells what became of it', async () => {
    const { ctx, store } = await app(['Hello.'])
    const seat = await ctx.desk.open({ model: 'scripted/model' })
    const sent = await seat.send('Hi', { key: 'one' })
    expect(sent.letter).toEqual(expect.any(String))
    const seq = await settles(sent.logged)
    expect(await settles(sent.result)).toEqual({ turn: 1, reason: 'done', finish: 'stop', text: 'Hello.', steps: 1, usage: expect.anything() })
    const log = await events(store, seat.id)
    expect(log[seq]).toMatchObject({ type: 'prompt/queued', data: { owner: 'user', letter: sent.letter, key: 'one' } })
    expect(await store.letters(seat.id)).toEqual([])
    expect(verify(log).difference).toBeUndefined()
  })

  it('tells the log as it becomes durable, and what is said live between its dispatch and its end; who joins gets what was said so far', async () => {
    const [half, whole] = [gate(), gate()]
    const { ctx, store } = await app()
    ctx.llm.adapter('slow', { async *stream() {
      yield { type: 'text', text: 'One ' }
      yield { type: 'text', text: 'two ' }
      half.open()
      await whole.promise
      yield { type: 'text', text: 'three.' }
      yield { type: 'usage', usage: { input: 0, cached: 0, written: 0, output: 0 } }
      yield { type: 'finish', reason: 'stop' }
    } })
    const seat = await ctx.desk.open({ model: 'slow/model' })
    const first = new Reader(seat)
    const sent = await seat.send('Hi')
    await half.promise
    await first.until((said) => said.includes('One two '))
    const second = new Reader(seat)
    await second.until((said) => said.includes('One two '))
    whole.open()
    await settles(sent.result)
    const log = await events(store, seat.id)
    for (const reader of [first, second]) {
      await until(() => reader.events.length === log.length)
      expect(reader.events).toEqual(log)
      const dispatch = reader.told.findIndex((change) => change.type === 'append' && change.events.some(({ type }) => type === 'request/dispatch'))
      const end = reader.told.findIndex((change) => change.type === 'append' && change.events.some(({ type }) => type === 'request/end'))
      for (const [index, change] of reader.told.entries()) if (change.type === 'piece') expect(index > dispatch && index < end).toBe(true)
    }
    const { cursor } = first.told.find((change) => change.type === 'append')!
    const behind = new Reader(seat, { from: cursor })
    await until(() => behind.events.at(-1)?.seq === log.at(-1)!.seq)
    expect(behind.events[0]!.seq).toBe(Number(cursor.split('.')[0]) + 1)
  })
})

/** Follows a seat until the test ends. */
class Reader {
  readonly told: SeatChange[] = []

  constructor(seat: Seat, options: Parameters<Seat['follow']>[0] = {}) {
    const end = new AbortController()
    onTestFinished(() => end.abort())
    void (async () => {
      for await (const change of seat.follow({ ...options, signal: end.signal })) this.told.push(change)
    })()
  }

  get events(): readonly SessionEvent[] {
    return this.told.flatMap((change) => (change.type === 'append' ? change.events : []))
  }

  /** The text of its pieces, put together at their offsets. */
  get said(): string {
    let text = ''
    for (const change of this.told) if (change.type === 'piece') text = text.slice(0, change.piece.at) + change.piece.text
    return text
  }

  async until(is: (said: string) => boolean): Promise<void> {
    await until(() => is(this.said))
  }
}
