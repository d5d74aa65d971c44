import { messageOf } from '@headrace/message'
import { type Batch, type Lease, StoreError } from '@headrace/session'
import type { Database } from './database.ts'
import { isSqlite } from './driver.ts'
import { sumOf } from './row.ts'
import { holderOf } from './hold.ts'

/** What a lease is of. */
export interface LeaseOptions {
  readonly id: string
  readonly key: number
  /** The seq that comes next. */
  readonly next: number
  /** What stands in the session's row while this lease holds it. */
  readonly holder: string
  readonly database: Database
  /** Told when the lease is given back. */
  readonly onRelease: () => Promise<void>
}

/** The right to write one session. Each append looks in its own transaction whether it still is: one that was lost writes nothing. */
export class SqliteLease implements Lease {
  readonly id: string
  readonly lost: AbortSignal
  private readonly options: LeaseOptions
  private readonly losing = new AbortController()
  private next: number
  private failure: StoreError | undefined
  private released: Promise<void> | undefined

  constructor(options: LeaseOptions) {
    this.id = options.id
    this.lost = this.losing.signal
    this.options = options
    this.next = options.next
  }

  append(batch: Batch): void {
    if (this.failure) throw this.failure
    if (this.released) throw new StoreError(`session ${this.id}: its lease was given back`, { code: 'LEASE_RELEASED' })
    batch.events.forEach(({ seq }, index) => {
      if (seq !== this.next + index) throw new StoreError(`session ${this.id}: seq ${seq} cannot be appended where ${this.next + index} comes next`, { code: 'LOG_SEQ' })
    })
    if (batch.events.length === 0) return
    const { json } = batch
    try {
      this.options.database.write(() => this.insert(json))
    } catch (error) {
      throw this.refused(error)
    }
    this.next += json.length
  }

  async flush(): Promise<void> {
    if (this.failure) throw this.failure
    try {
      await this.options.database.flush()
      this.look()
    } catch (error) {
      throw this.fail(error)
    }
  }

  release(): Promise<void> {
    return (this.released ??= this.end())
  }

  private async end(): Promise<void> {
    try {
      await this.flush()
    } finally {
      await this.options.onRelease()
    }
  }

  private insert(json: readonly string[]): void {
    const { database, key, holder } = this.options
    const { advance, insert } = database.statements
    const bytes = json.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    if (advance.run(json.length, bytes, Date.now(), key, this.next, holder).changes !== 1) {
      this.look()
      throw new StoreError(`session ${this.id}: somebody else changed what comes next`, { code: 'LOG_SEQ' })
    }
    json.forEach((text, index) => insert.run(key, this.next + index, text, sumOf(this.id, this.next + index, text)))
  }

  /** @throws StoreError where the session is not this lease's any more */
  private look(): void {
    const { database, key, holder } = this.options
    const row = database.statements.byKey.get(key)
    if (row?.holder === holder) return
    const now = row ? holderOf(row, database.file) : 'nobody: the session was removed'
    throw new StoreError(`session ${this.id}: its lease was lost to ${now}; resume it from there`, { code: 'LEASE_LOST' })
  }

  /** A full disk or a busy database refuses an append, and the next may do; after anything else the lease takes nothing more. */
  private refused(error: unknown): StoreError {
    if (error instanceof StoreError || !isSqlite(error, 'SQLITE_FULL', 'SQLITE_BUSY', 'SQLITE_TOOBIG', 'SQLITE_NOMEM')) return this.fail(error)
    return new StoreError(`session ${this.id}: ${this.options.database.file} cannot be written (${messageOf(error)}); nothing of this append was kept`, { code: 'STORE_WRITE', cause: error })
  }

  private fail(error: unknown): StoreError {
    if (this.failure) return this.failure
    const { file } = this.options.database
    if (error instanceof StoreError && error.code !== 'STORE_FAILED') this.failure = error
    else {
      const problem = error instanceof StoreError ? messageOf(error) : `${file} cannot be written (${messageOf(error)})`
      this.failure = new StoreError(`session ${this.id}: ${problem}; it takes no more events: see to the disk, then resume`, { cause: error })
    }
    if (this.failure.code === 'LEASE_LOST') this.losing.abort(this.failure)
    return this.failure
  }
}
