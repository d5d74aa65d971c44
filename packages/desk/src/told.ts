import type { Followed, Piece, SessionEvent } from '@headrace/session'
import type { SeatChange } from './seat.ts'

/** What a live agent tells a follower. */
export interface PieceListener {
  piece(piece: Piece): void
  /** The life is over: nothing of what it was saying is said any more. */
  over(): void
}

/** Where a follower gets what it tells. */
export interface ToldSource {
  /** The durable log, from a cursor on, until the signal. */
  readonly events: (signal: AbortSignal) => AsyncIterable<Followed>
  /** Who listens is told what was said so far first. Returns the call that ends that. */
  readonly listen: (listener: PieceListener) => () => void
  /** The seq of the cursor it goes on from; -1 at the beginning. */
  readonly seen: number
  /** Each ends it. */
  readonly signals: readonly AbortSignal[]
}

/**
 * The log as it becomes durable, with what is said live between: a piece comes behind its `request/dispatch` and not after its
 * `request/end`, progress behind its `assistant/message` and not after its `tool/result`. Pieces that wait are joined: a slow reader holds
 * no more of them than the answer is long.
 */
export async function* told({ events, listen, seen, signals }: ToldSource): AsyncGenerator<SeatChange> {
  const end = new AbortController()
  const stop = (): void => end.abort()
  for (const signal of signals) {
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  }
  const bell = new Bell()
  const pieces = new WaitingPieces(seen, () => bell.ring())
  const off = listen(pieces)
  const log = new Pull(events(end.signal)[Symbol.asyncIterator](), () => bell.ring())
  try {
    while (!end.signal.aborted) {
      const item = log.take()
      if (item === 'over') return
      if (item && 'reset' in item) {
        pieces.reset()
        yield { type: 'reset' }
      } else if (item) {
        pieces.pass(item.events)
        yield { type: 'append', ...item }
      } else {
        const piece = pieces.take()
        if (piece) yield { type: 'piece', piece }
        else await bell.rung
      }
    }
  } finally {
    off()
    stop()
    for (const signal of signals) signal.removeEventListener('abort', stop)
    log.end()
  }
}

/** Rung as often as one likes; heard once, also by who listens later. */
class Bell {
  private waiting: (() => void) | undefined
  private isRung = false

  ring(): void {
    this.isRung = true
    this.waiting?.()
  }

  get rung(): Promise<void> {
    if (this.isRung) {
      this.isRung = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      this.waiting = () => {
        this.waiting = undefined
        this.isRung = false
        resolve()
      }
    })
  }
}

/** Asks for the next of an iterator, one at a time, while its reader does something else. */
class Pull {
  private readonly iterator: AsyncIterator<Followed>
  private readonly onCome: () => void
  private come: { readonly result: IteratorResult<Followed> } | { readonly error: unknown } | undefined
  private isAsked = false

  constructor(iterator: AsyncIterator<Followed>, onCome: () => void) {
    this.iterator = iterator
    this.onCome = onCome
  }

  /** What has come, `over` behind the last; nothing where it is not there yet. @throws what the iterator threw */
  take(): Followed | 'over' | undefined {
    const { come } = this
    if (come) {
      this.come = undefined
      this.isAsked = false
      if ('error' in come) throw come.error
      return come.result.done ? 'over' : come.result.value
    }
    if (!this.isAsked) this.ask()
    return undefined
  }

  end(): void {
    this.iterator.return?.(undefined)?.catch(() => undefined)
  }

  private ask(): void {
    this.isAsked = true
    const come = (what: NonNullable<Pull['come']>): void => {
      this.come = what
      this.onCome()
    }
    this.iterator.next().then((result) => come({ result }), (error: unknown) => come({ error }))
  }
}

/** Pieces on their way to one follower. */
class WaitingPieces implements PieceListener {
  /** Joined, by block or call. */
  private readonly pieces = new Map<string, Piece>()
  /** The newest event that the follower was given. */
  private seen: number
  private readonly onDue: () => void

  constructor(seen: number, onDue: () => void) {
    this.seen = seen
    this.onDue = onDue
  }

  piece(piece: Piece): void {
    const key = piece.type === 'progress' ? `${piece.assistant}/${piece.index}` : `${piece.dispatch} ${piece.block}`
    this.pieces.set(key, joined(this.pieces.get(key), piece))
    if (this.isDue(piece)) this.onDue()
  }

  over(): void {
    this.pieces.clear()
  }

  /** The next that its event was told of. */
  take(): Piece | undefined {
    for (const [key, piece] of this.pieces) {
      if (!this.isDue(piece)) continue
      this.pieces.delete(key)
      return piece
    }
    return undefined
  }

  /** The follower is given these events: what they end is not told any more. */
  pass(events: readonly SessionEvent[]): void {
    for (const event of events) {
      this.seen = event.seq
      if (event.type === 'request/end') this.drop((piece) => piece.type !== 'progress' && piece.dispatch === event.data.dispatch)
      if (event.type !== 'tool/result') continue
      const { assistant, index } = event.data
      this.drop((piece) => piece.type === 'progress' && piece.assistant === assistant && piece.index === index)
    }
  }

  /** The log begins anew. */
  reset(): void {
    this.seen = -1
  }

  private drop(isOver: (piece: Piece) => boolean): void {
    for (const [key, piece] of this.pieces) if (isOver(piece)) this.pieces.delete(key)
  }

  private isDue(piece: Piece): boolean {
    return (piece.type === 'progress' ? piece.assistant : piece.dispatch) <= this.seen
  }
}

/** Of what one block says, all that waits in one piece; of progress, what counts now. */
function joined(before: Piece | undefined, piece: Piece): Piece {
  if (!before || before.at + before.text.length !== piece.at) return piece
  if (piece.type === 'progress' && (before.type !== 'progress' || before.from !== piece.from)) return piece
  return { ...piece, at: before.at, text: before.text + piece.text }
}
