import { messageOf } from '@headrace/message'
import type { SessionEvent } from '../event.ts'
import { type Batch, type Lease, StoreError } from '../store.ts'
import { CardFold, type CardState } from './card.ts'
import type { Letter } from './letter.ts'
import { type Mailbox, TakenLetters } from './mailbox.ts'
import type { Signals } from './signals.ts'

/** How long an append may wait for its flush while somebody follows, in milliseconds. */
const FOLLOWED = 50

/** What a lease begins with. */
export interface LeaseStart {
  readonly id: string
  /** The seq that comes next. */
  readonly next: number
  /** What the card says of the events before. */
  readonly card: CardState
  readonly repaired?: { readonly offset: number; readonly bytes: number }
  readonly mailbox: Mailbox
  /** Events of the log, from a seq to before another. */
  readonly read: (from: number, to: number) => AsyncIterable<readonly SessionEvent[]>
  /** Who follows the session, or waits for its letters, in this process. */
  readonly signals: Signals
}

/**
 * The half of a lease that is the same in every store: order, failure, what is durable, the card, the letters that are taken. A store
 * writes and syncs.
 */
export abstract class StoreLease implements Lease {
  readonly id: string
  readonly lost: AbortSignal
  readonly repaired?: { readonly offset: number; readonly bytes: number }
  /** The seq that comes next. */
  protected next: number
  protected failure: StoreError | undefined
  private durableSeq = 0
  private readonly losing = new AbortController()
  private readonly signals: Signals
  private readonly card: CardFold
  protected readonly taken: TakenLetters
  private isCardDue = false
  private isCardOld = false
  private newestCard: CardState | undefined
  private writing: Promise<void> | undefined
  private released: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined

  constructor({ id, next, card, repaired, mailbox, read, signals }: LeaseStart) {
    this.id = id
    this.lost = this.losing.signal
    this.next = next
    if (repaired) this.repaired = repaired
    this.signals = signals
    this.card = new CardFold(card)
    this.taken = new TakenLetters(mailbox, next, read)
  }

  /** Keeps a batch, all or nothing. @throws StoreError, with `failure` set where the lease takes nothing more */
  protected abstract write(batch: Batch): void
  /** Makes all that was written durable, and looks whether the log is still this lease's. @throws StoreError, with `failure` set */
  protected abstract sync(): Promise<void>
  /** Keeps a card of what is durable. What it throws is ignored: a card can be made anew. */
  protected abstract writeCard(state: CardState): Promise<void>
  /** Gives the lease back, whatever happened to it. */
  protected abstract giveBack(): Promise<void>
  /** Calls back when a letter may have come from another process. */
  protected abstract watchMail(onChange: () => void): () => void

  /** Events before this seq are durable. */
  get durable(): number {
    return this.durableSeq
  }

  /** True while it takes events. */
  get isOpen(): boolean {
    return this.failure === undefined && this.released === undefined
  }

  append(batch: Batch): void {
    if (this.failure) throw this.failure
    if (this.released) throw new StoreError(`session ${this.id}: its lease was given back`, { code: 'LEASE_RELEASED' })
    const { events } = batch
    events.forEach(({ seq }, index) => {
      if (seq !== this.next + index) throw new StoreError(`session ${this.id}: seq ${seq} cannot be appended where ${this.next + index} comes next`, { code: 'LOG_SEQ' })
    })
    if (events.length === 0) return
    const repeated = this.taken.repeated(events)
    if (repeated !== undefined) throw new StoreError(`session ${this.id}: letter ${repeated} was taken before; each is taken once`, { code: 'LETTER_TAKEN' })
    this.write(batch)
    this.next += events.length
    this.taken.take(events)
    const { json } = batch
    events.forEach((event, index) => {
      if (this.card.take(event, json[index])) this.isCardDue = true
    })
    this.isCardOld = true
    this.signals.emit(this.id)
  }

  async flush(): Promise<void> {
    if (this.failure) throw this.failure
    const upTo = this.next
    const card = this.isCardDue ? this.card.stateIn(this.id) : undefined
    if (card) this.isCardDue = this.isCardOld = false
    await this.sync()
    if (upTo > this.durableSeq) {
      this.durableSeq = upTo
      this.signals.emit(this.id)
    }
    if (card) void this.keepCard(card)
    if (this.taken.isDirty) void this.taken.clear(this.durableSeq).catch(() => undefined)
  }

  /** Sees to it that what was appended is durable soon: somebody follows. */
  flushSoon(): void {
    if (this.timer || this.durableSeq === this.next || !this.isOpen) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      // Who holds the lease is told of a failure by the next call.
      if (this.isOpen && this.durableSeq < this.next) void this.flush().catch(() => undefined)
    }, FOLLOWED)
    this.timer.unref()
  }

  async letters(): Promise<readonly Letter[]> {
    if (this.failure) throw this.failure
    const waiting = await this.taken.waiting(this.durableSeq)
    // What the log names is taken away before the next is taken, and not before that is durable.
    if (this.taken.isDirty && this.isOpen) {
      await this.flush()
      await this.taken.clear(this.durableSeq)
    }
    return waiting
  }

  onLetter(listener: () => void): () => void {
    const [off, unwatch] = [this.signals.on(mailOf(this.id), listener), this.watchMail(listener)]
    return () => {
      off()
      unwatch()
    }
  }

  release(): Promise<void> {
    return (this.released ??= this.end())
  }

  private async end(): Promise<void> {
    clearTimeout(this.timer)
    try {
      await this.flush()
      if (this.isCardOld) await this.keepCard(this.card.stateIn(this.id))
      await this.taken.sweep(this.durableSeq).catch(() => undefined)
    } finally {
      await this.writing
      await this.giveBack()
      this.signals.emit(this.id)
    }
  }

  /** The lease is somebody else's, or its log is another: nothing more is acknowledged. */
  protected lose(how: string): StoreError {
    this.failure ??= new StoreError(`session ${this.id}: ${how}`, { code: 'LEASE_LOST' })
    this.losing.abort(this.failure)
    this.signals.emit(this.id)
    return this.failure
  }

  /** The lease takes nothing more: read-only rather than wrong. */
  protected fail(problem: string, cause: unknown): StoreError {
    return (this.failure ??= new StoreError(`session ${this.id}: ${problem}; it takes no more events: see to the disk, then resume`, { cause }))
  }

  /** Nothing of this append was kept, and the next may be. */
  protected refused(place: string, error: unknown): StoreError {
    return new StoreError(`session ${this.id}: ${place} cannot be written (${messageOf(error)}); nothing of this append was kept`, { code: 'STORE_WRITE', cause: error })
  }

  /** One at a time, the newest next. */
  private keepCard(state: CardState): Promise<void> {
    this.newestCard = state
    return (this.writing ??= this.writeCards())
  }

  private async writeCards(): Promise<void> {
    for (let state = this.newestCard; state; state = this.newestCard) {
      this.newestCard = undefined
      await this.writeCard(state).catch(() => undefined)
    }
    this.writing = undefined
  }
}

/** What the letters to a session are told as, beside the session's own changes. */
export function mailOf(id: string): string {
  return `${id} mail`
}
