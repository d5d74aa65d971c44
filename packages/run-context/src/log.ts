import type { Digest, Json } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import type { RunContext } from './context.ts'
import { type ContextEvent, contextEvent, decode, isSection } from './event.ts'
import { isPlain } from './input.ts'

declare module '@headrace/session' {
  interface EventMap {
    /** The context of a turn, in the append of its first dispatch. Never surface: the header event holds its messages. */
    'run/context': ContextEvent & { readonly turn: number }
  }
}

/** The contexts of a log, folded one event at a time: `run/context`, and those that wait with a queued prompt. A body is held once. */
export class ContextLog {
  private readonly bodies = new Map<Digest, { readonly seq: number; readonly rendered: string }>()
  private readonly recorded: SessionEvent<'run/context'>[] = []

  /** Applies an event; events without a context are ignored. */
  apply(event: SessionEvent): void {
    if (event.type === 'run/context') {
      this.recorded.push(event)
      this.carry(event.seq, event.data)
    } else if (event.type === 'prompt/queued' && event.data.context !== undefined) this.carry(event.seq, event.data.context)
  }

  private carry(seq: number, data: unknown): void {
    // The log may come from anywhere: an invalid context is reported where it is decoded.
    const sections = isPlain(data) ? (data as Partial<ContextEvent>).sections : undefined
    if (!Array.isArray(sections)) return
    for (const section of sections) {
      if (isSection(section) && 'rendered' in section && !this.bodies.has(section.digest)) this.bodies.set(section.digest, { seq, rendered: section.rendered })
    }
  }

  /** The context as data of an event that will have this seq. */
  encode(context: RunContext, seq: number): ContextEvent & { readonly [key: string]: Json } {
    return contextEvent(context, (section) => this.bodies.get(section)?.seq, seq) as ContextEvent & { readonly [key: string]: Json }
  }

  /** The context that data of an event of this log came from. @throws ContextEventError */
  decode(data: unknown): RunContext {
    return decode(data as ContextEvent, (seq, digest) => {
      const body = this.bodies.get(digest)
      return body?.seq === seq ? body.rendered : undefined
    })
  }

  /** Every `run/context`, in order. */
  get contexts(): readonly SessionEvent<'run/context'>[] {
    return this.recorded
  }

  /** The last `run/context`. */
  get last(): SessionEvent<'run/context'> | undefined {
    return this.recorded.at(-1)
  }

  /** A section's body by its digest; `undefined` where the log does not hold it. */
  body(section: Digest): string | undefined {
    return this.bodies.get(section)?.rendered
  }
}

/** Folds the contexts of a log. */
export function contextLogOf(events: Iterable<SessionEvent>): ContextLog {
  const log = new ContextLog()
  for (const event of events) log.apply(event)
  return log
}
