import type { Json, KeyStream, Keys } from '@headrace/message'
import { KEPT_PROGRESS, type ProgressPiece } from '@headrace/session'
import { type Timer, startTimer } from '../seams/timer.ts'
import { toToolJson } from '../seams/tool-json.ts'

/** Milliseconds between two pieces of one call; twice as long after so many of them, up to the last. */
const [FIRST_PAUSE, LAST_PAUSE, PIECES] = [50, 1_600, 100]

/** What one running call shows: told live, at a pace and a size that are bounded; its last state is kept. */
export class CallProgress {
  private readonly place: Pick<ProgressPiece, 'dispatch' | 'block' | 'assistant' | 'index'>
  private readonly say: (piece: ProgressPiece) => void
  private readonly keys: Keys
  /** Takes keys out of output as it comes. */
  private readonly redacted: KeyStream
  /** UTF-16 units shown so far, where the present state begins in them, and how far they were told. */
  private shown = 0
  private from = 0
  private told = 0
  /** The end of the present state, as far as it is kept. */
  private text = ''
  private state: Json | undefined
  private isNew = false
  private pieces = 0
  private timer: Timer
  private isOver = false

  constructor(place: CallProgress['place'], keys: Keys, say: (piece: ProgressPiece) => void) {
    this.place = place
    this.keys = keys
    this.redacted = keys.stream()
    this.say = say
  }

  /** What was shown last: the text, its end where there was much of it, or JSON. */
  get last(): Json | undefined {
    return this.state ?? (this.text === '' ? undefined : this.text)
  }

  /** @throws TypeError for what is no JSON */
  replace(value: unknown): void {
    if (value === undefined) return
    const json = this.keys.redactJson(toToolJson(value, 'progress'))
    const text = typeof json === 'string' ? json : JSON.stringify(json)
    if (this.isOver) return
    this.redacted.end()
    this.from = this.shown
    this.text = ''
    // Too large to be kept whole: what is kept is its text's end.
    this.state = typeof json === 'string' || text.length > KEPT_PROGRESS ? undefined : json
    this.isNew = true
    this.add(text)
  }

  /** @throws TypeError for what is no text */
  append(text: unknown): void {
    if (typeof text !== 'string') throw new TypeError(`output takes a text, not ${typeof text}; progress takes JSON`)
    if (this.isOver || text === '') return
    if (this.state !== undefined) {
      this.state = undefined
      this.from = this.shown
      this.text = ''
    }
    this.add(this.redacted.push(text.toWellFormed()))
  }

  /** Tells the rest. What comes later is not heard. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    this.keep(this.redacted.end())
    this.tell()
  }

  private keep(text: string): void {
    this.shown += text.length
    this.text = endOf(this.text + text)
  }

  private add(text: string): void {
    this.keep(text)
    if (this.timer === undefined) this.tellAndPause()
  }

  private tellAndPause(): void {
    this.timer = undefined
    if (!this.tell()) return
    const pause = Math.min(FIRST_PAUSE * 2 ** Math.floor(this.pieces / PIECES), LAST_PAUSE)
    this.timer = startTimer(pause, () => this.tellAndPause())
  }

  /** False where there is nothing to tell. */
  private tell(): boolean {
    const at = Math.max(this.told, this.from, this.shown - this.text.length)
    if (at === this.shown && !this.isNew) return false
    const { from, state } = this
    this.say(Object.freeze({ type: 'progress', ...this.place, from, at, text: this.text.slice(this.text.length - (this.shown - at)), ...(state !== undefined && { state }) }))
    this.told = this.shown
    this.isNew = false
    this.pieces++
    return true
  }
}

function endOf(text: string): string {
  if (text.length <= KEPT_PROGRESS) return text
  const end = text.slice(-KEPT_PROGRESS)
  return end.isWellFormed() ? end : end.slice(1)
}
