import { HeadraceError, messageOf } from '@headrace/message'
import { type Cursor, type Followed, LogError, type SessionEvent, SessionNotFoundError, StoreError, cursorOf, parseCursor } from '@headrace/session'
import type { Database } from './database.ts'
import { type Row, decodeRow } from './row.ts'
import type { SessionRow } from './statements.ts'

const PAGE_BYTES = 256 * 1024
const PAGE_ROWS = 512

/** Events of one log, from `next` to before `end`. */
export interface Range {
  readonly id: string
  readonly key: number
  readonly next: number
  readonly end: number
}

/** One page of events, up to a problem. */
interface Page {
  readonly events: readonly SessionEvent[]
  readonly problem?: { readonly error: unknown }
}

/** Events of a log, from a seq to before another, as far as it goes when reading begins. */
export async function* readBetween(
  id: string,
  from: number,
  to: number,
  open: () => Promise<Database>,
): AsyncGenerator<readonly SessionEvent[]> {
  const row = endOf(await open(), id)
  yield* readPages({ id, key: row.key, next: Math.max(0, from), end: Math.min(to, row.next) }, open)
}

/**
 * Reads one log as it is when reading begins, in memory bounded by a page and the longest event. Each page is a query
 * of its own: a log only grows, so that pages fit together, and no reader delays a checkpoint.
 *
 * @param open gives the database for each page anew
 * @throws SessionNotFoundError; StoreError with session, seq and file of what is damaged, after the events before it
 * were given
 */
export async function* readBatches(id: string, open: () => Promise<Database>): AsyncGenerator<readonly SessionEvent[]> {
  const { key, next: end } = endOf(await open(), id)
  yield* readPages({ id, key, next: 0, end }, open)
}

/** Page after page. @throws as {@link readBatches} */
export async function* readPages(
  { id, key, next: from, end }: Range,
  open: () => Promise<Database>,
): AsyncGenerator<readonly SessionEvent[]> {
  for (let next = from; next < end;) {
    const database = await open()
    const { events, problem } = readPage(database, { id, key, next, end })
    if (events.length > 0) yield events
    next += events.length
    // A log that was removed meanwhile is not damaged.
    if (problem)
      throw database.statements.byKey.get(key)
        ? damaged(database, id, next, problem.error)
        : new SessionNotFoundError(id)
  }
}

/**
 * The events after a cursor, up to where the log is durable; a `reset` first where the log does not have the cursor.
 *
 * @param durable of the writer in this process; without one, events are synced here first: their writer may be dead
 */
export async function* readBehind(
  database: Database,
  row: SessionRow,
  from: Cursor | undefined,
  durable: number | undefined,
): AsyncGenerator<Followed> {
  const { id, key, next: length } = row
  const end = Math.min(length, durable ?? length)
  let next = 0
  if (from !== undefined) {
    const { seq, sum } = parseCursor(from)!
    const found = seq < length ? database.statements.rows.all(key, seq, seq + 1)[0] : undefined
    if (found?.sum === sum) next = seq + 1
    else yield { reset: true }
  }
  if (next >= end) return
  if (durable === undefined) await database.flushAll()
  for await (const events of readPages({ id, key, next, end }, () => Promise.resolve(database)))
    yield { events, cursor: cursorOf(id, events.at(-1)!) }
}

/** A session's row, after its last event was compared with it. @throws SessionNotFoundError, StoreError */
export function endOf(database: Database, id: string): SessionRow {
  return database.read(() => {
    const row = database.statements.session.get(id)
    if (!row) throw new SessionNotFoundError(id)
    return checkEnd(database, row)
  })
}

/** @throws StoreError where the last event is damaged, or not the one before `next` */
export function checkEnd(database: Database, row: SessionRow): SessionRow {
  const seq = row.next - 1
  try {
    const last = database.statements.last.get(row.key)
    if (last) decodeRow(row.id, last, seq)
    else if (row.next !== 0) throw new LogError(`there is no event where ${row.next} were written`, undefined, 'LOG_SEQ')
    return row
  } catch (error) {
    throw damaged(database, row.id, Math.max(0, seq), error)
  }
}

function readPage(database: Database, { id, key, next, end }: Range): Page {
  const rows: Row[] = []
  const events: SessionEvent[] = []
  try {
    let bytes = 0
    for (const row of database.statements.rows.iterate(key, next, end)) {
      rows.push(row)
      bytes += row.json.length
      if (bytes >= PAGE_BYTES || rows.length === PAGE_ROWS) break
    }
    for (const row of rows) events.push(decodeRow(id, row, next + events.length))
    if (rows.length === 0) throw new LogError(`events ${next} to ${end - 1} are missing`, undefined, 'LOG_SEQ')
    return { events }
  } catch (error) {
    return { events, problem: { error } }
  }
}

function damaged(database: Database, id: string, seq: number, error: unknown): StoreError {
  const code = error instanceof HeadraceError && error.code !== 'LOG_INVALID' ? error.code : 'LOG_DAMAGED'
  return new StoreError(`session ${id}: event ${seq} in ${database.file} cannot be read: ${messageOf(error)}`, { code, cause: error })
}
