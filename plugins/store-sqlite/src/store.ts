import { type Digest, sha256 } from '@headrace/message'
import {
  type Cursor, type FollowOptions, type Followed, type Holder, type Lease, type Letter, type LetterDraft,
  type ListFilter, type Posted, type SessionCard, type SessionEvent, SessionExistsError, SessionNotFoundError,
  type SessionStore, Signals, StoreError, checkLetter, checkSessionId, follow, mailOf, newHolder, watchPath,
} from '@headrace/session'
import { keepCard, keysOf, passes, readCard, stateOf } from './cards.ts'
import { Connection } from './connection.ts'
import type { Database } from './database.ts'
import { failureOf } from './failure.ts'
import { giveBack, refuseIfHeld } from './lease-holder.ts'
import { SqliteLease } from './lease.ts'
import { keepLetter, lettersOf, mailboxOf, ring } from './mail.ts'
import { checkEnd, readBatches, readBehind, readBetween } from './reader.ts'
import { type Salvaged, salvageEvents } from './salvage.ts'
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

/** How often a log of another writer is polled where the file system sends no notice, in milliseconds. */
const FOLLOWED = 500

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
  private readonly place: { readonly file: string; readonly busyTimeout: number }
  private readonly connection: Connection
  private readonly signals = new Signals()
  /** Those of this store that are open. */
  private readonly leases = new Map<string, SqliteLease>()

  constructor(options: SqliteStoreOptions) {
    this.location = `sqlite:${options.file}`
    this.file = options.file
    this.place = { file: options.file, busyTimeout: options.busyTimeout ?? BUSY_TIMEOUT }
    this.connection = new Connection({ ...options, ...this.place })
  }

  /** Opens the database; every other call does so by itself. @throws StoreError */
  async open(): Promise<void> {
    await this.guarded(`cannot open ${this.file}`, () => this.database())
  }

  /** Closes the database, once the last lease is given back; takes no more calls. */
  close(): Promise<void> {
    return this.connection.close()
  }

  async create(id: string): Promise<Lease> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot create it in ${this.file}`, async () => {
      const database = await this.connection.writable()
      const holder = newHolder()
      const key = database.write(() => {
        if (database.statements.session.get(id)) throw new SessionExistsError(id)
        return Number(database.statements.create.run(id, Date.now(), JSON.stringify(holder)).lastInsertRowid)
      })
      return this.leaseOf(database, { id, key, next: 0 }, holder)
    })
  }

  async lease(id: string): Promise<Lease> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot lease it in ${this.file}`, async () => {
      const database = await this.connection.writable()
      // Checked before waiting for the write lock: a stopped process may hold that as long as it is stopped.
      this.free(database, id)
      const holder = newHolder()
      const row = database.write(() => {
        const row = checkEnd(database, this.free(database, id))
        database.statements.hold.run(JSON.stringify(holder), row.key)
        return row
      })
      return this.leaseOf(database, row, holder)
    })
  }

  load(id: string): AsyncIterable<readonly SessionEvent[]> {
    return this.reading(id, () => readBatches(id, () => this.database()))
  }

  read(id: string, from: number, to: number): AsyncIterable<readonly SessionEvent[]> {
    return this.reading(id, () => readBetween(id, from, to, () => this.database()))
  }

  /** Every sound event of a damaged log, and what is lost, in its place. @throws SessionNotFoundError, StoreError */
  salvage(id: string): AsyncIterable<Salvaged> {
    return this.reading(id, () => salvageEvents(id, () => this.database()))
  }

  follow(id: string, options: FollowOptions = {}): AsyncIterable<Followed> {
    checkSessionId(id)
    const watch = (onChange: () => void): (() => void) => {
      const off = this.signals.on(id, onChange)
      // A writer in this process notifies by itself.
      const unwatch = watchPath(`${this.file}-wal`, () => { if (!this.held(id)) onChange() }, { every: FOLLOWED, keepAlive: true })
      return () => {
        off()
        unwatch()
      }
    }
    return follow({ look: (from) => this.look(id, from), watch }, options)
  }

  async post(id: string, draft: LetterDraft): Promise<Posted> {
    checkSessionId(id)
    const letter = checkLetter(id, draft)
    return this.guarded(`session ${id}: cannot post a letter to it in ${this.file}`, async () => {
      const database = await this.connection.writable()
      const posted = database.write(() => {
        const row = this.row(database, id)
        // Nothing was acknowledged yet.
        if (row.next === 0) throw new SessionNotFoundError(id)
        return keepLetter(database.statements, row, letter)
      })
      await database.flush()
      this.signals.emit(mailOf(id))
      ring(database.file)
      return posted
    })
  }

  async letters(id: string): Promise<readonly Letter[]> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot read its letters in ${this.file}`, async () => {
      const database = await this.database()
      return lettersOf(database, this.row(database, id).key).map(({ letter }) => letter)
    })
  }

  async card(id: string): Promise<SessionCard> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot read its card in ${this.file}`, async () => {
      const database = await this.database()
      const card = await readCard(database, this.row(database, id).key)
      if (!card) throw new SessionNotFoundError(id)
      return card
    })
  }

  async *list(filter: ListFilter = {}): AsyncIterable<SessionCard> {
    const what = `cannot list ${this.file}`
    for (const key of await this.guarded(what, async () => keysOf(await this.database(), filter))) {
      const card = await this.guarded(what, async () => readCard(await this.database(), key))
      if (card && passes(card, filter)) yield card
    }
  }

  async remove(id: string): Promise<void> {
    checkSessionId(id)
    await this.guarded(`session ${id}: cannot remove it from ${this.file}`, async () => {
      const database = await this.connection.writable()
      this.free(database, id)
      database.write(() => {
        const { key } = this.free(database, id)
        database.statements.removeEvents.run(key)
        database.statements.removeBlobs.run(key)
        database.statements.removeMail.run(key)
        database.statements.removePrompts.run(key)
        database.statements.removeCard.run(key)
        database.statements.remove.run(key)
      })
      await database.shrink()
      await database.flush()
      this.signals.emit(id)
    })
  }

  async putBlob(id: string, bytes: Uint8Array): Promise<Digest> {
    checkSessionId(id)
    return this.guarded(`session ${id}: cannot keep a blob in ${this.file}`, async () => {
      const database = await this.connection.writable()
      const digest = sha256(bytes)
      database.write(() => {
        const { key } = this.row(database, id)
        const present = database.statements.blob.get(key, digest)?.bytes
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
      const bytes = database.statements.blob.get(key, digest)?.bytes
      if (!bytes) return undefined
      if (sha256(bytes) !== digest) {
        const problem = `the blob ${digest} in ${this.file} is damaged: its bytes have another digest; put the same bytes again`
        throw new StoreError(`session ${id}: ${problem}`, { code: 'BLOB_DAMAGED' })
      }
      return new Uint8Array(bytes)
    })
  }

  private async *reading<T>(id: string, read: () => AsyncIterable<T>): AsyncIterable<T> {
    checkSessionId(id)
    try {
      yield* read()
    } catch (error) {
      throw failureOf(`session ${id}: cannot read it in ${this.file}`, error, this.place)
    }
  }

  private database(): Promise<Database> {
    return this.connection.database()
  }

  private held(id: string): SqliteLease | undefined {
    const lease = this.leases.get(id)
    return lease?.isOpen ? lease : undefined
  }

  /** What one poll gives a follower. */
  private async *look(id: string, from: Cursor | undefined): AsyncIterable<Followed> {
    const database = await this.database()
    const row = this.row(database, id)
    const lease = this.held(id)
    lease?.flushSoon()
    try {
      yield* readBehind(database, row, from, lease?.durable)
    } catch (error) {
      throw failureOf(`session ${id}: cannot follow it in ${this.file}`, error, this.place)
    }
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
    refuseIfHeld(row, database.file)
    return row
  }

  private async leaseOf(database: Database, session: Pick<SessionRow, 'id' | 'key' | 'next'>, holder: Holder): Promise<SqliteLease> {
    const { id, key, next } = session
    const json = JSON.stringify(holder)
    const row = database.statements.byKey.get(key)
    const lease = new SqliteLease({
      id,
      key,
      next,
      holder: json,
      database,
      card: (next > 0 && row ? await stateOf(database, row, false).catch(() => undefined) : undefined) ?? { asks: [], queued: 0 },
      mailbox: mailboxOf(database, key),
      read: (from, to) => this.read(id, from, to),
      signals: this.signals,
      keepCard: (state) => keepCard(database, key, state),
      onRelease: async () => {
        if (this.leases.get(id) === lease) this.leases.delete(id)
        await giveBack(database, key, holder, () => database.leave(lease))
      },
    })
    this.leases.set(id, lease)
    database.use(lease)
    this.signals.emit(id)
    return lease
  }

  private async guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw failureOf(what, error, this.place)
    }
  }
}
