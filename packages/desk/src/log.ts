import { NO_USAGE, addUsage, textOf } from '@headrace/message'
import type { SessionEvent, SessionStore } from '@headrace/session'
import type { SentResult } from './seat.ts'

/** Events that are read at once on the way back to a turn's beginning. */
const WINDOW = 500

/** The events of the turn that ends at `end`: from its `turn/start` on. */
export async function turnEvents(store: SessionStore, id: string, end: number): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for (let to = end + 1; to > 0; ) {
    const from = Math.max(0, to - WINDOW)
    const part: SessionEvent[] = []
    for await (const batch of store.read(id, from, to)) part.push(...batch)
    const start = part.findLastIndex(({ type }) => type === 'turn/start')
    events.unshift(...part.slice(Math.max(0, start)))
    if (start >= 0) break
    to = from
  }
  return events
}

/** What the log says of a turn that ended, from its events. */
export function resultOf(events: readonly SessionEvent[]): SentResult {
  const [start, end] = [events[0], events.at(-1)]
  if (start?.type !== 'turn/start' || end?.type !== 'turn/end') throw new TypeError('these are no events of a turn')
  let usage = NO_USAGE
  let steps = 0
  for (const event of events) {
    if (event.type === 'request/end' && event.data.usage) usage = addUsage(usage, event.data.usage)
    if (event.type === 'step/start') steps++
  }
  const { turn, reason, error, finish } = end.data
  return { turn, reason, text: answerText(events), usage, steps, ...(error && { error }), ...(finish && { finish }) }
}

/** The text of the last answer, or of the result that ended the turn behind it: of several in a batch, the last in call order. */
function answerText(events: readonly SessionEvent[]): string {
  let ending: { readonly index: number; readonly text: string } | undefined
  for (const event of [...events].reverse()) {
    if (event.type === 'assistant/message') return ending?.text ?? textOf(event.data.message)
    if (event.type === 'tool/result' && event.data.endTurn && !(ending && ending.index > event.data.index)) {
      ending = { index: event.data.index, text: textOf(event.data.message.content[0]) }
    }
  }
  return ending?.text ?? ''
}

/** A result without a turn. */
export function withoutTurn(reason: SentResult['reason'], code: string, message: string): SentResult {
  return { reason, error: { code, message }, text: '', usage: NO_USAGE, steps: 0 }
}

/** Why a question is not open, as far as its log says; undefined where it is open. */
export async function closedBy(store: SessionStore, id: string, question: number): Promise<string | undefined> {
  const events: SessionEvent[] = []
  for await (const batch of store.read(id, question, Infinity)) events.push(...batch)
  const [asked] = events
  if (asked?.type !== 'question/asked') return `event ${question} is no question`
  for (const event of events) {
    const words = closing(asked, event)
    if (words !== undefined) return words
  }
  return undefined
}

/** What an event does to a question: the words why it is closed, or nothing. */
export function closing({ seq, data }: SessionEvent<'question/asked'>, event: SessionEvent): string | undefined {
  if (event.type === 'question/answered' && event.data.question === seq) return `question ${seq} was answered by ${event.data.by} already`
  if (event.type === 'tool/result' && event.data.assistant === data.assistant && event.data.index === data.index) return `question ${seq} is closed: its call has ended`
  return undefined
}
