import type { Chunk } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import type { Summary } from './tally.ts'

/** Who follows a run: a person, or a program. */
export interface Audience {
  event(event: SessionEvent): void
  chunk(chunk: Chunk): void
  end(summary: Summary): void
}
