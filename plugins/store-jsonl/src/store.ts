import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Digest, HeadraceError, messageOf } from '@headrace/message'
import { type Lease, SessionBusyError, type SessionEvent, SessionExistsError, type SessionInfo, SessionNotFoundError, type SessionStore, StoreError, checkSessionId, isSessionId } from '@headrace/session'
import { readBlob, writeBlob } from './blobs.ts'
import { type FileLayer, isCode, nodeFiles, withoutSync, writeAll } from './files.ts'
import { type End, JsonlLease } from './lease.ts'
import { Lock, LockedError } from './lock.ts'
import { LogReader, readEnd, readFirst } from './reader.ts'

/** Options of a `JsonlStore`. */
export interface JsonlStoreOptions {
  /** The folder of the logs; made with mode 0700 on first use. */
  readonly directory: string
  /** `barrier`: what `flush` acknowledges survives a power cut (L17). `never`: a kill only; outside L17. */
  readonly fsync: 'barrier' | 'never'
  /** This machine's, unless given. */
  readonly files?: FileLayer
}

/**
 * Sessions as JSON lines: `<id>.jsonl`, one append a line; `<id>.blobs/<sha256>`; `<id>.lock` while it is written.
 *
 * ```ts
 * const store = new JsonlStore({ directory: '/var/lib/app/sessions', fsync: 'barrier' })
 * const session = await Session.open(store, 'demo')
 * ```
 */
export class JsonlStore implements SessionStore {
  readonly location: string
  readonly directory: string
  private readonly files: FileLayer

  constructor({ directory, fsync, files = nodeFiles }: JsonlStoreOptions) {
    this.location = `jsonl:${directory}`
    this.directory = directory
    this.files = fsync === 'never' ? withoutSync(files) : files
  }

  async create(id: string): Promise<Lease> {
    checkSessionId(id)
    const path = this.pathOf(id)
    return guarded(id, `create ${path}`, async () => {
      await this.makeDirectory()
      if (existsSync(path)) throw new SessionExistsError(id)
      return this.locked(id, async (lock) => this.open(id, lock, 'ax', { size: 0, next: 0 }))
    })
  }

  async lease(id: string): Promise<Lease> {
    this.check(id)
    return guarded(id, `lease ${this.pathOf(id)}`, () => this.locked(id, async (lock) => this.open(id, lock, 'a', await this.repair(id))))
  }

  async *load(id: string): AsyncIterable<readonly SessionEvent[]> {
    checkSessionId(id)
    yield* new LogReader(id, this.pathOf(id)).batches()
  }

  async *list(): AsyncIterable<SessionInfo> {
    const found = await Promise.all((await this.ids()).map(async (id) => ({ id, stat: await stat(this.pathOf(id)).catch(() => undefined) })))
    const logs = found.flatMap(({ id, stat }) => (stat ? [{ id, modified: stat.mtimeMs, size: stat.size }] : []))
    for (const { id, modified, size } of logs.sort((a, b) => b.modified - a.modified)) {
      const info = { id, modified: Math.floor(modified), size }
      try {
        const first = await readFirst(id, this.pathOf(id))
        yield first?.type === 'session/open' ? { ...info, open: first.data } : info
      } catch (error) {
        if (!(error instanceof SessionNotFoundError)) yield { ...info, error: messageOf(error) }
      }
    }
  }

  async remove(id: string): Promise<void> {
    this.check(id)
    await guarded(id, `remove ${this.pathOf(id)}`, () => this.locked(id, async (lock) => {
      this.files.remove(this.pathOf(id))
      this.files.remove(this.blobsOf(id))
      await this.files.syncDirectory(this.directory)
      lock.release()
    }))
  }

  async putBlob(id: string, bytes: Uint8Array): Promise<Digest> {
    this.check(id)
    return guarded(id, `keep a blob in ${this.blobsOf(id)}`, () => writeBlob(this.files, this.blobsOf(id), bytes))
  }

  async getBlob(id: string, digest: Digest): Promise<Uint8Array | undefined> {
    this.check(id)
    return guarded(id, `read a blob in ${this.blobsOf(id)}`, () => readBlob(id, this.blobsOf(id), digest))
  }

  /** Cuts a torn tail off, or ends a whole record whose `\n` is missing, durably. */
  private async repair(id: string): Promise<End> {
    const { size, next, tail } = await readEnd(id, this.pathOf(id))
    const { whole, torn } = tail
    if (whole + torn === 0) return { size, next }
    const offset = size - torn
    this.files.truncate(this.pathOf(id), offset)
    const fd = this.files.open(this.pathOf(id), 'a')
    try {
      if (whole > 0) writeAll(this.files, fd, Buffer.from('\n'))
      await this.files.sync(fd)
    } finally {
      this.files.close(fd)
    }
    return { size: offset + (whole > 0 ? 1 : 0), next, repaired: { offset, bytes: torn } }
  }

  private open(id: string, lock: Lock, flags: 'a' | 'ax', end: End): JsonlLease {
    const path = this.pathOf(id)
    try {
      return new JsonlLease({ id, path, files: this.files, lock }, this.files.open(path, flags), end)
    } catch (error) {
      throw isCode(error, 'EEXIST') ? new SessionExistsError(id) : error
    }
  }

  /** Does something under the lock, which stays where that succeeds. */
  private async locked<T>(id: string, work: (lock: Lock) => Promise<T>): Promise<T> {
    const lock = takeLock(id, join(this.directory, `${id}.lock`))
    try {
      return await work(lock)
    } catch (error) {
      lock.release()
      throw error
    }
  }

  private async makeDirectory(): Promise<void> {
    const top = this.files.makeDirectory(this.directory)
    if (top === undefined) return
    for (let made = this.directory; made.length >= top.length; made = dirname(made)) await this.files.syncDirectory(dirname(made))
  }

  private async ids(): Promise<readonly string[]> {
    try {
      return (await readdir(this.directory)).filter((name) => name.endsWith('.jsonl')).map((name) => name.slice(0, -'.jsonl'.length)).filter(isSessionId)
    } catch (error) {
      if (isCode(error, 'ENOENT')) return []
      throw new StoreError(`cannot list ${this.directory} (${messageOf(error)})`, { cause: error })
    }
  }

  /** @throws StoreError for a hostile id, SessionNotFoundError */
  private check(id: string): void {
    checkSessionId(id)
    if (!existsSync(this.pathOf(id))) throw new SessionNotFoundError(id)
  }

  private pathOf(id: string): string {
    return join(this.directory, `${id}.jsonl`)
  }

  private blobsOf(id: string): string {
    return join(this.directory, `${id}.blobs`)
  }
}

function takeLock(id: string, path: string): Lock {
  try {
    return Lock.take(path)
  } catch (error) {
    throw error instanceof LockedError ? new SessionBusyError(id, error.holder) : error
  }
}

async function guarded<T>(id: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof HeadraceError ? error : new StoreError(`session ${id}: cannot ${what} (${messageOf(error)})`, { cause: error })
  }
}
