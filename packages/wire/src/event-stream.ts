import { type EventSourceParser, createParser } from 'eventsource-parser'

/** Splits a stream of server-sent events into their data. The last event counts also where the stream ends right behind it. */
export class EventReader {
  private found: string[] = []
  private readonly parser: EventSourceParser = createParser({ onEvent: ({ data }) => { this.found.push(data) } })

  read(text: string): readonly string[] {
    this.parser.feed(text)
    const found = this.found
    this.found = []
    return found
  }

  end(): readonly string[] {
    return this.read('\n\n')
  }
}
