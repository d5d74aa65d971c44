import { type Chunk, type Message, adoptJson, copyJson, messageOf } from '@headrace/message'
import { checkEvent } from './check.ts'
import { LogError, SessionClosedError } from './error.ts'
import { type EventDraft, type EventMap, type EventType, LOG_VERSION, type SessionEvent } from './event.ts'
import { Fold } from './fold.ts'
import type { EpochHeader } from './header.ts'
import { Live } from './live.ts'
import { repairs } from './repair.ts'
import { Batch, type Lease, type SessionStore, checkSessionId } from './store.ts'
import { Witness } from './verify.ts'

export interface SessionOptions {
  /** Checks each request against a second fold of the serialised events before it leaves. */
  readonly strict?: boolean
  /** Milliseconds since the epoch; for tests. */
  readonly now?: () => number
}

/** What `session.live` tells. Chunks are not in the log; everything else is told after it was appended. */
export interface LiveEvents {
  event: SessionEvent
  chunk: Chunk
}

/**
 * An append-only log of events, open for writing, and what is derived from it. One writer at a time holds it (L18).
 *
 * ```ts
 * const session = await Session.create(store, { id: 'demo' })
 * session.append({ type: 'prompt/queued', data: { input, owner: 'user' } })
 * await session.flush()
 * ```
 */
export class Session {
  readonly id: string
  readonly live = new Live<LiveEvents>()
  private readonly lease: Lease
  private readonly now: () => number
  private readonly log: SessionEvent[] = []
  private fold = new Fold()
  private readonly witness: Witness | undefined
  private closed: string | undefined

  private constructor(lease: Lease, options: SessionOptions) {
    this.id = lease.id
    this.lease = lease
    this.now = options.now ?? Date.now
    this.witness = options.strict ? new Witness(lease.id) : undefined
    lease.lost.addEventListener('abort', () => (this.closed ??= 'another process took its lease'), { once: true })
  }

  /** Begins a log. @throws SessionExistsError, StoreError, LogError for a seed with incomplete tool pairs */
  static async create(store: SessionStore, open: { readonly id: string } & Omit<EventMap['session/open'], 'id' | 'version'>, options: SessionOptions = {}): Promise<Session> {
    checkSessionId(open.id)
    const session = new Session(await store.create(open.id), options)
    try {
      session.append({ type: 'session/open', data: { version: LOG_VERSION, ...open } })
      await session.flush()
      return session
    } catch (error) {
      await session.close().catch(() => undefined)
      throw error
    }
  }

  /** Opens a log for writing, as it is; see {@link repair}. @throws SessionNotFoundError, SessionBusyError, LogError, StoreError */
  static async open(store: SessionStore, id: string, options: SessionOptions = {}): Promise<Session> {
    checkSessionId(id)
    const session = new Session(await store.lease(id), options)
    try {
      for await (const batch of store.load(id)) for (const event of batch) session.take(event)
      if (session.log.length === 0) throw new LogError(`session ${id} has an empty log: nothing was acknowledged; begin it anew`, undefined, 'LOG_EMPTY')
      if (session.witness) for (const event of session.log) session.witness.feed(JSON.stringify(event))
      return session
    } catch (error) {
      await session.close().catch(() => undefined)
      throw error
    }
  }

  /** What opening the store had to cut off. */
  get repaired(): Lease['repaired'] {
    return this.lease.repaired
  }

  /** How many events the log has; the seq of the next. */
  get length(): number {
    return this.log.length
  }

  /** An event by its seq, frozen. */
  at(seq: number): SessionEvent | undefined {
    return adoptJson(this.log[seq])
  }

  /** The events from a seq on, frozen. */
  *events(from = 0): IterableIterator<SessionEvent> {
    for (let seq = from; seq < this.log.length; seq++) yield this.at(seq)!
  }

  /** What waits and what is owed. */
  get ledger(): Fold['ledger'] {
    return this.fold.ledger
  }

  get surface(): Fold['surface'] {
    return this.fold.surface
  }

  get headers(): Fold['headers'] {
    return this.fold.headers
  }

  /** The history: frozen messages, as of the boundary while a step is open. Never prefix, before or after (L7). */
  deriveMessages(): readonly Message[] {
    const { entries, length } = this.fold.surface.snapshot()
    return Object.freeze(entries.slice(0, length).map((entry) => adoptJson(entry.message)))
  }

  /** The header of the last request, folded from the log. */
  requestHeader(): EpochHeader | undefined {
    return this.fold.headers.header
  }

  /**
   * Appends one event or a list; a list is all or nothing. Data is copied into plain JSON and frozen (L11). Returns at once; durable
   * when {@link flush} resolves.
   *
   * @throws JsonError, LogError, SessionClosedError, StoreError; the log is as it was
   */
  append<T extends EventType>(draft: EventDraft<T>): SessionEvent<T>
  append(drafts: readonly EventDraft[]): readonly SessionEvent[]
  append(input: EventDraft | readonly EventDraft[]): SessionEvent | readonly SessionEvent[] {
    if (this.closed !== undefined) throw new SessionClosedError(this.id, this.closed)
    const drafts = isList(input) ? input : [input]
    const time = this.now()
    const events = drafts.map((draft, index) => this.toEvent(draft, this.log.length + index, time))
    this.accept(new Batch(events))
    for (const event of events) this.live.emit('event', event)
    return isList(input) ? events : events[0]!
  }

  private toEvent({ type, data }: EventDraft, seq: number, time: number): SessionEvent {
    return checkEvent(Object.freeze({ seq, time, type, data: copyJson(data, type) }))
  }

  private accept(batch: Batch): void {
    try {
      for (const event of batch.events) this.fold.apply(event)
      if (batch.events.length > 0) this.lease.append(batch)
    } catch (error) {
      // All or nothing: what the fold took of the batch is forgotten by folding anew. Refusals are rare, and costly on purpose here only.
      this.fold = Fold.of(this.log)
      throw error
    }
    this.log.push(...batch.events)
    if (this.witness) for (const json of batch.json) this.witness.feed(json)
  }

  /** In `strict`, compares a dispatch with what a second fold of the serialised log makes of it. @throws LogError */
  checkDispatch(dispatch: SessionEvent<'request/dispatch'>): void {
    this.witness?.check(dispatch)
  }

  /** Resolves when everything appended so far is durable. @throws StoreError; the session takes no more events then */
  async flush(): Promise<void> {
    try {
      await this.lease.flush()
    } catch (error) {
      this.closed ??= `its store failed (${messageOf(error)})`
      throw error
    }
  }

  /**
   * Makes a log that was cut off whole: open requests end, open calls get honest results, the open step ends `lost`. Durable when it
   * resolves. Returns how many events it took.
   */
  async repair(): Promise<number> {
    const before = this.length
    const open = this.fold.ledger.turn?.step
    const drafts = repairs(this.fold)
    if (drafts.length > 0) this.append(drafts)
    if (open) this.append({ type: 'step/end', data: { turn: this.fold.ledger.turn!.number, step: open.number, reason: 'lost', digest: this.fold.surface.closingChain() } })
    await this.flush()
    return this.length - before
  }

  /** Flushes and gives the lease back. */
  async close(): Promise<void> {
    this.closed ??= 'it was closed'
    this.live.clear()
    await this.lease.release()
  }

  private take(event: SessionEvent): void {
    this.fold.apply(event)
    this.log.push(event)
  }
}

function isList(input: EventDraft | readonly EventDraft[]): input is readonly EventDraft[] {
  return Array.isArray(input)
}
