import { type EventSourceParser, createParser } from 'eventsource-parser'

/** Splits a stream of server-sent events into their data. The last event counts also where no blank line follows it. */
export class EventReader {
  private found: string[] = []
  private readonly parser: EventSourceParser = createParser({ onEvent: ({ event, data }) => { this.found.push(event === 'error' ? asError(data) : data) } })

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

/**
 * The data of an `error` event as an error, also where only the event's name says so: a text, or an object without
 * `error` or `type`.
 */
function asError(data: string): string {
  try {
    const value: unknown = JSON.parse(data)
    const isKnown = typeof value === 'object' && value !== null && ('error' in value || 'type' in value)
    return isKnown ? data : JSON.stringify({ error: value })
  } catch {
    return JSON.stringify({ error: data })
  }
}
