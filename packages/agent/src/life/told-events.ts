import type { TurnEvent } from '../contract/turn.ts'

/** An event, and what came behind it: whoever reads holds the place it has come to, so that nothing is kept for those who went on. */
interface Place {
  event?: TurnEvent
  next?: Place
}

/**
 * What a turn has told. Each reader gets each event that comes from then on as it came; of what was told before, the neighbouring chunks of
 * one text are one chunk. So an answer of 100,000 chunks is kept as its text.
 */
export class ToldEvents {
  private readonly before: TurnEvent[] = []
  /** The last of `before`, while chunks are put behind it. */
  private growing: Growing | undefined
  private tail: Place = {}
  private readers = 0
  private over = false
  private waiting: (() => void)[] = []

  push(event: TurnEvent): void {
    this.keep(event)
    if (this.readers === 0) return
    const place: Place = {}
    this.tail.event = event
    this.tail.next = place
    this.tail = place
    this.wake()
  }

  end(): void {
    this.over = true
    this.wake()
  }

  async *read(): AsyncGenerator<TurnEvent> {
    let place = this.tail
    this.readers++
    try {
      this.growing = undefined
      yield* this.before.slice()
      for (;;) {
        for (let { event, next } = place; event && next; { event, next } = place) {
          yield event
          place = next
        }
        if (this.over) return
        await new Promise<void>((resolve) => this.waiting.push(resolve))
      }
    } finally {
      this.readers--
    }
  }

  private keep(event: TurnEvent): void {
    if (event.type === 'text' || event.type === 'reasoning') {
      const { growing } = this
      if (growing?.type === event.type && !event.metadata) {
        growing.text += event.text
        return
      }
      // What follows metadata is another block.
      this.growing = event.metadata ? undefined : { type: event.type, text: event.text }
      this.before.push(this.growing ?? event)
      return
    }
    this.growing = undefined
    this.before.push(event)
  }

  private wake(): void {
    if (this.waiting.length === 0) return
    const { waiting } = this
    this.waiting = []
    for (const tell of waiting) tell()
  }
}

interface Growing {
  readonly type: 'text' | 'reasoning'
  text: string
}
