import type BetterSqlite3 from 'better-sqlite3'
import type { Driver, Handle, Statement } from './handle.ts'

/** better-sqlite3, for a Node that has no SQLite of its own. @throws where its native part cannot be loaded */
export function betterDriver(Database: typeof BetterSqlite3): Driver {
  new Database(':memory:').close() // only now its native part is looked for
  return (file, timeout) => new BetterHandle(new Database(file, { timeout }))
}

class BetterHandle implements Handle {
  private readonly database: BetterSqlite3.Database
  private readonly run: BetterSqlite3.Transaction<(work: () => unknown) => unknown>

  constructor(database: BetterSqlite3.Database) {
    this.database = database
    this.run = database.transaction((work: () => unknown) => work())
  }

  get isOpen(): boolean {
    return this.database.open
  }

  exec(sql: string): void {
    this.database.exec(sql)
  }

  prepare<P extends readonly unknown[], R>(sql: string): Statement<P, R> {
    return this.database.prepare(sql) as unknown as Statement<P, R>
  }

  pragma(text: string): unknown {
    return this.database.pragma(text, { simple: true })
  }

  deferred<T>(work: () => T): T {
    return this.run.deferred(work) as T
  }

  immediate<T>(work: () => T): T {
    return this.run.immediate(work) as T
  }

  close(): void {
    this.database.close()
  }
}
