import { type Digest, HeadraceError, messageOf, sha256 } from '@headrace/message'
import { type Lease, type SessionEvent, SessionExistsError, type SessionInfo, SessionNotFoundError, type SessionStore, StoreError, checkSessionId, newHolder } from '@headrace/session'
import { Database, type DatabaseOptions } from './database.ts'
import { isSqlite } from './driver.ts'
import { refuseIfHeld } from './hold.ts'
import { SqliteLease } from './lease.ts'
import { checkEnd, readBatches, readFirst } from './reader.ts'
import type { SessionRow } from './statements.ts'

/** Options of a `SqliteStore`. */
export interface SqliteStoreOptions {
  /** The database; made on first use, with mode 0600, in a folder with mode 0700. */
  readonly file: string
  /** `barrier`: what `flush` acknowledges survives a power cut (L17). `never`: a kill only; outside L17. */
  readonly fsync: 'barrier' | 'never'
  /** How long to wait while another process writes, in milliseconds. Default: 5000. */
  readonly busyTimeout?: number
  /** Makes the bytes of an open file durable; this machine's, unless given. */
  readonly sync?: (fd: number) => Promise<void>
}

export const BUSY_TIMEOUT = 5000

/**
 * Sessions in one SQLite database, which many processes may share; each session has one writer.
 *
 * ```ts
 * const store = new SqliteStore({ file: '/var/lib/app/sessions.sqlite', fsync: 'barrier' })
 * const session = await Session.open(store, 'demo')
 * ```
 */
export class SqliteStore implements SessionStore {
  readonly location: string
  readonly file: string
  private readonly options: DatabaseOptions
  private opened: Promise<Database> | undefined
  private closed = false
  /** Holders that were given back where the database could not be written. */
  private readonly given = new Set<string>()

  constructor(options: SqliteStoreOptions) {
    this.location = `sqlite:${options.file}`
    this.file = options.file
    this.options = { busyTimeout: BUSY_TIMEOUT, ...options }
  }

  /** Opens the database; every other call does so by itself. @throws StoreError */
  async open(): Promise<void> {
    await this.guarded(`cannot open ${this.file}`, () => this.database())
  }

  /** Closes the database, once the last lease is given back; takes no more calls. */
  async close(): Promise<void> {
    this.closed = true
    const database = await this.opened?.catch(() => undefined)
    await database?.close()
  }

