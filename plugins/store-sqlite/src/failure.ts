import { HeadraceError, messageOf } from '@headrace/message'
import { StoreError } from '@headrace/session'
import { isSqlite } from './driver.ts'

/** What could not be done, in words: of a file that is damaged, with a way out. */
export function failureOf(file: string, what: string, error: unknown): HeadraceError {
  if (error instanceof HeadraceError) return error
  if (!isSqlite(error, 'SQLITE_CORRUPT', 'SQLITE_NOTADB')) return new StoreError(`${what} (${messageOf(error)})`, { cause: error })
  return new StoreError(`${what}: the file is damaged (${messageOf(error)}); put a copy in its place, or save what can be read: sqlite3 ${file} .recover`, { code: 'STORE_DAMAGED', cause: error })
}
