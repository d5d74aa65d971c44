import type { Json } from '@headrace/message'
import type { SessionEvent } from './event.ts'

/** What both kinds of pieces say of their place. */
interface Place {
  /** The seq of the `request/dispatch` it came behind. */
  readonly dispatch: number
  /** The place of the block in the content of the coming message, from 0; of progress, that of the call. */
  readonly block: number
  /** UTF-16 units of the block's text that came before it: one that comes late or twice does no harm. */
  readonly at: number
  readonly text: string
}

/** A piece of an answer: of its text, its reasoning, or the arguments of a call. */
export interface AnswerPiece extends Place {
  readonly type: 'text' | 'reasoning' | 'arguments'
  /** Of a call: its tool. */
  readonly name?: string
}

/** A piece of what a running tool shows. */
export interface ProgressPiece extends Place {
  readonly type: 'progress'
  /** The call: the seq of its `assistant/message`, and its place among that message's calls. */
  readonly assistant: number
  readonly index: number
  /** Where the present state begins: what was shown before this offset is replaced. */
  readonly from: number
  /** The state, where it is no text; `text` has its JSON. */
  readonly state?: Json
}

/**
 * What is said live and not in the log yet. It ends with its `request/end`, progress with its `tool/result`: what stands then is the
 * `assistant/message`, or nothing.
 */
export type Piece = AnswerPiece | ProgressPiece

/** Of what one tool shows, the newest UTF-16 units are kept. */
export const KEPT_PROGRESS = 10_000

/** A block of an answer as it grows. Not frozen: a piece costs nothing but its text. */
interface GrowingBlock {
  readonly first: AnswerPiece
  text: string
}

/** What was said so far in all that is open: who joins in mid-answer gets it as the first. */
export class Pieces {
  private readonly answer = new Map<number, GrowingBlock>()
  /** That of the newest piece; the next one is nearly always its own. */
  private newest: GrowingBlock | undefined
  private dispatch = -1
  private readonly progress = new Map<string, ProgressPiece>()

  /** Puts a piece behind those of its block, or of its call. */
  add(piece: Piece): void {
    if (piece.type === 'progress') {
      const key = `${piece.assistant}/${piece.index}`
      this.progress.set(key, joined(this.progress.get(key), piece))
      return
    }
    if (piece.dispatch !== this.dispatch) this.endAnswer()
    this.dispatch = piece.dispatch
    let block = this.newest?.first.block === piece.block ? this.newest : this.answer.get(piece.block)
    if (block) block.text += piece.text
    else this.answer.set(piece.block, (block = { first: piece, text: piece.text }))
    this.newest = block
  }

  /** Ends what an event ends. */
  apply(event: SessionEvent): void {
    if (event.type === 'request/end') {
      if (event.data.dispatch === this.dispatch) this.endAnswer()
    } else if (event.type === 'tool/result' && this.progress.size > 0) this.progress.delete(`${event.data.assistant}/${event.data.index}`)
  }

  /** One piece for each block that is open, and for each call that runs. */
  *[Symbol.iterator](): IterableIterator<Piece> {
    for (const { first, text } of this.answer.values()) yield Object.freeze({ ...first, text })
    for (const piece of this.progress.values()) yield Object.freeze({ ...piece })
  }

  private endAnswer(): void {
    this.answer.clear()
    this.newest = undefined
  }
}

function joined(before: ProgressPiece | undefined, piece: ProgressPiece): ProgressPiece {
  if (before?.from !== piece.from || before.at + before.text.length !== piece.at) return piece
  const text = before.text + piece.text
  const cut = Math.max(0, text.length - KEPT_PROGRESS)
  return { ...piece, at: before.at + cut, text: text.slice(cut) }
}
