import { type Digest, sha256 } from '@headrace/message'
import { checkEvent } from './check.ts'
import { SessionBusyError, SessionExistsError, SessionNotFoundError } from './error.ts'
import type { SessionEvent } from './event.ts'
import { type Batch, type Lease, type SessionInfo, type SessionStore, StoreError, checkSessionId } from './store.ts'

interface MemoryLog {
  readonly lines: string[]
  readonly blobs: Map<Digest, Uint8Array>
  modified: number
  size: number
  leased: boolean
}

/** Keeps logs in this process, as JSON text: what comes back went through the same serialisation as on a disk. */
export class MemoryStore implements SessionStore {
  readonly location = 'memory'
  private readonly logs = new Map<string, MemoryLog>()

  async create(id: string): Promise<Lease> {
    checkSessionId(id)
    if (this.logs.has(id)) throw new SessionExistsError(id)
    this.logs.set(id, { lines: [], blobs: new Map(), modified: Date.now(), size: 0, leased: false })
    return this.lease(id)
  }

  async lease(id: string): Promise<Lease> {
    const log = this.log(id)
    if (log.leased) throw new SessionBusyError(id, `this process (pid ${process.pid})`)
    log.leased = true
    let released = false
    return {
      id,
      lost: new AbortController().signal,
      append: (batch: Batch) => {
        if (released) throw new StoreError(`session ${id}: the lease was given back`)
        for (const line of batch.json) {
          log.lines.push(line)
          log.size += Buffer.byteLength(line) + 1
        }
        log.modified = Date.now()
      },
      flush: async () => undefined,
      release: async () => {
        if (!released) log.leased = false
        released = true
      },
    }
  }

  async *load(id: string): AsyncIterable<readonly SessionEvent[]> {
    const { lines } = this.log(id)
    yield lines.map((line) => checkEvent(JSON.parse(line)))
  }

  async *list(): AsyncIterable<SessionInfo> {
    const newestFirst = [...this.logs].sort(([, a], [, b]) => b.modified - a.modified)
    for (const [id, { lines, modified, size }] of newestFirst) {
      const open = lines[0] === undefined ? undefined : (JSON.parse(lines[0]) as SessionEvent<'session/open'>).data
      yield { id, modified, size, ...(open && { open }) }
    }
  }

  async remove(id: string): Promise<void> {
    if (this.log(id).leased) throw new SessionBusyError(id, `this process (pid ${process.pid})`)
    this.logs.delete(id)
  }

  async putBlob(id: string, bytes: Uint8Array): Promise<Digest> {
    const digest = sha256(bytes)
    this.log(id).blobs.set(digest, bytes.slice())
    return digest
  }

  async getBlob(id: string, digest: Digest): Promise<Uint8Array | undefined> {
    return this.log(id).blobs.get(digest)?.slice()
  }

  private log(id: string): MemoryLog {
    checkSessionId(id)
    const log = this.logs.get(id)
    if (!log) throw new SessionNotFoundError(id)
    return log
  }
}
