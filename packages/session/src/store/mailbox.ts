import type { SessionEvent } from '../event.ts'
import { type Letter, contentDigest, letterOf } from './letter.ts'

/** A letter that waits, and how far the log went when it was posted: only an event behind that can name it. */
export interface Waiting {
  readonly letter: Letter
  readonly after: number
}

/** The letters to one session, as its store keeps them. */
export interface Mailbox {
  /** Oldest first. */
  list(): Promise<readonly Waiting[]>
  /** Takes letters away; one that is not there is fine. */
  remove(letters: readonly string[]): Promise<void>
}

/** A key and the prompt it stands for. */
export interface KeptKey {
  readonly key: string
  /** The seq of its `prompt/queued`. */
  readonly seq: number
  readonly content: string
  readonly letter?: string
}

/** How many of the newest prompts with a key a store knows at least. */
export const KEYS_KEPT = 1_000

/**
 * The prompts with a key among some events.
 *
 * @param contents what the letters asked for that are at hand: an event may say the same in other words
 */
export function keyedPrompts(events: readonly SessionEvent[], contents?: ReadonlyMap<string, string>): readonly KeptKey[] {
  let keyed: KeptKey[] | undefined
  for (const { seq, type, data } of events) {
    if (type !== 'prompt/queued') continue
    const { key } = data as { readonly key?: unknown }
    if (typeof key !== 'string') continue
    const letter = letterOf({ type, data })
    const content = (letter !== undefined && contents?.get(letter)) || contentDigest(data)
    ;(keyed ??= []).push({ key, seq, content, ...(letter !== undefined && { letter }) })
  }
  return keyed ?? NONE
}

const NONE: readonly KeptKey[] = []

/** Which letters of a session's mailbox its log has taken, kept by whoever holds its lease. */
export class TakenLetters {
  private readonly mailbox: Mailbox
  private readonly read: (from: number, to: number) => AsyncIterable<readonly SessionEvent[]>
  /** Where the lease began. */
  private readonly start: number
  /** With the seq of the event that names each. */
  private readonly taken = new Map<string, number>()
  /** Those that the mailbox may still hold. */
  private readonly done = new Map<string, number>()
  private looked = false
  /** What the letters with a key ask for, by their ids. */
  readonly contents = new Map<string, string>()
  private clearing: Promise<void> = Promise.resolve()

  constructor(mailbox: Mailbox, start: number, read: (from: number, to: number) => AsyncIterable<readonly SessionEvent[]>) {
    this.mailbox = mailbox
    this.start = start
    this.read = read
  }

  /** The first letter that these events would take a second time. */
  repeated(events: readonly SessionEvent[]): string | undefined {
    let now: Set<string> | undefined
    for (const event of events) {
      const letter = letterOf(event)
      if (letter === undefined) continue
      if (this.taken.has(letter) || now?.has(letter)) return letter
      now = (now ?? new Set()).add(letter)
    }
    return undefined
  }

  /** Takes events that were appended: the letters that they name. */
  take(events: readonly SessionEvent[]): void {
    for (const event of events) this.note(event, letterOf(event))
  }

  /** True where the mailbox may hold letters that are done. */
  get isDirty(): boolean {
    return this.done.size > 0
  }

  /** Takes away what events name that are durable: those before this seq. */
  clear(durable: number): Promise<void> {
    return (this.clearing = this.clearing.catch(() => undefined).then(async () => {
      const letters = [...this.done].flatMap(([letter, seq]) => (seq < durable ? [letter] : []))
      if (letters.length === 0) return
      await this.mailbox.remove(letters)
      for (const letter of letters) this.done.delete(letter)
    }))
  }

  /** Those that no event names. What is named is taken away first, where that is durable. */
  async waiting(durable: number): Promise<readonly Letter[]> {
    await this.clear(durable)
    const all = await this.mailbox.list()
    if (!this.looked) await this.lookBack(all)
    this.looked = true
    this.findAgain(all)
    await this.clear(durable)
    for (const { letter } of all) {
      if (letter.kind === 'prompt' && letter.key !== undefined) this.contents.set(letter.id, contentDigest(letter))
    }
    return all.flatMap(({ letter }) => (this.taken.has(letter.id) ? [] : [letter]))
  }

  /** Takes away what came a second time, behind the event that names it: its sender was slow, or was killed and sent it anew. */
  async sweep(durable: number): Promise<void> {
    if (this.taken.size > 0) this.findAgain(await this.mailbox.list())
    await this.clear(durable)
  }

  private findAgain(all: readonly Waiting[]): void {
    for (const { letter } of all) {
      const seq = this.taken.get(letter.id)
      if (seq !== undefined) this.done.set(letter.id, seq)
    }
  }

  /** What an earlier life took, and had no time to take away. What is posted from now on it cannot have taken. */
  private async lookBack(all: readonly Waiting[]): Promise<void> {
    if (all.length === 0) return
    const ids = new Set(all.map(({ letter }) => letter.id))
    const from = Math.min(...all.map(({ after }) => after))
    for await (const events of this.read(Math.max(0, from), this.start)) {
      for (const event of events) {
        const letter = letterOf(event)
        if (letter !== undefined && ids.has(letter)) this.note(event, letter)
      }
    }
  }

  private note({ seq }: SessionEvent, letter: string | undefined): void {
    if (letter === undefined) return
    this.taken.set(letter, seq)
    this.done.set(letter, seq)
  }
}
