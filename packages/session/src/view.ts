import { type Message, nearest } from '@headrace/message'
import { LogError } from './error.ts'
import { CORE_TYPES, type EventDraft, type EventType, type SessionEvent, type SessionOpen } from './event.ts'
import type { EpochHeader } from './header.ts'
import type { QueuedPrompt } from './ledger.ts'
import type { Session } from './session.ts'
import type { LiveEvents } from './session-live.ts'
import type { Entry } from './surface.ts'
import type { StandingTurn } from './turn-points.ts'

const LIVE: readonly string[] = ['event', 'chunk', 'piece'] satisfies (keyof LiveEvents)[]

/** A session as plugins see it: to read, and to append events of types that plugins add. Only the loop writes core types. */
export class SessionView {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
    // Frozen: all plugins share it, and one must not change it for another.
    Object.freeze(this)
  }

  get id(): string {
    return this.#session.id
  }

  /** What the session was created with. */
  get origin(): SessionOpen | undefined {
    return this.#session.ledger.origin
  }

  /** Its title, as it was given at first or changed since. */
  get title(): string | undefined {
    return this.#session.ledger.title
  }

  get length(): number {
    return this.#session.length
  }

  /** The first event in memory: {@link at} and {@link events} work from this seq on; {@link read} gives what came before. */
  get first(): number {
    return this.#session.first
  }

  /** The event of that seq. @throws LogError before {@link first} */
  at(seq: number): SessionEvent | undefined {
    this.#checkMemory(seq)
    return this.#session.at(seq)
  }

  /** The events of the log, from a seq on. @throws LogError before {@link first} */
  events(from = this.first): IterableIterator<SessionEvent> {
    this.#checkMemory(from)
    return this.#session.events(from)
  }

  /**
   * The events from a seq to before another, also from before {@link first}.
   *
   * @throws StoreError, LogError
   */
  read(from: number, to?: number): Promise<readonly SessionEvent[]> {
    return this.#session.read(from, to)
  }

  #checkMemory(seq: number): void {
    if (!(seq >= 0 && seq < this.first)) return
    throw new LogError(`it is not in memory, which begins at event ${this.first}; use await session.read(${seq}, …)`, seq, 'LOG_NOT_IN_MEMORY')
  }

  /** The history: frozen messages, as of the boundary while a step is open. */
  deriveMessages(): readonly Message[] {
    return this.#session.deriveMessages()
  }

  /** The history with the open step's part: what the model has been told, and by whom. */
  entries(): readonly Entry[] {
    return this.#session.surface.visible()
  }

  /** Turns that no rewind took back, in order. */
  get turns(): readonly StandingTurn[] {
    return this.#session.surface.turns
  }

  /** The header as folded so far; none before the first request. */
  requestHeader(): EpochHeader | undefined {
    return this.#session.requestHeader()
  }

  /** Prompts and steers that wait, in the order they were accepted. */
  get queue(): readonly QueuedPrompt[] {
    return this.#session.ledger.queue
  }

  /** True while the model owes an answer. */
  get owed(): boolean {
    return this.#session.ledger.owed
  }

  /**
   * Listens to events, chunks and pieces, from outside any plugin; plugins use `session/event`. Who listens to pieces in mid-answer is told
   * what was said so far at once. Returns the call that stops it.
   *
   * @throws LogError for a name that there is none of, or no function: it would never be called
   */
  on<K extends keyof LiveEvents & string>(name: K, listener: (value: LiveEvents[K]) => void): () => void {
    const given: unknown = name
    if (typeof given !== 'string' || !LIVE.includes(given)) {
      const meant = typeof given === 'string' ? nearest(given, LIVE) : ''
      throw new LogError(`a session tells ${LIVE.join(', ')}, not ${JSON.stringify(given)}${meant}`, undefined, 'LISTENER_INVALID')
    }
    if (typeof listener !== 'function') throw new LogError(`a listener of ${name} is a function`, undefined, 'LISTENER_INVALID')
    return this.#session.live.on(name, listener)
  }

  /** @throws LogError for a core type, or one marked as required */
  append<T extends EventType>(draft: EventDraft<T>): SessionEvent<T> {
    // One draft, read once: what was checked is what is appended.
    const given: unknown = draft
    const { type, data } = (given ?? {}) as EventDraft<T>
    if (typeof type !== 'string') throw new LogError('append takes one event, { type, data }')
    this.#session.admit()
    if (CORE_TYPES.has(type)) throw new LogError(`${type} is written by the loop only; use the agent's methods`, undefined, 'LOG_CORE_TYPE')
    return this.#session.append({ type, data } as EventDraft<T>)
  }

  /** Resolves when everything appended so far is durable. */
  flush(): Promise<void> {
    return this.#session.flush()
  }
}

// Frozen like its instances: one plugin must not change it for another.
Object.freeze(SessionView.prototype)
