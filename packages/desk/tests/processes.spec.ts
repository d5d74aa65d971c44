import { join } from 'node:path'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import { type SessionEvent, type SessionStore, verify } from '@headrace/session'
import { testFolder } from '@headrace/testing/folder'
import { settles, until } from '@headrace/testing/gate'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Reader, app, eventsOf, untilLogged } from './app.ts'
import { holder } from './holder.ts'

const LONG = 120_000

const STORES: Readonly<Record<string, (path: string) => SessionStore>> = {
  jsonl: (directory) => new JsonlStore({ directory, fsync: 'barrier' }),
  sqlite: (file) => {
    const store = new SqliteStore({ file, fsync: 'barrier' })
    onTestFinished(() => store.close())
    return store
  },
}

const prompts = (log: readonly SessionEvent[]): readonly SessionEvent[] => log.filter(({ type }) => type === 'prompt/queued')

describe.each(Object.entries(STORES))('two processes over store-%s', (kind, open) => {
  const place = (): string => join(testFolder(), 'logs')

  it('a steer from the other arrives in the turn that runs, once, and its answer is seen there; a cancel of the turn that ended does nothing', async () => {
    const path = place()
    const first = holder(kind, path, 'slow')
    await first.said('asked')
    const made = await app({ store: open(path) })
    const seat = await made.ctx.desk.open('s')
    expect(seat.state).toBe('elsewhere')
    const reader = new Reader(seat)
    const keys = await Promise.all([seat.send('Left.', { steer: true, key: 'k' }), seat.send('Left.', { steer: true, key: 'k' })])
    await settles(keys[0].logged)
    first.go()
    for (const { result } of keys) expect(await settles(result)).toMatchObject({ turn: 1, reason: 'done', steps: 2, text: 'holder 1' })
    await seat.cancel(1)
    await untilLogged(made.store, 's', 'letter/refused')
    const log = await eventsOf(made.store, 's')
    await until(() => reader.events.length === log.length)
    expect(reader.events).toEqual(log)
    expect(prompts(log)).toHaveLength(2)
    expect(verify(log)).not.toHaveProperty('difference')
    expect(made.model.requests).toHaveLength(0)
    expect(await first.end('SIGTERM')).toBe(0)
    await seat.drive()
    expect(seat.state).toBe('here')
  }, LONG)

  it('a letter whose holder is killed before it takes it is taken by the next, once', async () => {
    const path = place()
    const first = holder(kind, path, 'deaf')
    await first.said('ready')
    const made = await app({ store: open(path), script: ['mine'] })
    const seat = await made.ctx.desk.open('s')
    const sent = await seat.send('Hi', { key: 'k' })
    const { result } = sent
    await first.said('letter')
    await first.end('SIGKILL')
    expect(await settles(result)).toMatchObject({ turn: 1, reason: 'done', text: 'mine' })
    expect((await seat.send('Hi', { key: 'k' })).repeated).toBe(true)
    expect(prompts(await eventsOf(made.store, 's'))).toHaveLength(1)
    expect(await made.store.letters('s')).toEqual([])
  }, LONG)

  it('a turn whose holder is killed goes on where somebody waits for it', async () => {
    const path = place()
    const first = holder(kind, path, 'slow')
    await first.said('asked')
    const made = await app({ store: open(path), script: ['mine'] })
    const seat = await made.ctx.desk.open('s')
    const { result } = await seat.send('And then?')
    await first.end('SIGKILL')
    expect(await settles(result)).toMatchObject({ turn: 2, reason: 'done', text: 'mine' })
    const log = await eventsOf(made.store, 's')
    expect(log.flatMap((event) => (event.type === 'turn/end' ? [event.data.reason] : []))).toEqual(['done', 'done'])
    expect(verify(log)).not.toHaveProperty('difference')
  }, LONG)

  it('a question is answered from the other, and once', async () => {
    const path = place()
    const first = holder(kind, path, 'asks')
    await first.said('ready')
    const made = await app({ store: open(path) })
    const seat = await made.ctx.desk.open('s')
    const [asked] = await untilLogged(made.store, 's', 'question/asked')
    const answers = await settles(Promise.allSettled([seat.answer(asked!.seq, 'allow'), seat.answer(asked!.seq, 'deny')]))
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(answers.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'QUESTION_CLOSED' } })
    await untilLogged(made.store, 's', 'turn/end')
    expect((await eventsOf(made.store, 's')).filter(({ type }) => type === 'question/answered')).toMatchObject([{ data: { by: 'user' } }])
  }, LONG)
})
