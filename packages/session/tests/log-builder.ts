import type { AssistantMessage, Contribution, SystemMessage, ToolCallBlock, ToolMessage, UserMessage } from '@headrace/message'
import { type Dispatch, type EpochHeader, type EventDraft, type EventType, FORMAT, Fold, type HeaderReason, type SessionEvent, type SessionOpen, type Signed, proveRequest } from '@headrace/session'

export const HEADER: EpochHeader = { config: { model: 'test/m' }, owners: {} }

export function user(text: string): UserMessage {
  return { role: 'user', content: [{ type: 'text', text }] }
}

export function system(text: string): SystemMessage {
  return { role: 'system', content: [{ type: 'text', text }] }
}

export function call(id: string, name = 'read', args = '{}'): ToolCallBlock {
  return { type: 'tool-call', id, name, arguments: args }
}

export function assistant(text: string, ...calls: readonly ToolCallBlock[]): AssistantMessage {
  return { role: 'assistant', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls] }
}

export function result(id: string, text: string, name = 'read'): ToolMessage {
  return { role: 'tool', content: [{ type: 'tool-result', id, name, content: [{ type: 'text', text }] }] }
}

/** Writes a log by hand, as the loop would: it numbers the events and computes the digests, by a fold of its own. */
export class LogBuilder {
  readonly events: SessionEvent[] = []
  fold = new Fold()
  header: EpochHeader = HEADER
  private attempt = 0

  constructor(open: Partial<SessionOpen> = {}) {
    this.add('session/open', { ...FORMAT, id: 'demo', ...open })
  }

  /** Appends one event, and gives its seq. */
  add<T extends EventType>(type: T, data: EventDraft<T>['data']): number {
    const event = { seq: this.events.length, time: 1_700_000_000_000 + this.events.length, type, data, ...(type === 'surface/rewind' && { required: true }) } as unknown as SessionEvent
    this.fold.apply(event)
    this.events.push(event)
    return event.seq
  }

  queue(text: string): number {
    return this.add('prompt/queued', { input: user(text), owner: 'user' })
  }

  /** A prompt, its turn and its user message. */
  prompt(text: string): number {
    const prompt = this.queue(text)
    this.turn(prompt)
    return this.add('user/message', { message: user(text), owner: 'user', prompt })
  }

  turn(prompt?: number): number {
    return this.add('turn/start', { turn: this.fold.ledger.turns + 1, woke: 'prompt', ...(prompt === undefined ? {} : { prompt }) })
  }

  endTurn(): number {
    return this.add('turn/end', { turn: this.fold.ledger.turn!.number, reason: 'done', settled: this.events.length - 1 })
  }

  step(): number {
    const { number, steps } = this.fold.ledger.turn!
    this.attempt = 0
    return this.add('step/start', { turn: number, step: steps + 1 })
  }

  endStep(): number {
    const { number, step } = this.fold.ledger.turn!
    return this.add('step/end', { turn: number, step: step!.number, reason: 'done', digest: this.fold.surface.closingChain() })
  }

  /** The header event that is owed, and a dispatch. */
  dispatch(header: EpochHeader = this.header, anchor?: Exclude<HeaderReason, 'fallback'>, substitute?: true): number {
    this.header = header
    const owed = this.fold.headers.owed(header, anchor, substitute)
    if (owed) this.add(owed.type, owed.data)
    const { surface, ledger: { turn } } = this.fold
    const proof = proveRequest(this.fold.headers.header!, surface.chain())
    return this.add('request/dispatch', { turn: turn?.number ?? 1, step: turn?.step?.number ?? 1, attempt: ++this.attempt, boundary: surface.boundary!, ...proof })
  }

  /** A side request. */
  ask(purpose: string, messages: readonly Signed[], side: Pick<Dispatch, 'config' | 'tools'> = {}): number {
    const { surface, headers } = this.fold
    const proof = proveRequest(headers.header!, surface.chain(), { messages, ...side })
    return this.add('request/dispatch', { boundary: surface.boundary ?? this.events.length, purpose, messages, ...side, ...proof })
  }

  ok(dispatch: number): number {
    return this.add('request/end', { dispatch, outcome: 'ok', usage: { input: 10, cached: 0, written: 0, output: 2 } })
  }

  /** A dispatch that was answered. */
  answer(message: AssistantMessage, header?: EpochHeader): number {
    const dispatch = this.dispatch(header)
    this.ok(dispatch)
    return this.add('assistant/message', { message, dispatch })
  }

  result(seq: number, index: number, message: ToolMessage, ...contexts: readonly Contribution[]): number {
    const additionalContext = contexts.map((context) => ({ message: context, owner: 'test/context' }))
    return this.add('tool/result', { assistant: seq, index, message, outcome: 'done', ...(contexts.length > 0 && { additionalContext }) })
  }

  context(message: Contribution, steer?: true): number {
    return this.add('context/message', { message, owner: 'test/context', ...(steer && { steer }) })
  }

  /** A whole step: an answer with calls, and their results. */
  toolStep(text: string, ...ids: readonly string[]): number {
    this.step()
    const seq = this.answer(assistant(text, ...ids.map((id) => call(id))))
    ids.forEach((id, index) => {
      this.add('tool/start', { assistant: seq, index })
      this.result(seq, index, result(id, `what ${id} found`))
    })
    return this.endStep()
  }

  /** A step that answers and calls nothing. */
  lastStep(text: string): number {
    this.step()
    this.answer(assistant(text))
    return this.endStep()
  }

  get lines(): readonly string[] {
    return this.events.map((event) => JSON.stringify(event))
  }

  /** What a reader in another process has: parsed text. */
  get parsed(): readonly SessionEvent[] {
    return this.lines.map((line) => JSON.parse(line) as SessionEvent)
  }
}
