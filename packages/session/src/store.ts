import { type Digest, HeadraceError } from '@headrace/message'
import type { EventMap, SessionEvent } from './event.ts'

/** Where logs are kept. Reading needs no lease; writing does (L18). Run the store conformance suite of `@headrace/testing` against yours. */
export interface SessionStore {
  /** Where it is, as a person would name it: `jsonl:/srv/logs`, `sqlite:/srv/all.db`; `memory` where logs go with the process. */
  readonly location?: string
  /** Makes an empty log and leases it. @throws SessionExistsError, StoreError */
  create(id: string): Promise<Lease>
  /** Leases a log for writing; a torn tail is cut off and reported. @throws SessionNotFoundError, SessionBusyError, StoreError */
  lease(id: string): Promise<Lease>
  /**
   * The events in order, each through `checkEvent`, in batches of any size, read in bounded memory; a torn tail is left out.
   *
   * @throws SessionNotFoundError, StoreError, LogError
   */
  load(id: string): AsyncIterable<readonly SessionEvent[]>
  /** Newest change first. A log that cannot be read stands in the list with its `error`. */
  list(): AsyncIterable<SessionInfo>
  /** Removes a log and its blobs. @throws SessionBusyError, SessionNotFoundError */
  remove(id: string): Promise<void>
  /** Keeps bytes beside a log; durable when it resolves, so before the event that names them. */
  putBlob(id: string, bytes: Uint8Array): Promise<Digest>
  /** The bytes of a blob, `undefined` where there is none. */
  getBlob(id: string, digest: Digest): Promise<Uint8Array | undefined>
}

/** The right to write one log. */
export interface Lease {
  readonly id: string
  /** Aborted when the lease is lost to somebody else. */
  readonly lost: AbortSignal
  /** What opening had to cut off: bytes of a torn tail, from this offset on. */
  readonly repaired?: { readonly offset: number; readonly bytes: number }
  /** Accepts a batch, all or nothing, in order. Survives a kill of the process where the store can. @throws StoreError and keeps nothing of it */
  append(batch: Batch): void
  /** Resolves when all that was accepted is durable. Many callers share one sync. @throws StoreError: the log may be shorter than was accepted */
  flush(): Promise<void>
  /** Flushes and gives the lease back. */
  release(): Promise<void>
}

/** What a store tells of a session without reading its log. */
export interface SessionInfo {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly modified: number
  /** Bytes. */
  readonly size: number
  /** The data of its `session/open`, where it has one yet. */
  readonly open?: EventMap['session/open']
  readonly error?: string
}

/** A store that could not do what it was asked to: the message names the session, the place and the cause. */
export class StoreError extends HeadraceError {
  constructor(message: string, options?: ErrorOptions & { code?: string }) {
    super(options?.code ?? 'STORE_FAILED', message, options)
  }
}

/** Events that are appended together, and their JSON, which is made once. */
export class Batch {
  readonly events: readonly SessionEvent[]
  private text: readonly string[] | undefined

  constructor(events: readonly SessionEvent[]) {
    this.events = events
  }

  /** One JSON text an event, without line ends. */
  get json(): readonly string[] {
    return (this.text ??= this.events.map((event) => JSON.stringify(event)))
  }
}

/** Ids that are safe as a file name everywhere: 1 to 128 of letters, digits, `-`, `_`, `.`, not starting with a dot, no device name. */
export function isSessionId(id: unknown): id is string {
  return typeof id === 'string' && /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(id) && !/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(id) && !id.endsWith('.')
}

/** @throws StoreError for an id that {@link isSessionId} refuses */
export function checkSessionId(id: unknown): asserts id is string {
  if (!isSessionId(id)) throw new StoreError(`${JSON.stringify(id)?.slice(0, 80)} cannot be a session id: use 1 to 128 letters, digits, "-", "_" or "."`, { code: 'SESSION_ID_INVALID' })
}
