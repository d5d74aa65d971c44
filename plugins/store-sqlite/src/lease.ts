import { closeSync, openSync } from 'node:fs'
import { messageOf } from '@headrace/message'
import { type Batch, type CardState, type KeptKey, KEYS_KEPT, type LeaseStart, StoreError, StoreLease, keyedPrompts, seededSum, watchPath } from '@headrace/session'
import type { Database } from './database.ts'
import { isSqlite } from './driver.ts'
import { holderOf } from './lease-holder.ts'
import type { Statements } from './statements.ts'

/** What a lease is for. */
export interface SqliteLeaseStart extends LeaseStart {
  readonly key: number
  /** The value in the session's row while this lease holds it. */
  readonly holder: string
  readonly database: Database
  readonly keepCard: (state: CardState) => void
  /** Called when the lease is given back. */
  readonly onRelease: () => Promise<void>
}

/** How often the mail is polled where the file system sends no notice, in milliseconds. */
const MAIL = 1_000

/**
 * The right to write one session. Each append checks in its own transaction that the lease is still held: a lost one
 * writes nothing.
 */
export class SqliteLease extends StoreLease {
  private readonly start: SqliteLeaseStart

  constructor(start: SqliteLeaseStart) {
    super(start)
    this.start = start
  }

  protected write({ events, json }: Batch): void {
    const keys = keyedPrompts(events, this.taken.contents)
    try {
      this.start.database.write(() => this.insert(json, keys))
    } catch (error) {
      throw this.refusedBy(error)
    }
  }

  protected async sync(): Promise<void> {
    const { database } = this.start
    try {
      await database.flush()
      this.look()
    } catch (error) {
      throw this.endBy(error)
    }
    const problem = database.problem((statements) => this.isWhole(statements))
    if (problem !== undefined) throw this.lose(`its lease was lost: ${database.file} ${problem}; what was written since the last flush may be gone: look at it, then resume`)
  }

  protected async writeCard(state: CardState): Promise<void> {
    this.start.keepCard(state)
  }

  protected giveBack(): Promise<void> {
    return this.start.onRelease()
  }

  protected watchMail(onChange: () => void): () => void {
    const bell = bellOf(this.start.database.file)
    closeSync(openSync(bell, 'a', 0o600))
    return watchPath(bell, onChange, { every: MAIL })
  }

  private insert(json: readonly string[], keys: readonly KeptKey[]): void {
    const { database, key, holder } = this.start
    const { advance, insert, putPrompt, forgetPrompts } = database.statements
    const bytes = json.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    if (Number(advance.run(json.length, bytes, Date.now(), key, this.next, holder).changes) !== 1) {
      this.look()
      throw new StoreError(`session ${this.id}: somebody else changed what comes next`, { code: 'LOG_SEQ' })
    }
    json.forEach((text, index) => insert.run(key, this.next + index, text, seededSum(this.id, this.next + index, text)))
    for (const { key: prompt, seq, content, letter } of keys) putPrompt.run(key, prompt, seq, content, letter ?? null)
    if (keys.length > 0) forgetPrompts.run(key, key, 2 * KEYS_KEPT)
  }

  /** @throws StoreError where this lease does not hold the session any more */
  private look(): void {
    const { database, key, holder } = this.start
    const row = database.statements.byKey.get(key)
    if (row?.holder === holder) return
    const now = row ? holderOf(row, database.file) : 'nobody: the session was removed'
    throw new StoreError(`session ${this.id}: its lease was lost to ${now}; resume it from there`, { code: 'LEASE_LOST' })
  }

  /** Whether another connection finds all that was written. */
  private isWhole(statements: Statements): boolean {
    const { key, holder } = this.start
    const row = statements.byKey.get(key)
    return row?.holder === holder && row.next === this.next && (this.next === 0 || statements.last.get(key)?.seq === this.next - 1)
  }

  /**
   * After a full disk or a busy database the next append may succeed; after any other error the lease accepts nothing
   * more.
   */
  private refusedBy(error: unknown): StoreError {
    if (error instanceof StoreError || !isSqlite(error, 'SQLITE_FULL', 'SQLITE_BUSY', 'SQLITE_TOOBIG', 'SQLITE_NOMEM')) return this.endBy(error)
    return this.refused(this.start.database.file, error)
  }

  private endBy(error: unknown): StoreError {
    if (this.failure) return this.failure
    if (!(error instanceof StoreError)) return this.fail(`${this.start.database.file} cannot be written (${messageOf(error)})`, error)
    if (error.code === 'STORE_FAILED') return this.fail(messageOf(error), error)
    if (error.code === 'LEASE_LOST') return this.lose(error.message.replace(`session ${this.id}: `, ''))
    return (this.failure = error)
  }
}

/** A file that is touched when a letter is posted, watched by processes that wait for one. */
export function bellOf(file: string): string {
  return `${file}-mail`
}
