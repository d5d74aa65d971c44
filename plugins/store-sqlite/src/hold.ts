import { SessionBusyError, describeHolder, isAlive, parseHolder } from '@headrace/session'
import type { SessionRow } from './statements.ts'

/**
 * Refuses where somebody who lives holds the session. What is no holder's JSON holds nothing: each append looks for its own.
 *
 * @throws SessionBusyError
 */
export function refuseIfHeld(row: SessionRow, file: string): void {
  const holder = livingHolder(row, file)
  if (holder !== undefined) throw new SessionBusyError(row.id, holder)
}

/** Who lives and holds a session, in words. */
export function livingHolder({ id, holder: json }: SessionRow, file: string): string | undefined {
  const holder = json === null ? undefined : parseHolder(json)
  return holder && isAlive(holder) ? describeHolder(holder, wayOut(id, file)) : undefined
}

/** Who holds a session now, in words. */
export function holderOf({ id, holder }: SessionRow, file: string): string {
  const now = holder === null ? undefined : parseHolder(holder)
  return now ? describeHolder(now, wayOut(id, file)) : 'nobody: its holder was taken out of the database'
}

function wayOut(id: string, file: string): string {
  return `run: sqlite3 ${file} "UPDATE sessions SET holder = NULL WHERE id = '${id}'"`
}
