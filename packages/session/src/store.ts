import type { Digest } from '@headrace/message'
import type { SessionEvent } from './event.ts'
import type { SessionCard } from './store/card.ts'
import { StoreError } from './store/error.ts'
import type { FollowOptions, Followed } from './store/follow.ts'
import type { Letter, LetterDraft, Posted } from './store/letter.ts'

export { StoreError }

/**
 * Where logs are kept. Reading needs no lease; writing does (L18). Run the store conformance suite of
 * `@headrace/testing` against yours.
 */
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
  /**
   * The events from a seq to before another, as `load` gives them, without what stands before: its cost is that of what is asked for.
   * What the log does not have is left out.
   *
   * @throws SessionNotFoundError, StoreError, LogError
   */
  read(id: string, from: number, to: number): AsyncIterable<readonly SessionEvent[]>
  /**
   * Events as they become durable, from any process, each append whole or its rest at once: what may never have happened is not given. In
   * the writer's process it asks for a flush where none comes within 50 ms; in another it syncs what it has read before it gives it.
   * Ends with the signal.
   *
   * @throws SessionNotFoundError, also once the session is removed; StoreError, LogError
   */
  follow(id: string, options?: FollowOptions): AsyncIterable<Followed>
  /**
   * Posts a letter to a session, from any process, whoever holds it. Durable when it resolves. The same key counts for at least the newest
   * 1,000 prompts: with the same content nothing is posted again.
   *
   * @throws SessionNotFoundError, KeyTakenError where the key is another content's, StoreError
   */
  post(id: string, letter: LetterDraft): Promise<Posted>
  /** The letters that wait, oldest first, and perhaps some that an event names since: a look from outside. Who holds the lease asks it. */
  letters(id: string): Promise<readonly Letter[]>
  /** A session at a glance, and who holds it. @throws SessionNotFoundError, StoreError */
  card(id: string): Promise<SessionCard>
  /** Cards, newest change first, without a look into the logs. A log that cannot be read stands among them with its `error`. */
  list(filter?: ListFilter): AsyncIterable<SessionCard>
  /** Removes a log, its blobs and its letters. @throws SessionBusyError, SessionNotFoundError */
  remove(id: string): Promise<void>
  /** Keeps bytes beside a log; durable when it resolves, so before the event that names them. */
  putBlob(id: string, bytes: Uint8Array): Promise<Digest>
  /** The bytes of a blob, `undefined` where there is none. */
  getBlob(id: string, digest: Digest): Promise<Uint8Array | undefined>
}

/** The right to write one log. */
export interface Lease {
  readonly id: string
  /** Aborted when the lease is lost: to somebody else, or with its log, which was removed, replaced or shortened. */
  readonly lost: AbortSignal
  /** What opening had to cut off: bytes of a torn tail, from this offset on. */
  readonly repaired?: { readonly offset: number; readonly bytes: number }
  /**
   * Accepts a batch, all or nothing, in order. Survives a kill of the process where the store can. @throws StoreError
   * and keeps nothing of it
   */
  append(batch: Batch): void
  /**
   * Resolves when all that was accepted is durable. Many callers share one sync. @throws StoreError: the log may be
   * shorter than was accepted
   */
  flush(): Promise<void>
  /**
   * The letters that wait, oldest first. An event that names one (`letter: id` in its data) takes it: it is not among them any more, and
   * is taken away once the event is durable; what an earlier life took and left there is taken away first. A second
   * event that names it is refused.
   */
  letters(): Promise<readonly Letter[]>
  /**
   * Calls back when a letter may have come, from any process: now and then too often, never too seldom. Ask for `letters()` once after
   * this. Returns the call that ends it.
   */
  onLetter(listener: () => void): () => void
  /** Flushes and gives the lease back. Where it cannot be given back now, that is tried again later. */
  release(): Promise<void>
}

/** Which sessions are listed; without a filter all. */
export interface ListFilter {
  /** Those of this folder. */
  readonly cwd?: string
  /** Those that stand under this session. */
  readonly under?: string
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
