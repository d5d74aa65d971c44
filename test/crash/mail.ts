import { Batch, type EventDraft, FORMAT, type Lease, type Letter, type LetterDraft, type SessionEvent, type SessionStore } from '@headrace/session'
import { textOf } from '@headrace/message'
import { expect } from 'vitest'
import { logOf } from './expect.ts'

export const ID = 'mail'

/** What the senders and the holder were promised. */
export interface Promised {
  /** Ids of letters, by their text. */
  readonly posted: Map<string, string>
  /** So many events are durable. */
  durable: number
}

function letter(text: string, key?: string): LetterDraft {
  return { kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text }] }, ...(key !== undefined && { key }) }
}

/** The texts that are sent, in their order; those with `key` by two senders at once. */
const TEXTS = ['key one', 'two', 'key three', 'four', 'as the holder leaves'] as const

/** Posts a text, as one sender, or as two with one key. */
async function post(store: SessionStore, text: string, { posted }: Promised): Promise<void> {
  const key = text.startsWith('key') ? text : undefined
  const send = async (): ReturnType<SessionStore['post']> => store.post(ID, letter(text, key))
  const all = await Promise.allSettled(key === undefined ? [send()] : [send(), send()])
  for (const one of all) {
    if (one.status === 'rejected') throw one.reason
    const { letter: id } = one.value
    expect(posted.get(text) ?? id, `two senders of ${text}`).toBe(id)
    posted.set(text, id!)
  }
}

/** The event that takes a letter. No turn is open here, so that a cancel names one that has ended. */
function taking({ id, time: _, ...letter }: Letter): EventDraft {
  if (letter.kind !== 'prompt') return { type: 'letter/refused', data: { letter: id, reason: `turn ${letter.kind === 'cancel' ? letter.turn : 0} has ended` } }
  const { kind: __, ...data } = letter
  return { type: 'prompt/queued', data: { ...data, owner: 'user', letter: id } }
}

function append(lease: Lease, seq: number, draft: EventDraft): void {
  lease.append(new Batch([{ seq, time: seq, ...draft } as SessionEvent]))
}

/** Takes what waits, each letter by an append of its own. Returns the seq that comes next. */
async function takeAll(lease: Lease, seq: number, promised: Promised): Promise<number> {
  let next = seq
  for (const letter of await lease.letters()) append(lease, next++, taking(letter))
  await lease.flush()
  promised.durable = Math.max(promised.durable, next)
  return next
}

/** A holder takes letters that senders post, until it leaves as one comes. */
export async function exchange(store: SessionStore, promised: Promised): Promise<void> {
  const lease = await store.create(ID)
  append(lease, 0, { type: 'session/open', data: { ...FORMAT, id: ID } })
  await lease.flush()
  promised.durable = 1
  await post(store, TEXTS[0], promised)
  await post(store, TEXTS[1], promised)
  let next = await takeAll(lease, 1, promised)
  await store.post(ID, { kind: 'cancel', turn: 1, reason: 'enough' })
  await post(store, TEXTS[2], promised)
  next = await takeAll(lease, next, promised)
  await post(store, TEXTS[3], promised)
  const [left] = await Promise.allSettled([lease.release(), post(store, TEXTS[4], promised)])
  if (left.status === 'rejected') throw left.reason
  expect(next).toBe(5)
}

/** Nothing acknowledged is lost, no letter is taken twice, and who comes next takes the rest, once, whatever a sender sends anew. */
export async function expectExchanged(store: SessionStore, { posted, durable }: Promised, what: string): Promise<void> {
  const before = await logOf(store, ID)
  if (durable > 0) expect(before?.length ?? 0, `${what}: durable events`).toBeGreaterThanOrEqual(durable)
  // Killed in front of its first event, there is nothing to send to.
  if (!before || before.length === 0) return
  for (const text of TEXTS) {
    const id = posted.get(text)
    if (!text.startsWith('key')) continue
    const again = await store.post(ID, letter(text, text))
    if (id !== undefined) expect(again, `${what}: ${text} is sent anew`).toMatchObject({ letter: id, repeated: true })
  }
  const lease = await store.lease(ID)
  const waiting = await lease.letters()
  const taken = new Set(before.flatMap(({ data }) => ('letter' in data && data.letter !== undefined ? [data.letter] : [])))
  expect(waiting.filter(({ id }) => taken.has(id)), `${what}: taken, and given again`).toEqual([])
  for (const id of posted.values()) expect([...taken, ...waiting.map((letter) => letter.id)], `${what}: a letter was lost`).toContain(id)
  await takeAll(lease, before.length, { posted, durable })
  expect(await lease.letters(), what).toEqual([])
  await lease.release()
  expect(await store.letters(ID), `${what}: nothing is left`).toEqual([])
  const log = (await logOf(store, ID))!
  const ids = log.flatMap(({ data }) => ('letter' in data && data.letter !== undefined ? [data.letter] : []))
  expect(new Set(ids).size, `${what}: taken twice`).toBe(ids.length)
  const texts = log.flatMap((event) => (event.type === 'prompt/queued' ? [textOf(event.data.input)] : []))
  expect(new Set(texts).size, `${what}: ${texts.join()}`).toBe(texts.length)
  const order = log.flatMap((event) => (event.type === 'prompt/queued' && posted.get(textOf(event.data.input)) === event.data.letter ? [textOf(event.data.input)] : []))
  expect(order, `${what}: in their order`).toEqual(TEXTS.filter((text) => posted.has(text)))
}