  async create(id: string): Promise<Lease> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot create it in ${this.file}`, async () => {
      const database = await this.writable()
      const holder = JSON.stringify(newHolder())
      const key = database.write(() => {
        if (database.statements.session.get(id)) throw new SessionExistsError(id)
        return Number(database.statements.create.run(id, Date.now(), holder).lastInsertRowid)
      })
      return this.leaseOf(database, { id, key, next: 0, holder })
    })
  }

  async lease(id: string): Promise<Lease> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot lease it in ${this.file}`, async () => {
      const database = await this.writable()
      const holder = JSON.stringify(newHolder())
      const { key, next } = database.write(() => {
        const row = checkEnd(database, this.free(database, id))
        database.statements.hold.run(holder, row.key)
        return row
      })
      return this.leaseOf(database, { id, key, next, holder })
    })
  }

  async *load(id: string): AsyncIterable<readonly SessionEvent[]> {
    checkSessionId(id)
    try {
      yield* readBatches(id, () => this.database())
    } catch (error) {
      throw this.failed(`session ${id}: cannot read it in ${this.file}`, error)
    }
  }

  async *list(): AsyncIterable<SessionInfo> {
    const rows = await this.guarded(`cannot list ${this.file}`, async () => (await this.database()).statements.sessions.all())
    for (const { key, id } of rows) {
      const info = await this.guarded(`cannot list ${this.file}`, async () => this.infoOf(await this.database(), key, id))
      if (info) yield info
    }
  }

  async remove(id: string): Promise<void> {
    checkSessionId(id)
    await this.guarded(`session ${id}: cannot remove it from ${this.file}`, async () => {
      const database = await this.writable()
      database.write(() => {
        const { key } = this.free(database, id)
        database.statements.removeEvents.run(key)
        database.statements.removeBlobs.run(key)
        database.statements.remove.run(key)
      })
      await database.shrink()
      await database.flush()
    })
  }

  async putBlob(id: string, bytes: Uint8Array): Promise<Digest> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot keep a blob in ${this.file}`, async () => {
      const database = await this.writable()
      const digest = sha256(bytes)
      database.write(() => {
        const { key } = this.row(database, id)
        const present = database.statements.blob.get(key, digest)
        if (!present || sha256(present) !== digest) database.statements.putBlob.run(key, digest, bytes)
      })
      await database.flush()
      return digest
    })
  }

  async getBlob(id: string, digest: Digest): Promise<Uint8Array | undefined> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot read a blob in ${this.file}`, async () => {
      const database = await this.database()
      const { key } = this.row(database, id)
      const bytes = database.statements.blob.get(key, digest)
      if (!bytes) return undefined
      if (sha256(bytes) !== digest) throw new StoreError(`session ${id}: the blob ${digest} in ${this.file} is damaged: its bytes have another digest; put the same bytes again`, { code: 'BLOB_DAMAGED' })
      return new Uint8Array(bytes)
    })
  }

  /** The database, opened once for all. */
  private async database(): Promise<Database> {
    if (this.closed) throw new StoreError(`the store of ${this.file} was closed`, { code: 'STORE_CLOSED' })
    const opened = (this.opened ??= Database.open(this.options))
    try {
      return await opened
    } catch (error) {
      if (this.opened === opened) this.opened = undefined
      throw error
    }
  }

  /** The database; a new connection where a sync of the one before failed and nobody writes through that any more. */
  private async writable(): Promise<Database> {
    const database = await this.database()
    if (!database.failed || database.used) return database
    this.opened = undefined
    await database.close()
    return this.database()
  }

  /** @throws SessionNotFoundError */
  private row(database: Database, id: string): SessionRow {
    const row = database.statements.session.get(id)
    if (!row) throw new SessionNotFoundError(id)
    return row
  }

  /** A session's row, where nobody holds it. @throws SessionNotFoundError, SessionBusyError */
  private free(database: Database, id: string): SessionRow {
    const row = this.row(database, id)
    refuseIfHeld(row, database.file, this.given)
    return row
  }

  private leaseOf(database: Database, session: { readonly id: string; readonly key: number; readonly next: number; readonly holder: string }): SqliteLease {
    const { key, holder } = session
    const onRelease = async (): Promise<void> => {
      try {
        database.statements.letGo.run(key, holder)
      } catch {
        // A disk that is full must not keep the session from whoever comes next in this process.
        this.given.add(holder)
      }
      await database.leave(lease)
    }
    const lease = new SqliteLease({ ...session, database, onRelease })
    database.use(lease)
    return lease
  }

  private infoOf(database: Database, key: number, id: string): SessionInfo | undefined {
    const row = database.statements.byKey.get(key)
    if (!row) return undefined
    const info = { id, modified: row.modified, size: row.bytes }
    try {
      const first = readFirst(database, checkEnd(database, row))
      return first?.type === 'session/open' ? { ...info, open: first.data } : info
    } catch (error) {
      return { ...info, error: messageOf(error) }
    }
  }

  private async guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw this.failed(what, error)
    }
  }

  private failed(what: string, error: unknown): HeadraceError {
    if (error instanceof HeadraceError) return error
    if (!isSqlite(error, 'SQLITE_CORRUPT', 'SQLITE_NOTADB')) return new StoreError(`${what} (${messageOf(error)})`, { cause: error })
    return new StoreError(`${what}: the file is damaged (${messageOf(error)}); put a copy in its place, or save what can be read: sqlite3 ${this.file} .recover`, { code: 'STORE_DAMAGED', cause: error })
  }
}
