import type { EventDraft } from './event.ts'

/** A draft, or a function that makes one after the drafts before it in the list were folded. */
export type Draft = EventDraft | (() => EventDraft | undefined)

/** Options of a session, the same for a new one and an old one. */
export interface SessionOptions {
  /** Checks each request against a second fold of the serialised events before it leaves. */
  readonly strict?: boolean
  /** UTF-16 units of an event's JSON; a larger one is refused. Default: without a bound. */
  readonly maxEvent?: number
  /** True keeps of an old log only what came behind its last `turn/end` where plugins read it at once; the rest is {@link Session.read}. */
  readonly recent?: boolean
  /** Milliseconds since the epoch; for tests. */
  readonly now?: () => number
}
