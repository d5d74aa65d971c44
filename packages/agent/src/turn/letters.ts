import { isA, messageOf } from '@headrace/message'
import { type Letter, type LetterDraft, type Session, SessionClosedError, StoreError } from '@headrace/session'
import type { Reporter } from '../seams/report.ts'

/** A letter of one kind. */
export type LetterOf<K extends LetterDraft['kind']> = Letter & { readonly kind: K }

/**
 * What takes the letters of each kind: appends the event that names the letter, or throws why it cannot count. Letters of the other kinds
 * are left where they are.
 */
export type LetterTakers = { readonly [K in LetterDraft['kind']]?: (letter: LetterOf<K>) => void }

/** UTF-16 units of a reason in the log. */
const REASON = 1_000

/** The letters to one session, taken while somebody listens: one look after the other, so that each is taken once. */
export class Letters {
  private readonly session: Session
  private readonly reporter: Reporter
  private readonly takers: LetterTakers
  private looking: Promise<void> = Promise.resolve()
  private listeners = 0
  private isClosed = false
  private ignore: (() => void) | undefined

  constructor(session: Session, reporter: Reporter, takers: LetterTakers) {
    this.session = session
    this.reporter = reporter
    this.takers = takers
  }

  /** Looks now, and whenever a letter may have come. Returns the call that ends that. */
  listen(): () => void {
    if (this.listeners++ === 0) {
      this.ignore = this.session.onLetter(() => this.lookSoon())
      this.lookSoon()
    }
    let over = false
    return () => {
      if (!over && --this.listeners === 0) this.ignore?.()
      over = true
    }
  }

  /** Takes what is there. @throws StoreError */
  look(): Promise<void> {
    return (this.looking = this.looking.catch(() => undefined).then(() => this.takeAll()))
  }

  /** No letter is taken any more: they wait for the next life. Resolves when no look runs. */
  async close(): Promise<void> {
    this.isClosed = true
    await this.looking.catch(() => undefined)
  }

  private lookSoon(): void {
    this.look().catch((error: unknown) => {
      if (this.listeners > 0 && !this.isClosed && !this.session.over.aborted) this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'session.letters', problem: messageOf(error) })
    })
  }

  private async takeAll(): Promise<void> {
    if (this.isClosed || this.session.over.aborted) return
    const before = this.session.length
    for (const letter of await this.session.letters()) this.take(letter)
    if (this.session.length > before) await this.session.flush()
  }

  /** One that cannot count is on record as refused. */
  private take(letter: Letter): void {
    if (this.isClosed) return
    const taker = this.takers[letter.kind] as ((letter: Letter) => void) | undefined
    if (!taker) return
    try {
      taker(letter)
    } catch (error) {
      // It waits for a life whose log takes it.
      if (isA(error, SessionClosedError) || isA(error, StoreError)) throw error
      this.session.append({ type: 'letter/refused', data: { letter: letter.id, reason: messageOf(error).slice(0, REASON).toWellFormed() } })
    }
  }
}
