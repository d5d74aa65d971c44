import type { SessionEvent } from '../event.ts'
import { type Cursor, parseCursor } from '../sum.ts'
import { StoreError } from './error.ts'

/** What a follower is given: events that are durable, each append whole or its rest at once; or that the log is another than it was. */
export type Followed =
  | { readonly events: readonly SessionEvent[]; /** Of the last of them: where to go on from. */ readonly cursor: Cursor }
  /** What was given does not count: the log does not have the cursor. Events follow from the first on. */
  | { readonly reset: true }

/** Options of `follow`. */
export interface FollowOptions {
  /** Goes on behind this event; default: from the first on. */
  readonly from?: Cursor
  /** Ends it. */
  readonly signal?: AbortSignal
}

/** One log, as a store lets it be followed. */
export interface FollowSource {
  /**
   * What is durable behind a cursor, in one look; a `reset` first where the log does not have it. Of one log: what is put in its place
   * meanwhile is of the next look.
   *
   * @throws SessionNotFoundError
   */
  look(from: Cursor | undefined): AsyncIterable<Followed>
  /** Calls back whenever a look may find more. Returns the call that ends that. */
  watch(onChange: () => void): () => void
}

/**
 * Follows a log until the signal aborts, or it is removed.
 *
 * @throws StoreError for what is no cursor, SessionNotFoundError once it is gone, and what reading throws
 */
export async function* follow(source: FollowSource, { from, signal }: FollowOptions): AsyncGenerator<Followed> {
  if (from !== undefined && !parseCursor(from)) throw new StoreError(`${JSON.stringify(from)} is no cursor: give one that follow gave, such as 12.0a1b2c3d`, { code: 'CURSOR_INVALID' })
  const bell = new Bell(signal)
  const unwatch = source.watch(() => bell.ring())
  let cursor = from
  try {
    while (!signal?.aborted) {
      bell.clear()
      for await (const item of source.look(cursor)) {
        cursor = 'reset' in item ? undefined : item.cursor
        yield item
        if (signal?.aborted) return
      }
      await bell.rung
    }
  } finally {
    unwatch()
    bell.end()
  }
}

/** Rung as often as one likes; heard once, also by who listens later. */
class Bell {
  rung!: Promise<void>
  private ringer!: () => void
  private readonly signal: AbortSignal | undefined
  private readonly onAbort = (): void => this.ring()

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal
    this.clear()
    signal?.addEventListener('abort', this.onAbort, { once: true })
  }

  ring(): void {
    this.ringer()
  }

  clear(): void {
    this.rung = new Promise((resolve) => (this.ringer = resolve))
  }

  end(): void {
    this.signal?.removeEventListener('abort', this.onAbort)
  }
}
