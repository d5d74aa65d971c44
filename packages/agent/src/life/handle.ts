import { NO_USAGE, addUsage } from '@headrace/message'
import type { Session, SessionEvent, TurnFinish } from '@headrace/session'
import { checkOption } from '../contract/check-options.ts'
import type { ParkedError } from '../contract/error.ts'
import { answerText } from '../turn/answer-text.ts'
import type { TurnEvent, TurnHandle, TurnResult } from '../contract/turn.ts'
import { ToldEvents } from './told-events.ts'

/** A handle, and the calls that feed it, which only the life that made it has (L14). */
export interface PendingTurn {
  readonly handle: TurnHandle
  push(event: TurnEvent): void
  settle(result: TurnResult): void
}

/** @param stop cancels the turn, or takes the prompt back */
export function pendingTurn(prompt: number | undefined, accepted: Promise<void>, stop: (reason: string) => void): PendingTurn {
  const events = new ToldEvents()
  let over = false
  let resolve!: (result: TurnResult) => void
  const result = new Promise<TurnResult>((settle) => (resolve = settle))
  accepted.catch(() => undefined)
  const handle: TurnHandle = {
    prompt,
    result,
    accepted,
    cancel(reason = 'cancelled by the app') {
      checkOption('handle.cancel', typeof reason === 'string', 'has a reason that is a text')
      if (!over) stop(reason)
    },
    [Symbol.asyncIterator]: () => events.read(),
  }
  return {
    handle: Object.freeze(handle),
    push(event) {
      events.push(event)
    },
    settle(outcome) {
      over = true
      resolve(Object.freeze(outcome))
      events.end()
    },
  }
}

/** A handle of the running turn for a message that joins it. It shares the turn's events: a turn may have thousands of these. */
export function joinTurn(running: PendingTurn, accepted: Promise<void>): TurnHandle {
  accepted.catch(() => undefined)
  return Object.freeze({ ...running.handle, prompt: undefined, accepted })
}

/** What the log says of a turn that ended. */
export function resultOf(session: Session, from: number, end: SessionEvent<'turn/end'>['data'], cost?: number): TurnResult {
  let usage = NO_USAGE
  let steps = 0
  for (const event of session.events(from)) {
    if (event.type === 'request/end' && event.data.usage) usage = addUsage(usage, event.data.usage)
    if (event.type === 'step/start') steps++
  }
  const messages = Object.freeze(session.entriesSince(from).map((entry) => entry.message))
  const { reason, error, finish } = end
  const text = answerText(session, from) ?? ''
  return { reason, text, usage, ...(cost !== undefined && { cost }), steps, messages, ...(error && { error }), ...(finish && { finish }) }
}

/** The result of a prompt that was taken back before it had a turn. */
export function withdrawnResult(reason: string): TurnResult {
  return { reason: 'withdrawn', error: { code: 'WITHDRAWN', message: reason }, text: '', usage: NO_USAGE, steps: 0, messages: [] }
}

/** The result of a turn that was parked. */
export function parkedResult({ code, message }: ParkedError): TurnResult {
  return { ...withdrawnResult(message), reason: 'parked', error: { code, message } }
}

/** Why the turn's last answer ended; `empty` where it stopped with nothing to read and nothing to call. */
export function lastFinish(session: Session, from: number): TurnFinish | undefined {
  let empty = false
  for (let seq = session.length - 1; seq >= from; seq--) {
    const event = session.at(seq)
    if (event?.type === 'assistant/message') empty = event.data.message.content.every((block) => block.type === 'reasoning')
    if (event?.type === 'request/end' && event.data.finish && !event.data.answer) return empty && event.data.finish === 'stop' ? 'empty' : event.data.finish
  }
  return undefined
}
