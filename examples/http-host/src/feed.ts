import type { Chunk } from '@headrace/message'
import type { SessionEvent, SessionView } from '@headrace/session'

/** What one reader is told: an event of the log, a piece of an answer, or that pieces were left out because it was slow. */
export type Told = SessionEvent | Chunk | 'skipped'

/** A piece, and the length of the log when it came: it comes before the event with that seq. */
interface Piece {
  readonly at: number
  readonly chunk: Chunk
}

/**
 * A session as one reader follows it, at the reader's own pace: the log is the buffer, so that a slow reader costs
 * nothing. Only pieces of answers, which are not in the log, are buffered here, and only a few.
 */
export class Feed {
  private readonly session: SessionView
  private readonly most: number
  private seq: number
  private pieces: Piece[] = []
  private skipped = false
  private wake: () => void = () => undefined

  /** @param from the seq of the first event */
  constructor(session: SessionView, from: number, most: number) {
    this.session = session
    this.seq = Math.min(from, session.length)
    this.most = most
  }

  /** Everything from there on; with `follow` until the signal is aborted, else until the end of the log. */
  async *read(signal: AbortSignal, follow: boolean): AsyncGenerator<Told> {
    const stops = [
      this.session.on('event', () => this.wake()),
      this.session.on('chunk', (chunk) => this.keep(chunk)),
    ]
    const onAbort = (): void => this.wake()
    signal.addEventListener('abort', onAbort)
    try {
      for (;;) {
        const told = this.next()
        if (told) yield told
        else if (!follow || signal.aborted) return
        else await new Promise<void>((resolve) => (this.wake = resolve))
      }
    } finally {
      for (const stop of stops) stop()
      signal.removeEventListener('abort', onAbort)
    }
  }

  private next(): Told | undefined {
    const [piece] = this.pieces
    if (piece && piece.at <= this.seq) {
      this.pieces.shift()
      return piece.chunk
    }
    if (this.skipped) {
      this.skipped = false
      return 'skipped'
    }
    return this.seq < this.session.length ? this.session.at(this.seq++) : undefined
  }

  private keep(chunk: Chunk): void {
    if (this.pieces.length >= this.most) {
      this.pieces = []
      this.skipped = true
    }
    this.pieces.push({ at: this.session.length, chunk })
    this.wake()
  }
}
