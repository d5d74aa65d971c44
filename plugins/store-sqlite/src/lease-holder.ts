import { type Holder, SessionBusyError, describeHolder, giveUp, isAlive, parseHolder, untilDone } from '@headrace/session'
import type { Database } from './database.ts'
import type { SessionRow } from './statements.ts'

/**
 * Refuses where a live process holds the session. Malformed JSON counts as no holder: each append checks for its own.
 *
 * @throws SessionBusyError
 */
export function refuseIfHeld(row: SessionRow, file: string): void {
  const holder = livingHolder(row, file)
  if (holder !== undefined) throw new SessionBusyError(row.id, holder)
}

/** The live holder of a session, in words. */
export function livingHolder({ id, holder: json }: SessionRow, file: string): string | undefined {
  const holder = json === null ? undefined : parseHolder(json)
  return holder && isAlive(holder) ? describeHolder(holder, wayOut(id, file)) : undefined
}

/** Who holds a session now, in words. */
export function holderOf({ id, holder }: SessionRow, file: string): string {
  const now = holder === null ? undefined : parseHolder(holder)
  return now ? describeHolder(now, wayOut(id, file)) : 'nobody: its holder was taken out of the database'
}

/**
 * Removes a holder from its session's row. Where the disk is full or the database busy, that is done later: in this
 * process the session is free at once, for others as soon as the row can be written.
 *
 * @param done called once it is
 */
export async function giveBack({ statements }: Database, key: number, holder: Holder, done: () => Promise<void>): Promise<void> {
  const letGo = (): void => void statements.letGo.run(key, JSON.stringify(holder))
  try {
    letGo()
  } catch {
    giveUp(holder.token)
    untilDone(() => {
      letGo()
      void done()
    })
    return
  }
  await done()
}

function wayOut(id: string, file: string): string {
  return `run: sqlite3 ${file} "UPDATE sessions SET holder = NULL WHERE id = '${id}'"`
}
