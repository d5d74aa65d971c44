import { SessionBusyError, describeHolder, isAlive, parseHolder } from '@headrace/session'
import type { SessionRow } from './statements.ts'

/**
 * Refuses where somebody who lives holds the session. What is no holder's JSON holds nothing: each append looks for its own.
 *
 * @param given JSON of holders that were given back, though their rows could not be written
 * @throws SessionBusyError
 */
export function refuseIfHeld(row: SessionRow, file: string, given: ReadonlySet<string>): void {
  const holder = row.holder === null || given.has(row.holder) ? undefined : parseHolder(row.holder)
  if (holder && isAlive(holder)) throw new SessionBusyError(row.id, describeHolder(holder, wayOut(row.id, file)))
}

/** Who holds a session now, in words. */
export function holderOf({ id, holder }: SessionRow, file: string): string {
  const now = holder === null ? undefined : parseHolder(holder)
  return now ? describeHolder(now, wayOut(id, file)) : 'nobody: its holder was taken out of the database'
}

function wayOut(id: string, file: string): string {
  return `run: sqlite3 ${file} "UPDATE sessions SET holder = NULL WHERE id = '${id}'"`
}
