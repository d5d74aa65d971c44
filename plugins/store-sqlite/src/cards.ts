import { messageOf } from '@headrace/message'
import { CardFold, type CardState, type ListFilter, type SessionCard, SessionNotFoundError, brokenCard, cardOf, parseCardState, parseCursor } from '@headrace/session'
import type { Database } from './database.ts'
import { livingHolder } from './lease-holder.ts'
import { checkEnd, readPages } from './reader.ts'
import type { SessionRow } from './statements.ts'

/** Stores a card, for listings. */
export function keepCard(database: Database, key: number, state: CardState): void {
  const { cwd, under } = state.open ?? {}
  database.writeLazily(() => database.statements.putCard.run(key, cwd ?? null, under?.session ?? null, JSON.stringify(state)))
}

/** A session's card, made anew where it is missing or old; undefined where the session is gone. */
export async function readCard(database: Database, key: number): Promise<SessionCard | undefined> {
  const row = database.statements.byKey.get(key)
  if (!row) return undefined
  const facts = { id: row.id, modified: row.modified, size: row.bytes, holder: livingHolder(row, database.file) }
  try {
    return cardOf(facts, await stateOf(database, row, facts.holder !== undefined))
  } catch (error) {
    return error instanceof SessionNotFoundError ? undefined : brokenCard(facts, messageOf(error), cardIn(database, key))
  }
}

/** The card of a session, up to date where nobody holds the lease. */
export async function stateOf(database: Database, row: SessionRow, isHeld: boolean): Promise<CardState> {
  const kept = cardIn(database, row.key)
  const at = kept?.at === undefined ? undefined : parseCursor(kept.at)
  checkEnd(database, row)
  // The holder of the lease keeps the card up to date.
  if (kept && (isHeld || (at?.seq ?? -1) === row.next - 1)) return kept
  const isOf = at !== undefined && database.statements.rows.all(row.key, at.seq, at.seq + 1)[0]?.sum === at.sum
  const fold = new CardFold(isOf ? kept : undefined)
  const range = { id: row.id, key: row.key, next: isOf ? at.seq + 1 : 0, end: row.next }
  for await (const events of readPages(range, () => Promise.resolve(database))) for (const event of events) fold.take(event)
  const state = fold.stateIn(row.id)
  if (!isHeld && row.next > 0) tryToKeep(database, row.key, state)
  return state
}

/** Keys of sessions, newest change first. */
export async function keysOf(database: Database, { cwd, under }: ListFilter): Promise<readonly number[]> {
  const { uncarded, listAll, listIn, listUnder } = database.statements
  if (cwd === undefined && under === undefined) return listAll.all().map(({ key }) => key)
  for (const { key } of uncarded.all()) await readCard(database, key)
  return (under === undefined ? listIn.all(cwd!) : listUnder.all(under)).map(({ key }) => key)
}

/** Whether a card is one of those that were asked for. */
export function passes({ open }: SessionCard, { cwd, under }: ListFilter): boolean {
  return (cwd === undefined || open?.cwd === cwd) && (under === undefined || open?.under?.session === under)
}

function cardIn(database: Database, key: number): CardState | undefined {
  const kept = database.statements.card.get(key)
  try {
    return kept && parseCardState(JSON.parse(kept.json))
  } catch {
    return undefined
  }
}

/** Only a cache: errors of a database that cannot be written are ignored. */
function tryToKeep(database: Database, key: number, state: CardState): void {
  try {
    keepCard(database, key, state)
  } catch { /* made anew next time */ }
}
