import { messageOf } from '@headrace/message'
import { StoreError } from '@headrace/session'
import type BetterSqlite3 from 'better-sqlite3'

/** An open database of better-sqlite3. */
export type Handle = BetterSqlite3.Database

/** @throws StoreError where better-sqlite3 is not installed, or was built for another Node */
export async function loadDriver(): Promise<typeof BetterSqlite3> {
  try {
    const { default: driver } = await import('better-sqlite3')
    new driver(':memory:').close() // only now its native part is looked for
    return driver
  } catch (error) {
    const cause = messageOf(error).replace(/\.? Tried: .*/, '') // a dozen places where the native part may be
    const wayOut = `install it with "npm i better-sqlite3@12", or, where it is installed, "npm rebuild better-sqlite3" for this Node (${process.version})`
    throw new StoreError(`store-sqlite needs better-sqlite3, which cannot be loaded (${cause}); ${wayOut}`, { code: 'STORE_DRIVER', cause: error })
  }
}

/** True for an error of SQLite with one of these codes, or one of their extended ones. */
export function isSqlite(error: unknown, ...codes: readonly string[]): boolean {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' && codes.some((one) => code === one || code.startsWith(`${one}_`))
}
