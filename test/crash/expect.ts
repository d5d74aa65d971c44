import { callsOf, textOf } from '@headrace/message'
import { type SessionEvent, type SessionStore, Fold, unpaired, verify } from '@headrace/session'
import { expect } from 'vitest'
import { type Ack, Sum } from './watched.ts'
import { PROMPTS } from './work.ts'

/** The log of a session as a store has it; undefined where there is none. */
export async function logOf(store: SessionStore, id: string): Promise<readonly SessionEvent[] | undefined> {
  const events: SessionEvent[] = []
  try {
    for await (const batch of store.load(id)) events.push(...batch)
  } catch (error) {
    if ((error as { readonly code?: string }).code === 'SESSION_NOT_FOUND') return undefined
    throw error
  }
  return events
}

/** Everything that was acknowledged is there, byte for byte, and the log verifies. */
export async function expectKept(store: SessionStore, id: string, acks: readonly Ack[], what: string): Promise<readonly SessionEvent[]> {
  const log = await logOf(store, id)
  if (acks.some((ack) => ack.what === 'created' || ack.what === 'durable')) expect(log, `${what}: the session is there`).toBeDefined()
  if (!log) return []
  // Killed ahead of its first event there is no log yet, and nothing was acknowledged.
  if (log.length === 0 && !acks.some((ack) => ack.what === 'durable')) return log
  expect(verify(log).difference, what).toBeUndefined()
  const letters = acks.some(({ what }) => what === 'letter') ? (await store.letters(id)).map((letter) => letter.id) : []
  for (const ack of acks) {
    if (ack.what === 'letter') expect(letters, `${what}: a letter that was posted`).toEqual([ack.id])
    if (ack.what === 'durable') expect(sumOf(log.slice(0, ack.events)), `${what}: ${ack.events} events are as they were acknowledged`).toBe(ack.sum)
    if (ack.what === 'prompt') expect(log[ack.seq]?.type, what).toBe('prompt/queued')
    if (ack.what === 'blob') expect(Buffer.from((await store.getBlob(id, ack.digest))!).toString(), what).toBe(`the picture of ${id}`)
    if (ack.what === 'request') expect(log[ack.dispatch]?.type, `${what}: a request that left stands in the log`).toBe('request/dispatch')
    if (ack.what === 'tool') expect(startsOf(log), `${what}: a tool that ran stands in the log as started`).toContain(ack.id)
    if (ack.what === 'turn') expect(log.some((event) => event.type === 'turn/end' && event.data.reason === ack.reason), what).toBe(true)
  }
  return log
}

/** The work is done: nothing is open, nothing waits, every call has its result, no tool ran twice. */
export async function expectFinished(
  store: SessionStore,
  id: string,
  acks: readonly Ack[],
  before: readonly SessionEvent[],
  what: string,
): Promise<void> {
  const log = await expectKept(store, id, acks, what)
  expect(sumOf(log.slice(0, before.length)), `${what}: what was there before the resume`).toBe(sumOf(before))
  const fold = Fold.of(log)
  expect([fold.ledger.turn, fold.ledger.queue, fold.ledger.owed, fold.ledger.openDispatches], what).toEqual([
    undefined,
    [],
    false,
    [],
  ])
  expect(unpaired(fold.surface.snapshot().entries.map(({ message }) => message)), what).toBeUndefined()
  const results = log.flatMap((event) =>
    event.type === 'tool/result' ? [`${event.data.assistant}.${event.data.index}`] : [],
  )
  const calls = log.flatMap((event) =>
    event.type === 'assistant/message' ? callsOf(event.data.message).map((_, index) => `${event.seq}.${index}`) : [],
  )
  expect(results.toSorted(), `${what}: each call has its result, once`).toEqual(calls.toSorted())
  const ran = acks.flatMap((ack) => (ack.what === 'tool' ? [ack.id] : []))
  expect(new Set(ran).size, `${what}: a tool ran twice: ${ran.join()}`).toBe(ran.length)
  const prompts = log.flatMap((event) => (event.type === 'prompt/queued' ? [event] : []))
  for (const { seq } of prompts.filter(({ data }) => PROMPTS.includes(textOf(data.input) as never))) {
    const turn = log.find((event) => event.type === 'turn/start' && event.data.prompt === seq)
    expect(turn, `${what}: prompt ${seq} had its turn`).toBeDefined()
    const end = log.find((event) => event.type === 'turn/end' && event.seq > turn!.seq)
    expect(end?.data, `${what}: the turn of prompt ${seq}`).toMatchObject({ reason: 'done' })
  }
}

function startsOf(log: readonly SessionEvent[]): readonly string[] {
  return log.flatMap((event) => {
    if (event.type !== 'tool/start') return []
    const answer = log[event.data.assistant]
    return answer?.type === 'assistant/message' ? [callsOf(answer.data.message)[event.data.index]!.id] : []
  })
}

function sumOf(log: readonly SessionEvent[]): string {
  const sum = new Sum()
  sum.add(log.map((event) => JSON.stringify(event)))
  return sum.digest()
}
