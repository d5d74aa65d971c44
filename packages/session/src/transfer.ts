import { type Digest, copyJson, sha256 } from '@headrace/message'
import { blobsOf } from './blobs.ts'
import { checkEvent } from './check.ts'
import { LogError } from './error.ts'
import type { SessionEvent } from './event.ts'
import { Batch, type Lease, type SessionStore, checkSessionId } from './store.ts'
import { type Verification, Verifier } from './verify.ts'

/** The bytes of a blob. */
export interface LogBlob {
  readonly blob: Digest
  readonly bytes: Uint8Array
}

/** A log outside a store: its events in order, each blob before the first event that names it. */
export type LogItem = SessionEvent | LogBlob

/** Options of `exportLog()`. */
export interface ExportOptions {
  /** Called for a blob that the store does not have. */
  readonly onMissing?: (digest: Digest, seq: number) => void
}

/** A log and its blobs, out of any store, in bounded memory. @throws SessionNotFoundError, StoreError, LogError */
export async function* exportLog(store: Pick<SessionStore, 'load' | 'getBlob'>, id: string, { onMissing }: ExportOptions = {}): AsyncIterable<LogItem> {
  const given = new Set<Digest>()
  for await (const batch of store.load(id)) {
    for (const event of batch) {
      for (const blob of blobsOf(event)) {
        if (given.has(blob)) continue
        given.add(blob)
        const bytes = await store.getBlob(id, blob)
        if (bytes) yield { blob, bytes }
        else onMissing?.(blob, event.seq)
      }
      yield event
    }
  }
}

/** Options of `importLog()`. */
export interface ImportOptions {
  /** Default: the id that the log has. */
  readonly id?: string
  /** `required` (the default) refuses an event that names a blob which did not come in front of it. */
  readonly blobs?: 'required' | 'optional'
  /** Aborted, nothing of it is kept. */
  readonly signal?: AbortSignal
}

/** The result of an import: the session's id, and its verification. */
export type Imported = Verification & { readonly id: string }

/** Events stored in one append. */
const CHUNK = 500

/**
 * Takes a log into a store, all or nothing: every event is checked, every request rebuilt and compared. A kill of the process half-way
 * leaves what came until then.
 *
 * @throws LogError, JsonError, SessionExistsError, StoreError, what the items throw; nothing is kept then
 */
export async function importLog(store: SessionStore, items: AsyncIterable<LogItem>, options: ImportOptions = {}): Promise<Imported> {
  const intake = new Intake(store, options)
  try {
    for await (const item of items) {
      options.signal?.throwIfAborted()
      if (isBlob(item)) await intake.blob(item)
      else await intake.event(item)
    }
    options.signal?.throwIfAborted()
    return await intake.end()
  } catch (error) {
    await intake.undo()
    throw error
  }
}

/** One log on its way into a store. */
class Intake {
  private readonly store: SessionStore
  private readonly options: ImportOptions
  private readonly verifier = new Verifier()
  private lease: Lease | undefined
  private readonly blobs = new Set<Digest>()
  /** Blobs that came before the store could take them. */
  private readonly early: Uint8Array[] = []
  private waiting: SessionEvent[] = []

  constructor(store: SessionStore, options: ImportOptions) {
    this.store = store
    this.options = options
  }

  async blob({ blob, bytes }: LogBlob): Promise<void> {
    if (sha256(bytes) !== blob) throw new LogError(`${bytes.length} bytes are not the blob ${blob}: they have another digest`)
    this.blobs.add(blob)
    if (this.lease) await this.store.putBlob(this.lease.id, bytes)
    else this.early.push(bytes)
  }

  async event(value: unknown): Promise<void> {
    let event = copyJson(checkEvent(value), 'event')
    if (!this.lease) event = await this.open(event)
    this.verifier.feed(event)
    for (const digest of blobsOf(event)) {
      if (this.options.blobs === 'optional' || this.blobs.has(digest)) continue
      throw new LogError(`it names the blob ${digest}, which did not come with the log; export it with its blobs, or import it without`, event.seq, 'BLOB_MISSING')
    }
    this.waiting.push(event)
    if (this.waiting.length === CHUNK) this.keep()
  }

  async end(): Promise<Imported> {
    const { lease } = this
    if (!lease) throw new LogError('there is no event to import', undefined, 'LOG_EMPTY')
    this.keep()
    await lease.flush()
    await lease.release()
    return { id: lease.id, ...this.verifier.result() }
  }

  /** Removes what was stored. */
  async undo(): Promise<void> {
    if (!this.lease) return
    await this.lease.release().catch(() => undefined)
    await this.store.remove(this.lease.id).catch(() => undefined)
  }

  private async open(event: SessionEvent): Promise<SessionEvent> {
    if (event.type !== 'session/open') throw new LogError('a log begins with session/open', event.seq)
    const { id = event.data.id } = this.options
    checkSessionId(id)
    this.lease = await this.store.create(id)
    for (const bytes of this.early.splice(0)) await this.store.putBlob(id, bytes)
    return id === event.data.id ? event : { ...event, data: { ...event.data, id } }
  }

  private keep(): void {
    if (this.waiting.length > 0) this.lease!.append(new Batch(this.waiting))
    this.waiting = []
  }
}

function isBlob(item: LogItem): item is LogBlob {
  return typeof item === 'object' && item !== null && 'blob' in item
}
