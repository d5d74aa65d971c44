import { messageOf } from '@headrace/message'
import { type SessionEvent, SessionNotFoundError } from '@headrace/session'
import type { Database } from './database.ts'
import { type Row, decodeRow } from './row.ts'
import type { SessionRow, Statements } from './statements.ts'

/** Events that are lost: the last one included. */
export interface LostEvents {
  readonly missing: readonly [from: number, to: number]
  readonly why: string
}

/** An event that is sound, or some that are lost. */
export type Salvaged = SessionEvent | { readonly lost: LostEvents }

/** The outcome for one event. */
type Looked = { readonly seq: number; readonly event: SessionEvent } | { readonly seq: number; readonly why: string }

const PAGE = 256
/** Unreadable rows in a row, after which the rest is given up. */
const MOST_FAILURES = 100_000

/**
 * Every sound event of a log, however damaged its rows, their index, or the file, as far as SQLite gives them; and what is lost, in its
 * place. A row is sound by itself.
 *
 * @throws SessionNotFoundError
 */
export async function* salvageEvents(id: string, open: () => Promise<Database>): AsyncGenerator<Salvaged> {
  const { statements } = await open()
  const row = statements.session.get(id)
  if (!row) throw new SessionNotFoundError(id)
  const end = endOf(statements, row)
  const lost = new Set<number>()
  for (const looked of look(statements, row, end)) if ('why' in looked) lost.add(looked.seq)
  const found = lost.size > 0 ? findRows(statements, row, lost) : new Map<number, SessionEvent>()
  let gap: { readonly from: number; to: number; readonly why: string } | undefined
  const told = function* (): Generator<{ readonly lost: LostEvents }> {
    if (gap) yield { lost: { missing: [gap.from, gap.to], why: gap.why } }
    gap = undefined
  }
  for (const looked of look(statements, row, end)) {
    const { seq } = looked
    const event = 'event' in looked ? looked.event : found.get(seq)
    if (event) {
      yield* told()
      yield event
    } else if (gap) gap.to = seq
    else gap = { from: seq, to: seq, why: 'why' in looked ? looked.why : '' }
  }
  yield* told()
}

/** The seq after the last event, by the session's row or by its events, whichever is greater. */
function endOf(statements: Statements, { key, next }: SessionRow): number {
  try {
    return Math.max(next, (statements.last.get(key)?.seq ?? -1) + 1)
  } catch {
    return next
  }
}

/** One event after the other, by the index. */
function* look(statements: Statements, row: SessionRow, end: number): Generator<Looked> {
  for (let next = 0; next < end;) {
    const { rows, why } = collect(statements.rows.iterate(row.key, next, end))
    for (const each of rows) {
      for (; next < each.seq; next++) yield { seq: next, why: 'it is not there' }
      yield judge(row.id, each)
      next++
    }
    if (why !== undefined) yield lookAt(statements, row, next++)
    else if (rows.length < PAGE) for (; next < end; next++) yield { seq: next, why: 'it is not there' }
  }
}

function lookAt(statements: Statements, { id, key }: SessionRow, seq: number): Looked {
  const { rows: [row], why } = collect(statements.rows.iterate(key, seq, seq + 1))
  return row ? judge(id, row) : { seq, why: why ?? 'it is not there' }
}

/** A page of rows, as far as it can be read. */
function collect<T>(iterator: IterableIterator<T>): { readonly rows: readonly T[]; readonly why?: string } {
  const rows: T[] = []
  try {
    for (const row of iterator) if (rows.push(row) === PAGE) break
    return { rows }
  } catch (error) {
    return { rows, why: messageOf(error) }
  }
}

function judge(id: string, row: Row): Looked {
  try {
    return { seq: row.seq, event: decodeRow(id, row, row.seq) }
  } catch (error) {
    return { seq: row.seq, why: messageOf(error) }
  }
}

/** Lost events by their rows' own order, where the index does not lead to them. */
function findRows(statements: Statements, { id, key }: SessionRow, lost: ReadonlySet<number>): ReadonlyMap<number, SessionEvent> {
  const found = new Map<number, SessionEvent>()
  let failures = 0
  for (let from = 1; failures < MOST_FAILURES;) {
    const { rows, why } = collect(statements.rowsFrom.iterate(from))
    for (const { rowid, session, seq } of rows) {
      from = rowid + 1
      if (session !== key || !lost.has(seq) || found.has(seq)) continue
      const [row] = collect(statements.row.iterate(rowid)).rows
      const looked = row && judge(id, row)
      if (looked && 'event' in looked) found.set(seq, looked.event)
    }
    failures = rows.length > 0 ? 0 : failures + 1
    if (why === undefined && rows.length < PAGE) return found
    // What stands there cannot be read: the next one.
    if (why !== undefined) from++
  }
  return found
}
