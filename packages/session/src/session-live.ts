import type { Chunk } from '@headrace/message'
import type { SessionEvent } from './event.ts'
import { Live } from './live.ts'
import { type Piece, Pieces } from './pieces.ts'

/** What `session.live` tells. Chunks and pieces are not in the log; events are told after they were appended. */
export interface LiveEvents {
  event: SessionEvent
  chunk: Chunk
  piece: Piece
}

/** The live stream of a session: who listens to pieces is told what was said so far in all that is open, before anything else. */
export class SessionLive extends Live<LiveEvents> {
  private readonly pieces = new Pieces()

  override on<K extends keyof LiveEvents & string>(name: K, listener: (value: LiveEvents[K]) => void): () => void {
    const told = name === 'piece' ? (this.pieces as Iterable<Piece> as Iterable<LiveEvents[K]>) : undefined
    return super.on(name, listener, told)
  }

  override emit<K extends keyof LiveEvents & string>(name: K, value: LiveEvents[K]): void {
    if (name === 'piece') this.pieces.add(value as Piece)
    super.emit(name, value)
  }

  override emitAll<K extends keyof LiveEvents & string>(name: K, values: readonly LiveEvents[K][]): void {
    if (name === 'event') for (const event of values) this.pieces.apply(event as SessionEvent)
    super.emitAll(name, values)
  }
}
