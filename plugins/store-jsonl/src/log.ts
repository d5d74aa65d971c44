import { basename } from 'node:path'
import { type Cursor, type Followed, type KeptKey, type SessionEvent, cursorOf, keyedPrompts, parseCursor } from '@headrace/session'
import { LogFile } from './file.ts'
import { nodeFiles } from './files.ts'
import { isBlobLine } from './items.ts'
import { readKeys } from './keys.ts'
import { LogReader, type Place, type ReaderOptions, startOf } from './reader.ts'

/** The events from a seq to before another, in batches, without reading the log from its beginning. */
export async function* readEvents(file: LogFile, place: Place, from: number, to: number): AsyncGenerator<readonly SessionEvent[]> {
  if (to <= from) return
  const start = await startOf(file, place, from)
  for await (const batch of new LogReader(file, place, { start }).batches()) {
    const asked = batch.filter(({ seq }) => seq >= from && seq < to)
    if (asked.length > 0) yield asked
    if (batch.at(-1)!.seq >= to - 1) return
  }
}

/** One event; undefined where the log does not have it. */
export async function readEvent(file: LogFile, place: Place, seq: number): Promise<SessionEvent | undefined> {
  for await (const [event] of readEvents(file, place, seq, seq + 1)) return event
  return undefined
}

/** How much of a log may be given. */
export interface Bounds {
  /** Bytes that are durable. */
  readonly size: number
  /** Events that are durable: those before this seq. */
  readonly before: number
}

/**
 * The events after a cursor, up to where the log is durable; a `reset` first where the log does not have the cursor.
 */
export async function* readBehind(
  file: LogFile,
  place: Place,
  from: Cursor | undefined,
  { size, before }: Bounds,
): AsyncGenerator<Followed> {
  let next = 0
  if (from !== undefined) {
    const { seq } = parseCursor(from)!
    const event = await readEvent(file, place, seq)
    if (event && cursorOf(place.id, event) === from) next = seq + 1
    else yield { reset: true }
  }
  const start = await startOf(file, place, next)
  for await (const batch of new LogReader(file, place, { start, tail: false, size }).batches()) {
    const events = batch.filter(({ seq }) => seq >= next && seq < before)
    if (events.length > 0) yield { events, cursor: cursorOf(place.id, events.at(-1)!) }
  }
}

/** The prompt with a key: from the list beside the log, where that has it and the log agrees, else from the log. */
export async function findKey(file: LogFile, place: Place, path: string, key: string): Promise<KeptKey | undefined> {
  const known = readKeys(path)
  for (const prompt of [...(known?.prompts ?? [])].reverse()) {
    if (prompt.key !== key) continue
    const event = await readEvent(file, place, prompt.seq)
    if (event && keyedPrompts([event])[0]?.key === key) return prompt
  }
  let found: KeptKey | undefined
  for await (const events of readEvents(file, place, 0, known?.from ?? Infinity))
    found = keyedPrompts(events).find((prompt) => prompt.key === key) ?? found
  return found
}

/**
 * The events of any log file, in batches; needs no lease. A torn tail and the blobs of an export are left out.
 *
 * @param onLeftOut called with a torn tail: where it begins, and its bytes
 * @throws StoreError that names file, line and byte of what is damaged, after the events before it were given
 */
export async function* readLog(path: string, onLeftOut?: ReaderOptions['onLeftOut']): AsyncGenerator<readonly SessionEvent[]> {
  const place = { id: basename(path, '.jsonl'), path }
  const file = LogFile.open(nodeFiles, place.id, path)
  try {
    yield* new LogReader(file, place, { skips: isBlobLine, ...(onLeftOut && { onLeftOut }) }).batches()
  } finally {
    file.close()
  }
}
