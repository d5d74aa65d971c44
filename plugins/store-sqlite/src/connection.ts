import { StoreError } from '@headrace/session'
import { Database, type DatabaseOptions } from './database.ts'

/** The database of a store, opened on first use, and opened again where needed. */
export class Connection {
  private readonly options: DatabaseOptions
  private opened: Promise<Database> | undefined
  private closed = false

  constructor(options: DatabaseOptions) {
    this.options = options
  }

  /** The database, opened once; again where another file took its place. */
  async database(): Promise<Database> {
    if (this.closed) throw new StoreError(`the store of ${this.options.file} was closed`, { code: 'STORE_CLOSED' })
    const opened = (this.opened ??= Database.open(this.options))
    try {
      const database = await opened
      if (database.isThere || this.opened !== opened) return database
    } catch (error) {
      if (this.opened === opened) this.opened = undefined
      throw error
    }
    // Leases on the old one are lost at their next sync; the last of them closes it.
    this.opened = undefined
    void opened.then((database) => database.close())
    return this.database()
  }

  /** The database; a new connection where a sync of the old one failed and no lease uses that any more. */
  async writable(): Promise<Database> {
    const database = await this.database()
    if (!database.failed || database.used) return database
    this.opened = undefined
    await database.close()
    return this.database()
  }

  /** Closes it once the last lease is given back; accepts no more calls. */
  async close(): Promise<void> {
    this.closed = true
    const database = await this.opened?.catch(() => undefined)
    await database?.close()
  }
}
