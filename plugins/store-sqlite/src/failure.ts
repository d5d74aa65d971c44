import { HeadraceError, messageOf } from '@headrace/message'
import { StoreError } from '@headrace/session'
import type { DatabaseOptions } from './database.ts'
import { isSqlite } from './driver.ts'

/** The error of a call for an error of SQLite: what could not be done, why, and the way out. */
export function failureOf(
  what: string,
  error: unknown,
  { file, busyTimeout }: Pick<DatabaseOptions, 'file' | 'busyTimeout'>,
): HeadraceError {
  if (error instanceof HeadraceError) return error
  const cause = messageOf(error)
  if (isSqlite(error, 'SQLITE_BUSY')) {
    const problem = `another process was writing to it for all of ${busyTimeout} ms; one that is stopped or hangs in a write keeps all others from theirs`
    return new StoreError(`${what}: ${problem} (${cause})`, { cause: error })
  }
  if (isSqlite(error, 'SQLITE_CORRUPT', 'SQLITE_NOTADB')) {
    const wayOut = `put a copy in its place, or save what can be read: sqlite3 ${file} .recover`
    return new StoreError(`${what}: the file is damaged (${cause}); ${wayOut}`, { code: 'STORE_DAMAGED', cause: error })
  }
  return new StoreError(`${what} (${cause})`, { cause: error })
}
