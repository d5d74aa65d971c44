import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SqliteStore } from '@headrace/plugin-store-sqlite'
import { turns } from '@headrace/testing/gate'
import { driver, openStore, sql, temporaryFolder } from './logs.ts'

/** A store whose disk forgets what was not synced. */
export interface PowerCut {
  readonly store: SqliteStore
  /** How often it was synced. */
  readonly syncs: () => number
  /**
   * The store as the next boot finds it, in a copy.
   *
   * @param reached what had reached the disk of the bytes that were not synced; default: nothing
   */
  readonly cut: (reached?: (tail: Buffer) => Buffer) => SqliteStore
}

/** @param onSync called when a sync begins, and when it ends */
export function powerCut(onSync: () => void = () => undefined): PowerCut {
  const file = join(temporaryFolder(), 'state', 'sessions.sqlite')
  let durable = Buffer.alloc(0)
  let syncs = 0
  const sync = async (): Promise<void> => {
    // What is written while a sync runs may miss it.
    const bytes = readFileSync(`${file}-wal`)
    syncs++
    onSync()
    await turns()
    durable = bytes
    onSync()
  }
  const store = openStore({ file, fsync: 'barrier', sync })
  const cut = (reached: (tail: Buffer) => Buffer = () => Buffer.alloc(0)): SqliteStore => {
    const copy = join(temporaryFolder(), 'sessions.sqlite')
    if (!existsSync(file)) return openStore({ file: copy, fsync: 'barrier' })
    // The database itself holds what checkpoints moved there, each synced by SQLite.
    writeFileSync(copy, readFileSync(file))
    writeFileSync(`${copy}-wal`, Buffer.concat([durable, reached(existsSync(`${file}-wal`) ? readFileSync(`${file}-wal`).subarray(durable.length) : Buffer.alloc(0))]))
    const after = openStore({ file: copy, fsync: 'barrier' })
    // Another boot, by which no holder lives.
    if (hasTables(copy)) sql(after, 'UPDATE sessions SET holder = NULL')
    return after
  }
  return { store, syncs: () => syncs, cut }
}

/** False where not even they were durable. */
function hasTables(file: string): boolean {
  const database = driver(file, 5_000)
  try {
    return database.prepare('SELECT name FROM sqlite_schema').get() !== undefined
  } finally {
    database.close()
  }
}
