import { messageOf } from '@headrace/message'
import { StoreError } from '@headrace/session'
import type { Driver } from './handle.ts'

export type { Driver, Handle, Statement } from './handle.ts'

/** The driver that is built into Node (22.13 and later), else better-sqlite3. @throws StoreError where there is neither */
export async function loadDriver(): Promise<Driver> {
  const { nodeDriver } = await import('./node-driver.ts')
  const driver = nodeDriver()
  if (driver) return driver
  try {
    const [{ default: Database }, { betterDriver }] = await Promise.all([import('better-sqlite3'), import('./better-driver.ts')])
    return betterDriver(Database)
  } catch (error) {
    const cause = messageOf(error).replace(/\.? Tried: .*/, '') // a dozen places where the native part may be
    const wayOut = `use Node 22.13 or later, which has SQLite built in; or install it with "npm i better-sqlite3@12", or, where it is installed, "npm rebuild better-sqlite3" for this Node (${process.version})`
    throw new StoreError(`store-sqlite needs better-sqlite3 on this Node, which cannot be loaded (${cause}); ${wayOut}`, { code: 'STORE_DRIVER', cause: error })
  }
}

/** The primary result codes that are used. */
const CODES = { SQLITE_BUSY: 5, SQLITE_NOMEM: 7, SQLITE_CORRUPT: 11, SQLITE_FULL: 13, SQLITE_TOOBIG: 18, SQLITE_NOTADB: 26 } as const

/** True for an error of SQLite with one of these codes, or one of their extended ones. */
export function isSqlite(error: unknown, ...names: readonly (keyof typeof CODES)[]): boolean {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown }
  if (typeof errcode === 'number') return names.some((name) => CODES[name] === (errcode & 0xff))
  return typeof code === 'string' && names.some((name) => code === name || code.startsWith(`${name}_`))
}
