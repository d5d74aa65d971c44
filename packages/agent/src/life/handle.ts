import { type Chunk, type Message, NO_USAGE, type Usage, addUsage, textOf } from '@headrace/message'
import type { ErrorRecord, Session, SessionEvent, TurnFinish, TurnReason } from '@headrace/session'
import type { ParkedError } from '../contract/error.ts'

/** What became of a turn. */
export interface TurnResult {
  /** `withdrawn`: the prompt was taken back before its turn began. `parked`: it goes on when its session is resumed. */
  readonly reason: TurnReason | 'withdrawn' | 'parked'
  readonly error?: ErrorRecord
  /** Why the last answer ended. */
  readonly finish?: TurnFinish
  /** Text of the last answer. */
  readonly text: string
  /** Of all the turn's requests, side requests included. */
  readonly usage: Usage
  readonly steps: number
  /** What the turn added to the history. */
  readonly messages: readonly Message[]
}

/** What a turn tells while it runs: events of the log, and the chunks of answers, which the log does not hold. */
export type TurnEvent = SessionEvent | Chunk

/**
 * A prompt on its way through its turn. Not a thenable: `await handle.result`.
 *
 * ```ts
 * for await (const event of agent.prompt('Why does the test fail?')) if (event.type === 'text') process.stdout.write(event.text)
 * ```
 */
export class TurnHandle implements AsyncIterable<TurnEvent> {
  /** The seq of its `prompt/queued`; absent for a turn that no prompt woke. */
  readonly prompt: number | undefined
  /** Never rejects. */
  readonly result: Promise<TurnResult>
  /** Resolves when the prompt is durable, so accepted (L17). @throws StoreError */
  readonly accepted: Promise<void>
  private readonly stop: (reason: string) => void
  private readonly events: TurnEvent[] = []
  private readonly waiting = new Set<() => void>()
  private over = false
  private resolve!: (result: TurnResult) => void

  constructor(prompt: number | undefined, accepted: Promise<void>, stop: (reason: string) => void) {
    this.prompt = prompt
    this.accepted = accepted
    accepted.catch(() => undefined)
    this.stop = stop
    this.result = new Promise((resolve) => (this.resolve = resolve))
  }

  /** Cancels its turn, or takes the prompt back where the turn has not begun. */
  cancel(reason = 'cancelled by the app'): void {
    if (!this.over) this.stop(reason)
  }

  /** Everything from the turn's beginning on, for each loop anew. */
  async *[Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    for (let index = 0; ; index++) {
      while (index >= this.events.length) {
        if (this.over) return
        await new Promise<void>((resolve) => this.waiting.add(resolve))
      }
      yield this.events[index]!
    }
  }

  /** @internal */
  push(event: TurnEvent): void {
    this.events.push(event)
    this.wake()
  }

  /** @internal */
  settle(result: TurnResult): void {
    this.over = true
    this.resolve(Object.freeze(result))
    this.wake()
  }

  private wake(): void {
    if (this.waiting.size === 0) return
    for (const wake of this.waiting) wake()
    this.waiting.clear()
  }
}

/** What the log says of a turn that ended. */
export function resultOf(session: Session, from: number, end: SessionEvent<'turn/end'>['data']): TurnResult {
  let usage = NO_USAGE
  let steps = 0
  let text = ''
  for (const event of session.events(from)) {
    if (event.type === 'request/end' && event.data.usage) usage = addUsage(usage, event.data.usage)
    if (event.type === 'step/start') steps++
    if (event.type === 'assistant/message') text = textOf(event.data.message)
  }
  const messages = Object.freeze(session.entriesSince(from).map((entry) => entry.message))
  const { reason, error, finish } = end
  return { reason, text, usage, steps, messages, ...(error && { error }), ...(finish && { finish }) }
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
