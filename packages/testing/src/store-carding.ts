import type { EventDraft, SessionStore } from '@headrace/session'
import { expect, it } from 'vitest'
import { until } from './gate.ts'
import { append, list, opening, prompt, ticked, write } from './store-logs.ts'


function at(id: string, more: object): EventDraft<'session/open'> {
  return { type: 'session/open', data: { ...opening(id).data, ...more } }
}

function turn(number: number, more: object = {}): EventDraft {
  return { type: 'turn/start', data: { turn: number, woke: 'prompt', ...more } }
}

function end(number: number, settled: number): EventDraft {
  return { type: 'turn/end', data: { turn: number, reason: 'done', settled } }
}

export function carding(store: () => SessionStore, again: () => Promise<SessionStore>): void {
  it('shows each session at a glance: title, first prompt, turn, what waits', async () => {
    await write(store(), 'a', [
      [at('a', { cwd: '/srv/x', title: 'first', kind: 'chat' })],
      [{ type: 'prompt/queued', data: { ...prompt('Fix it').data } }],
      [{ type: 'prompt/queued', data: { ...prompt('Then that').data } }],
      [turn(1, { prompt: 1 }), { type: 'user/message', data: { message: prompt('Fix it').data.input, owner: 'user', prompt: 1 } }],
      [{ type: 'session/title', data: { title: 'Fixing', owner: 'titles/title' } }],
      [end(1, 4)],
    ])
    for (const at of [store(), await again()]) {
      const card = await at.card('a')
      expect(card).toMatchObject({ id: 'a', state: 'idle', title: 'Fixing', prompt: 'Fix it', turn: { number: 1, reason: 'done' }, asks: [], queued: 1, open: { cwd: '/srv/x', kind: 'chat' } })
      expect(card.at).toMatch(/^6\.[0-9a-f]{8}$/)
      expect(card).not.toHaveProperty('holder')
      expect(await list(at)).toEqual([card])
    }
    await expect(store().card('none')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('says that one runs or asks only while somebody holds it', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a'), turn(1)])
    await lease.flush()
    const other = await again()
    const state = async (at: SessionStore): Promise<unknown> => (await at.card('a')).state
    await until(async () => await state(store()) === 'running' && await state(other) === 'running')
    expect((await other.card('a')).holder).toContain(`${process.pid}`)
    append(lease, 2, [{ type: 'question/asked', data: { assistant: 1, index: 0, kind: 'permission', question: 'rm?' } }])
    await lease.flush()
    await until(async () => await state(store()) === 'asks' && await state(other) === 'asks')
    expect((await other.card('a')).asks).toEqual([{ question: 2, assistant: 1, index: 0 }])
    await lease.release()
    expect(await other.card('a')).toMatchObject({ state: 'parked', turn: { number: 1 } })
    const next = await other.lease('a')
    append(next, 3, [{ type: 'question/answered', data: { question: 2, answer: 'allow', by: 'user' } }, { type: 'turn/end', data: { turn: 1, reason: 'cancelled', settled: 0 } }])
    await next.release()
    expect(await store().card('a')).toMatchObject({ state: 'idle', asks: [], turn: { number: 1, reason: 'cancelled' } })
  })

  filtering(store, again)
}

function filtering(store: () => SessionStore, again: () => Promise<SessionStore>): void {
  it('lists those of a folder, and those under a session, newest change first', async () => {
    const under = (session: string): object => ({ under: { session, call: { assistant: 4, index: 0 } } })
    await write(store(), 'a', [[at('a', { cwd: '/x' })]])
    await ticked()
    await write(store(), 'b', [[at('b', { cwd: '/y' })]])
    await ticked()
    await write(store(), 'c', [[at('c', { cwd: '/x', ...under('a') })]])
    await ticked()
    await write(store(), 'd', [[at('d', under('a'))]])
    await ticked()
    const lease = await store().lease('a')
    append(lease, 1, [prompt('newest')])
    await lease.release()
    for (const at of [store(), await again()]) {
      const ids = async (filter: object): Promise<readonly string[]> => (await list(at, filter)).map(({ id }) => id)
      expect(await ids({ cwd: '/x' })).toEqual(['a', 'c'])
      expect(await ids({ cwd: '/none' })).toEqual([])
      expect(await ids({ under: 'a' })).toEqual(['d', 'c'])
      expect(await ids({ cwd: '/x', under: 'a' })).toEqual(['c'])
      expect(await ids({})).toEqual(['a', 'd', 'c', 'b'])
    }
    await store().remove('c')
    expect(await list(store(), { under: 'a' })).toMatchObject([{ id: 'd' }])
    expect(await list(store(), { cwd: '/x' })).toMatchObject([{ id: 'a' }])
  })

  it('shows what a session is that has the id of one which was removed', async () => {
    await write(store(), 'a', [[at('a', { cwd: '/x', title: 'old' })], [prompt('old')]])
    await store().remove('a')
    await write(store(), 'a', [[at('a', { cwd: '/y' })], [prompt('new')]])
    expect(await list(store(), { cwd: '/x' })).toEqual([])
    expect(await list(store(), { cwd: '/y' })).toMatchObject([{ id: 'a', prompt: 'new' }])
    expect(await (await again()).card('a')).not.toHaveProperty('title')
  })
}
