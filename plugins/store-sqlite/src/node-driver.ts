import type { Driver, Handle, Statement } from './handle.ts'

// What is used of node:sqlite, which the types of the oldest Node that we run on do not have.
type StatementSync = Statement<readonly never[]>
interface DatabaseSync {
  exec(sql: string): void
  prepare(sql: string): StatementSync
  close(): void
}
interface NodeSqlite {
  readonly DatabaseSync: new (file: string) => DatabaseSync
  readonly StatementSync: { readonly prototype: object }
}

/** The driver that Node has built in; undefined where it has none that needs no flag. */
export function nodeDriver(): Driver | undefined {
  const sqlite = quietly(() => process.getBuiltinModule?.('node:sqlite') as NodeSqlite | undefined)
  if (!sqlite || !('iterate' in sqlite.StatementSync.prototype)) return undefined
  return (file, timeout) => new NodeHandle(new sqlite.DatabaseSync(file), timeout)
}

/** Suppresses the warning "experimental", which Node prints at first use: what we use has been stable since 22.13. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...rest: readonly unknown[]) => {
    if (!String(warning).includes('SQLite is an experimental feature')) (emitWarning as (...all: readonly unknown[]) => void).call(process, warning, ...rest)
  }
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

class NodeHandle implements Handle {
  isOpen = true
  private isWithin = false
  private readonly database: DatabaseSync
  private readonly begin: StatementSync
  private readonly beginNow: StatementSync
  private readonly commit: StatementSync

  constructor(database: DatabaseSync, timeout: number) {
    this.database = database
    try {
      database.exec(`PRAGMA busy_timeout = ${timeout}`)
      this.begin = database.prepare('BEGIN DEFERRED')
      this.beginNow = database.prepare('BEGIN IMMEDIATE')
      this.commit = database.prepare('COMMIT')
    } catch (error) {
      database.close()
      throw error
    }
  }

  exec(sql: string): void {
    this.database.exec(sql)
  }

  prepare<P extends readonly unknown[], R>(sql: string): Statement<P, R> {
    return this.database.prepare(sql) as unknown as Statement<P, R>
  }

  pragma(text: string): unknown {
    const [row] = this.database.prepare(`PRAGMA ${text}`).all()
    return row && Object.values(row)[0]
  }

  deferred<T>(work: () => T): T {
    return this.within(this.begin, work)
  }

  immediate<T>(work: () => T): T {
    return this.within(this.beginNow, work)
  }

  close(): void {
    this.isOpen = false
    this.database.close()
  }

  private within<T>(begin: StatementSync, work: () => T): T {
    // Part of the open transaction.
    if (this.isWithin) return work()
    begin.run()
    this.isWithin = true
    try {
      const result = work()
      this.commit.run()
      return result
    } catch (error) {
      try {
        this.database.exec('ROLLBACK')
      } catch { /* SQLite has taken it back by itself, as where the disk is full */ }
      throw error
    } finally {
      this.isWithin = false
    }
  }
}
