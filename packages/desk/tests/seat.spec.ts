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
})
