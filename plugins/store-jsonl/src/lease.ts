import { dirname } from 'node:path'
import { messageOf } from '@headrace/message'
import { type Batch, type CardState, type LeaseStart, SharedSync, type StoreError, StoreLease, keyedPrompts, untilDone, watchPath } from '@headrace/session'
import type { KeptCard } from './cards.ts'
import type { LogFile } from './file.ts'
import { type FileLayer, writeAll } from './files.ts'
import type { KeyWriter } from './keys.ts'
import { encodeLine, seedOf } from './line.ts'
import type { Lock } from './lease-lock.ts'
import type { MailFolder } from './mail.ts'

export interface JsonlLeaseStart extends LeaseStart {
  readonly path: string
  /** Bytes. */
  readonly size: number
  /** The seed of its checksums; undefined in an empty log. */
  readonly seed: string | undefined
  readonly files: FileLayer
  readonly lock: Lock
  readonly keys: KeyWriter
  readonly mailbox: MailFolder
  readonly mailDirectory: string
  readonly keepCard: (card: KeptCard) => Promise<void>
  readonly onRelease: () => void
}

/** How often the mail is polled where the file system sends no notice, in milliseconds. */
const MAIL = 1_000

/**
 * The right to write one file. A write or sync that fails and cannot be undone ends it: better read-only than wrong.
 */
export class JsonlLease extends StoreLease {
  private readonly start: JsonlLeaseStart
  private readonly file: LogFile
  private size: number
  private seed: string | undefined
  private readonly syncs = new SharedSync(() => this.syncNow())
  private isNamed = false

  constructor(start: JsonlLeaseStart, file: LogFile) {
    super(start)
    this.start = start
    this.file = file
    this.size = start.size
    this.seed = start.seed
  }

  protected write({ events, json }: Batch): void {
    const { files, keys, path } = this.start
    const seed = this.seed ?? seedOf(events[0]!)
    const line = encodeLine(seed, this.next, json)
    try {
      // Written before its event: a reader who finds a key checks the event too.
      keys.add(keyedPrompts(events, this.taken.contents))
      writeAll(files, this.file.fd, line)
    } catch (error) {
      throw this.takeBack(error, path)
    }
    this.seed = seed
    this.size += line.length
    this.syncs.wrote()
  }

  protected sync(): Promise<void> {
    return this.syncs.flush()
  }

  private async syncNow(): Promise<void> {
    const { files, keys, path, lock } = this.start
    try {
      await keys.sync()
      await files.sync(this.file.fd)
      // The file's name in the folder, synced once.
      if (!this.isNamed) await files.syncDirectory(dirname(path))
      this.isNamed = true
    } catch (error) {
      throw this.fail(`${path} cannot be synced (${messageOf(error)}); what was not acknowledged may be lost`, error)
    }
    if (!lock.held) throw this.lose(`its lease was lost to ${lock.holder}; resume it from there`)
    const problem = this.problem()
    if (problem !== undefined) throw this.lose(`its lease was lost: ${path} ${problem}; what was written since the last flush may be gone: look at it, then resume`)
  }

  /** What another program did to the file. */
  private problem(): string | undefined {
    const { path } = this.start
    try {
      const size = this.file.sizeAt(path)
      if (size === undefined) return 'was removed, or another file was put in its place'
      if (size < this.size) return `was cut off at ${size} bytes, of ${this.size}`
      return size > this.size ? `has ${size} bytes where ${this.size} were written: somebody else wrote to it` : undefined
    } catch (error) {
      return `cannot be looked at (${messageOf(error)})`
    }
  }

  protected async writeCard(state: CardState): Promise<void> {
    const { size, mtimeMs } = this.file.times
    await this.start.keepCard({ state, size: size === this.size ? size : -1, modified: mtimeMs })
  }

  protected async giveBack(): Promise<void> {
    const { keys, lock, mailbox, onRelease } = this.start
    await this.syncs.idle()
    keys.close()
    this.file.close()
    mailbox.tidy()
    try {
      lock.release()
    } catch {
      // A failing disk must not block the session for the next writer: in this process it is free at once, in others as
      // soon as the lock can be removed.
      lock.giveUp()
      untilDone(() => lock.release())
    }
    onRelease()
  }

  protected watchMail(onChange: () => void): () => void {
    this.start.mailbox.make()
    return watchPath(this.start.mailDirectory, onChange, { every: MAIL })
  }

  /** After a write that failed half-way, the file is as it was, or the lease ends. */
  private takeBack(error: unknown, path: string): StoreError {
    try {
      this.start.files.truncate(this.file.fd, this.size)
    } catch (second) {
      return this.fail(`${path} cannot be written (${messageOf(error)}), nor cut back to what it was (${messageOf(second)})`, error)
    }
    return this.refused(path, error)
  }
}
