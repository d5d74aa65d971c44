import { dirname } from 'node:path'
import { messageOf } from '@headrace/message'
import { type Batch, type Lease, SharedSync, StoreError } from '@headrace/session'
import { type FileLayer, writeAll } from './files.ts'
import { encodeLine } from './line.ts'
import type { Lock } from './lock.ts'

/** Where a log ends when it is leased. */
export interface End {
  readonly size: number
  /** The seq that comes next. */
  readonly next: number
  readonly repaired?: { readonly offset: number; readonly bytes: number }
}

export interface LeaseOptions {
  readonly id: string
  readonly path: string
  readonly files: FileLayer
  readonly lock: Lock
}

/** The right to write one file. A write or sync that fails and cannot be taken back ends it: read-only rather than wrong. */
export class JsonlLease implements Lease {
  readonly id: string
  readonly lost: AbortSignal
  readonly repaired?: { readonly offset: number; readonly bytes: number }
  private readonly options: LeaseOptions
  private readonly fd: number
  private readonly losing = new AbortController()
  private size: number
  private next: number
  private readonly syncs = new SharedSync(() => this.sync())
  private isNamed = false
  private failure: StoreError | undefined
  private released: Promise<void> | undefined

  constructor(options: LeaseOptions, fd: number, end: End) {
    this.id = options.id
    this.lost = this.losing.signal
    this.options = options
    this.fd = fd
    this.size = end.size
    this.next = end.next
    if (end.repaired) this.repaired = end.repaired
  }

  append(batch: Batch): void {
    if (this.failure) throw this.failure
    if (this.released) throw new StoreError(`session ${this.id}: its lease was given back`, { code: 'LEASE_RELEASED' })
    batch.events.forEach(({ seq }, index) => {
      if (seq !== this.next + index) throw new StoreError(`session ${this.id}: seq ${seq} cannot be appended where ${this.next + index} comes next`, { code: 'LOG_SEQ' })
    })
    if (batch.events.length === 0) return
    const line = encodeLine(batch.json)
    try {
      writeAll(this.options.files, this.fd, line)
    } catch (error) {
      throw this.takeBack(error)
    }
    this.size += line.length
    this.syncs.wrote()
    this.next += batch.events.length
  }

  async flush(): Promise<void> {
    if (this.failure) throw this.failure
    await this.syncs.flush()
  }

  release(): Promise<void> {
    return (this.released ??= this.end())
  }

  private async end(): Promise<void> {
    try {
      await this.flush()
    } finally {
      await this.syncs.idle()
      this.options.files.close(this.fd)
      this.options.lock.release()
    }
  }

  private async sync(): Promise<void> {
    const { files, path, lock } = this.options
    try {
      await files.sync(this.fd)
      // Its name in the folder, once.
      if (!this.isNamed) await files.syncDirectory(dirname(path))
      this.isNamed = true
    } catch (error) {
      throw this.fail(`cannot be synced (${messageOf(error)}); what was not acknowledged may be lost`, error)
    }
    if (lock.held) return
    const { holder } = lock
    this.failure ??= new StoreError(`session ${this.id}: its lease was lost to ${holder}; resume it from there`, { code: 'LEASE_LOST' })
    this.losing.abort(this.failure)
    throw this.failure
  }

  /** After a write that failed half-way, the file is as it was, or the lease ends. */
  private takeBack(error: unknown): StoreError {
    const { files, path } = this.options
    try {
      files.truncate(path, this.size)
    } catch (second) {
      return this.fail(`cannot be written (${messageOf(error)}), nor cut back to what it was (${messageOf(second)})`, error)
    }
    return new StoreError(`session ${this.id}: ${path} cannot be written (${messageOf(error)}); nothing of this append was kept`, { code: 'STORE_WRITE', cause: error })
  }

  private fail(problem: string, cause: unknown): StoreError {
    return (this.failure ??= new StoreError(`session ${this.id}: ${this.options.path} ${problem}; it takes no more events: see to the disk, then resume`, { cause }))
  }
}
