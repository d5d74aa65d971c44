import type { Audience } from './audience.ts'
import type { Terminal } from './terminal.ts'

/** A run for a program: every event and every piece of an answer is a JSON line, and a last one tells the result. */
export function jsonLines(terminal: Terminal): Audience {
  return {
    event: (event) => terminal.json(event),
    chunk: (chunk) => {
      if (chunk.type === 'text' || chunk.type === 'reasoning') terminal.json({ type: chunk.type, text: chunk.text })
    },
    end: (summary) => terminal.json({ type: 'result', ...summary }),
  }
}
