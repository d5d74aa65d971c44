import { type Message, adoptJson, copyJson, messageOf } from '@headrace/message'
import { checkEvent } from './check.ts'
import { LogError, SessionClosedError } from './error.ts'
import { type CallRef, type EventDraft, type EventMap, type EventType, REQUIRED_TYPES, type SessionEvent, type SessionOpen, type StepReason } from './event.ts'
import { FeedbackBound } from './feedback.ts'
import { Fold } from './fold.ts'
import type { EpochHeader } from './header.ts'
import { type KnownOfCall, repairs } from './repair.ts'
import { checkSizes } from './size.ts'
import type { Entry } from './surface.ts'
import { Batch, type Lease, type SessionStore, StoreError, checkSessionId } from './store.ts'
import type { Letter } from './store/letter.ts'
import { Witness } from './verify.ts'
import type { Draft, SessionOptions } from './session-options.ts'
import { SessionLive } from './session-live.ts'
import { SessionView } from './view.ts'
import { FORMAT } from './writer.ts'

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
  readonly live = new SessionLive()
  /** The view that plugins get. */
  readonly view = new SessionView(this)
  /** The first event in memory: before it `at` and `events` of the view throw and name `read`. */
  first = 0
  private readonly store: SessionStore
  private readonly lease: Lease
  private readonly now: () => number
  private maxEvent: number
  private readonly log: SessionEvent[] = []
  private fold = new Fold()
  private readonly witness: Witness | undefined
  private closed: string | undefined
  private readonly ending = new AbortController()
  /** Aborted once the session takes no more events: it was closed, its lease was lost, or its store failed. */
  readonly over: AbortSignal = this.ending.signal
  private readonly feedback = new FeedbackBound()
  /** Cache: messages are read more often than they change. */
  private derived: { readonly from: readonly Entry[] | undefined; readonly messages: readonly Message[] } = { from: undefined, messages: [] }

  private constructor(store: SessionStore, lease: Lease, options: SessionOptions) {
    this.id = lease.id
    this.store = store
    this.lease = lease
    this.now = options.now ?? Date.now
    this.maxEvent = options.maxEvent ?? Infinity
    this.witness = options.strict ? new Witness(lease.id) : undefined
    const { lost } = lease
    const lose = (): void => this.end(lost.reason instanceof StoreError ? messageOf(lost.reason).replace(`session ${lease.id}: `, '') : 'another process took its lease')
    if (lost.aborted) lose()
    else lost.addEventListener('abort', lose, { once: true })
  }

  /** Begins a log. @throws SessionExistsError, StoreError, LogError for a seed with incomplete tool pairs */
  static async create(store: SessionStore, open: { readonly id: string } & Omit<SessionOpen, 'id' | keyof typeof FORMAT>, options: SessionOptions = {}): Promise<Session> {
    checkSessionId(open.id)
    const session = new Session(store, await store.create(open.id), options)
    try {
      session.append({ type: 'session/open', data: { ...FORMAT, ...open } })
      await session.flush()
      return session
    } catch (error) {
      await session.close().catch(() => undefined)
      // Nothing was acknowledged; an empty log would only block its id.
      await store.remove(open.id).catch(() => undefined)
      throw error
    }
  }

  /** Opens a log for writing, as it is; see {@link repair}. @throws SessionNotFoundError, SessionBusyError, LogError, StoreError */
  static async open(store: SessionStore, id: string, options: SessionOptions = {}): Promise<Session> {
    checkSessionId(id)
    const session = new Session(store, await store.lease(id), options)
    try {
      for await (const batch of store.load(id)) for (const event of batch) session.take(event)
      const [first] = session.log
      if (first?.type !== 'session/open') throw new LogError(`session ${id} has an empty log: nothing was acknowledged; begin it anew`, undefined, 'LOG_EMPTY')
      if (first.data.id !== id) throw new LogError(`the log of session ${id} says that it is session ${first.data.id}`, 0, 'LOG_ID')
      if (options.recent) session.first = session.log.findLastIndex(({ type }) => type === 'turn/end') + 1
      if (session.witness) for (const event of session.log) session.witness.feed(JSON.stringify(event))
      return session
    } catch (error) {
      await session.close().catch(() => undefined)
      throw error
    }
  }

  /** The torn tail that was cut off when the log was opened. */
  get repaired(): Lease['repaired'] {
    return this.lease.repaired
  }

  /** How many events the log has; the seq of the next. */
  get length(): number {
    return this.log.length
  }

  /** An event by its seq, frozen. */
  at(seq: number): SessionEvent | undefined {
    const event = this.log[seq]
    return event && shown(event)
  }

  /** The events from a seq on, frozen. */
  *events(from = 0): IterableIterator<SessionEvent> {
    for (let seq = from; seq < this.log.length; seq++) yield this.at(seq)!
  }

  /**
   * The events from a seq to before another, frozen; what came before `first` is read from the store.
   *
   * @throws SessionNotFoundError, StoreError, LogError
   */
  async read(from: number, to = this.log.length): Promise<readonly SessionEvent[]> {
    const events: SessionEvent[] = []
    const begin = Math.max(0, from)
    if (begin < this.first)
      for await (const batch of this.store.read(this.id, begin, Math.min(to, this.first)))
        for (const event of batch) events.push(shown(event))
    for (let seq = Math.max(begin, this.first); seq < Math.min(to, this.log.length); seq++) events.push(this.at(seq)!)
    return events
  }

  /** The events of some types, in order, frozen; skipping the others is cheap. */
  *eventsOf<T extends EventType>(...types: readonly T[]): IterableIterator<SessionEvent<T>> {
    for (const event of this.log) if (types.includes(event.type as T)) yield shown(event) as SessionEvent<T>
  }

  /** What waits and what is owed. */
  get ledger(): Fold['ledger'] {
    return this.fold.ledger
  }

  get surface(): Fold['surface'] {
    return this.fold.surface
  }

  /** The session that the log began as: a fork's is its parent's. */
  get root(): string {
    return this.fold.root
  }

  get headers(): Fold['headers'] {
    return this.fold.headers
  }

  /** The history: frozen messages, as of the boundary while a step is open. Never prefix, before or after (L7). */
  deriveMessages(): readonly Message[] {
    const { entries, length } = this.fold.surface.snapshot()
    if (this.derived.from !== entries || this.derived.messages.length !== length) {
      this.derived = { from: entries, messages: Object.freeze(entries.map((entry) => entry.message)) }
    }
    return this.derived.messages
  }

  /** The newest part of the history: the entries from an event on, the open step's included. Costs what it returns. */
  entriesSince(seq: number): readonly Entry[] {
    return this.fold.surface.visible(seq)
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
  append(drafts: readonly Draft[]): readonly SessionEvent[]
  append(input: EventDraft | readonly Draft[]): SessionEvent | readonly SessionEvent[] {
    if (this.closed !== undefined) throw new SessionClosedError(this.id, this.closed)
    const events = this.accept(isList(input) ? input : [input])
    this.live.emitAll('event', events)
    return isList(input) ? events : events[0]!
  }

  /** Sets the size limit of an event: the log may say it, so it is known only once the log is open. */
  boundEvents(maxEvent: number): void {
    this.maxEvent = maxEvent
  }

  /** Asked before what comes from outside of the loop is appended: `weight` of them. @throws LogError where listeners answer each other */
  admit(weight = 1): void {
    this.feedback.check(this.live.depth, weight)
  }

  private accept(drafts: readonly Draft[]): readonly SessionEvent[] {
    const events: SessionEvent[] = []
    const time = this.now()
    let batch: Batch
    try {
      for (const item of drafts) {
        const draft = typeof item === 'function' ? item() : item
        if (!draft) continue
        const { type } = draft
        const seq = this.log.length + events.length
        const event = checkEvent(Object.freeze({ seq, time, type, data: copyJson(draft.data, type), ...(REQUIRED_TYPES.has(type) && { required: true }) }))
        this.fold.apply(event)
        if (type === 'step/start') this.feedback.step()
        events.push(event)
      }
      batch = new Batch(events)
      if (this.maxEvent < Infinity) checkSizes(batch, this.maxEvent)
      if (events.length > 0) this.lease.append(batch)
    } catch (error) {
      // All or nothing: the fold is rebuilt without the batch. Only a refused append costs that.
      this.fold = Fold.of(this.log)
      throw error
    }
    for (const event of events) this.log.push(event)
    if (this.witness) for (const json of batch.json) this.witness.feed(json)
    return events
  }

  /** In `strict`, compares a dispatch with a second fold of the serialised log. @throws LogError */
  checkDispatch(dispatch: SessionEvent<'request/dispatch'>): void {
    this.witness?.check(dispatch)
  }

  /** Resolves when everything appended so far is durable. @throws StoreError; the session takes no more events then */
  async flush(): Promise<void> {
    try {
      await this.lease.flush()
    } catch (error) {
      this.end(`its store failed (${messageOf(error)})`)
      throw error
    }
  }

  /**
   * Makes a log that was cut off whole: open requests end, open calls get honest results, the open step ends `lost`. Durable when it
   * resolves. Returns how many events it took. `known` says what is known of a call that was started, for its result.
   */
  async repair(known?: (call: CallRef) => KnownOfCall | undefined): Promise<number> {
    const events = this.closeStep('lost', {}, known)
    await this.flush()
    return events.length
  }

  /** Ends what is open: requests, then calls with honest results, then the step, in one append (L16). Side requests go on, unless all is lost. */
  closeStep(
    reason: StepReason, more: Pick<EventMap['step/end'], 'error' | 'budget'> = {}, known?: (call: CallRef) => KnownOfCall | undefined,
  ): readonly SessionEvent[] {
    const { turn, openDispatches, openAttempts } = this.fold.ledger
    const end = (): EventDraft | undefined => turn?.step && {
      type: 'step/end',
      data: { turn: turn.number, step: turn.step.number, reason, digest: this.fold.surface.closingChain(), ...more },
    }
    return this.append([...repairs(this.fold, reason === 'lost' ? openDispatches : openAttempts, known), end])
  }

  /** Letters that wait, oldest first. One that an event names (`letter: id` in its data) was taken, and is not among them. @throws StoreError */
  letters(): Promise<readonly Letter[]> {
    return this.lease.letters()
  }

  /** Calls back when a letter may have come, from any process: now and then too often. Look once after this. Returns the call that ends it. */
  onLetter(listener: () => void): () => void {
    return this.lease.onLetter(listener)
  }

  /** Flushes and gives the lease back. @param why told to whoever appends afterwards */
  async close(why = 'it was closed'): Promise<void> {
    this.end(why)
    this.live.clear()
    await this.lease.release()
  }

  private end(why: string): void {
    this.closed ??= why
    this.ending.abort()
  }

  private take(event: SessionEvent): void {
    this.fold.apply(event)
    this.log.push(event)
  }
}

/** What was appended is frozen; what was loaded is frozen when it is first shown. */
function shown(event: SessionEvent): SessionEvent {
  adoptJson(event.data)
  return Object.freeze(event)
}

const isList = (input: EventDraft | readonly Draft[]): input is readonly Draft[] => Array.isArray(input)
