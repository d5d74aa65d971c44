import { type AssistantMessage, type Json, type Message, callsOf } from '@headrace/message'
import {
  type CallRef, type EventDraft, type EventMap, type EventType, type Piece, type SessionEvent,
  FORMAT, Fold, checkEvent, honestResult, repairs,
} from '@headrace/session'

/** What a live door is told: an append, or a piece. */
export type Told = { readonly events: readonly SessionEvent[] } | { readonly piece: Piece }

/** A log, and the live stream of the life that wrote it. */
export interface Lived {
  readonly told: readonly Told[]
  readonly events: readonly SessionEvent[]
}

/** Thrown where the process is killed, or parks: the log stands as it is, and another life goes on with it. */
class Killed extends Error {}
class Cancelled extends Error {}

const DIGEST = '0'.repeat(64)
const WORDS = ['yes', 'naïve 🙂', 'a\u2028b', '<b>&', '日本語', 'x'.repeat(60), ' ', '\n']
type Ender = 'done' | 'error' | 'limit' | 'stopped' | 'cancelled'

/** Numbers from 0 to below 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * A random life: prompts, steers, steps, failed attempts, calls, questions, side requests, cancels, compaction, rewinds, kills. Each event
 * can follow those before it, by the log's own fold; pieces are cut at random, and some come late or twice.
 */
export function randomLife(random: () => number): Lived {
  return new Life(random).live()
}

class Life {
  private readonly told: Told[] = []
  private readonly events: SessionEvent[] = []
  private fold = new Fold()
  private readonly random: () => number
  /** Side requests on their way. */
  private readonly sides: number[] = []
  /** Pieces that may be told again, late. */
  private readonly old: Piece[] = []

  constructor(random: () => number) {
    this.random = random
  }

  live(): Lived {
    const forked = this.chance(0.1) && { parent: 'p', at: 0 }
    const seed = this.chance(0.2) ? SEED : undefined
    this.append({ type: 'session/open', data: { ...FORMAT, id: 's', ...forked, ...(seed && { seed }), ...(this.chance(0.3) && { config: { model: 'lab/one' } }) } })
    for (let left = 3 + this.below(9); left > 0; left--) this.survive(() => this.between())
    return { told: this.told, events: this.events }
  }

  /** Repairs what a kill left, and goes on with the turn or ends it. */
  private survive(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      const { ledger } = this.fold
      this.sides.length = 0
      const { turn } = ledger
      const fixes = repairs(this.fold, ledger.openDispatches)
      this.append(...fixes)
      if (turn?.step) this.endStep('lost')
      if (!turn) return
      if (this.chance(0.5)) this.survive(() => this.answer())
      else this.endTurn('lost')
    }
  }

  private between(): void {
    const { ledger } = this.fold
    const does = this.below(12)
    if (does < 5) this.turn()
    else if (does < 6) this.queue()
    else if (does < 7 && ledger.queue.length > 0) this.withdraw()
    else if (does < 9 && ledger.turns > 0) this.append({ type: 'surface/rewind', data: { turn: 1 + this.below(ledger.turns), owner: 'user', reason: 'back' } })
    else if (does < 10) this.compact()
    else this.aside()
  }

  private turn(): void {
    if (this.fold.ledger.queue.length === 0 || this.chance(0.2)) this.queue()
    const [queued] = this.fold.ledger.queue
    const prompt = this.chance(0.9) && queued ? queued.seq : undefined
    this.append({ type: 'turn/start', data: { turn: this.fold.ledger.turns + 1, woke: 'prompt', ...(prompt !== undefined && { prompt }) } })
    this.answer()
  }

  /** The open turn, to its end. */
  private answer(): void {
    const { turn } = this.fold.ledger
    this.meanwhile()
    if (turn!.unsubmitted) {
      if (this.chance(0.1)) return this.endTurn('blocked')
      this.submit(turn!.prompt!)
    }
    try {
      for (let steps = this.below(4); steps > 0; steps--) {
        this.meanwhile()
        for (const steer of this.fold.ledger.queue) if (steer.steer && this.chance(0.7)) this.submit(steer.seq)
        if (this.chance(0.1)) this.compact()
        this.step()
      }
      this.endTurn(this.pick<Ender>(['done', 'done', 'done', 'error', 'limit', 'stopped']))
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error
      for (const steer of this.fold.ledger.queue) if (steer.steer) this.append({ type: 'prompt/withdrawn', data: { prompt: steer.seq, reason: 'cancelled' } })
      this.endTurn('cancelled')
    }
  }

  private submit(prompt: number): void {
    const contexts = Array.from({ length: this.below(2) }, (): EventDraft => ({ type: 'context/message', data: { message: this.text('system'), owner: 'a/b' } }))
    this.append({ type: 'user/message', data: { message: this.text('user'), owner: 'user', prompt } }, ...contexts)
  }

  private step(): void {
    const { ledger } = this.fold
    this.append({ type: 'step/start', data: { turn: ledger.turn!.number, step: ledger.turn!.steps + 1 } })
    let answered: SessionEvent<'assistant/message'> | undefined
    for (let attempt = 1; !answered; attempt++) {
      if (attempt > 3) return this.endStep('error')
      answered = this.attempt(attempt)
    }
    this.calls(answered)
    // In front of a step's end, too.
    this.meanwhile(this.chance(0.03))
    this.endStep('done')
  }

  private attempt(attempt: number): SessionEvent<'assistant/message'> | undefined {
    const { turn } = this.fold.ledger
    const substitute = this.chance(0.1) ? true as const : undefined
    const model = this.pick(['lab/one', 'lab/one', 'lab/one', 'lab/two'])
    const place = { turn: turn!.number, step: turn!.steps, attempt, boundary: turn!.step!.boundary, history: DIGEST, digest: DIGEST }
    const header: EventDraft[] = this.fold.headers.header && this.chance(0.6)
      ? []
      : [{ type: 'request/header', data: { reason: 'fallback', header: { config: { model } }, owners: { config: { model: 'user' } }, ...(substitute && { substitute }) } }]
    const dispatch = this.append(...header, { type: 'request/dispatch', data: place })
    const message = this.answerOf()
    const said = this.stream(dispatch, message)
    const usage = this.chance(0.8) ? { usage: { input: this.below(100), cached: 0, written: 0, output: 1 } } : {}
    if (said === 'whole') {
      this.append({ type: 'request/end', data: { dispatch, outcome: 'ok', ...usage } }, { type: 'assistant/message', data: { message, dispatch } })
      this.late()
      return this.events.at(-1) as SessionEvent<'assistant/message'>
    }
    if (said === 'failed') {
      this.append({ type: 'request/end', data: { dispatch, outcome: 'error', ...usage, error: { kind: 'network', message: 'gone' } } })
      this.late()
      return undefined
    }
    this.append({ type: 'turn/cancel', data: { turn: turn!.number, reason: 'stop' } })
    const kept: EventDraft[] = said.content.length > 0 ? [{ type: 'assistant/message', data: { message: said, dispatch, interrupted: true } }] : []
    this.append({ type: 'request/end', data: { dispatch, outcome: 'aborted', ...usage } }, ...kept)
    this.late()
    for (const call of this.fold.surface.openCalls()) this.append(honestResult(call))
    this.endStep('cancelled')
    throw new Cancelled()
  }

  /** Tells an answer in pieces. It comes whole, fails, or is cancelled: then it gives what was said until then. */
  private stream(dispatch: number, message: AssistantMessage): 'whole' | 'failed' | AssistantMessage {
    const ends = this.chance(0.7) ? Infinity : this.below(12)
    let count = 0
    const content: AssistantMessage['content'][number][] = []
    for (const [block, part] of message.content.entries()) {
      const text = part.type === 'tool-call' ? part.arguments : part.text
      const said = (upTo: number): AssistantMessage['content'][number] => withText(part, text.slice(0, upTo).toWellFormed())
      const base = { dispatch, block, ...(part.type === 'tool-call' ? { type: 'arguments' as const, name: part.name } : { type: part.type }) }
      if (part.type === 'tool-call') this.piece({ ...base, at: 0, text: '' })
      content.push(said(0))
      for (let at = 0; at < text.length;) {
        if (count++ >= ends) {
          const kept = content.filter((one) => one.type === 'tool-call' || one.text !== '')
          return this.chance(0.5) ? 'failed' : { role: 'assistant', content: kept }
        }
        const to = Math.min(text.length, at + 1 + this.below(20))
        // Now and then from further back: what was told comes again in the same piece.
        const from = this.chance(0.1) ? this.below(at + 1) : at
        this.piece({ ...base, at: from, text: text.slice(from, to) })
        at = to
        content[block] = said(at)
        this.meanwhile()
      }
    }
    return 'whole'
  }

  private calls({ seq, data }: SessionEvent<'assistant/message'>): void {
    const calls = callsOf(data.message)
    const waiting: CallRef[] = []
    const cancelled = this.chance(0.08)
    for (const index of calls.keys()) {
      const call = { assistant: seq, index }
      if (this.chance(0.3)) this.append({ type: 'approval/decided', data: { ...call, rule: 'a/r', decision: this.pick(['allow', 'ask']) } })
      const allowed = !this.chance(0.3) || this.ask(call, 'permission')
      if (allowed && !cancelled) waiting.push(call)
      else if (!cancelled) this.result(call, calls[index]!, 'denied')
      this.meanwhile()
    }
    if (waiting.length > 0) this.append(...waiting.map((call): EventDraft => ({ type: 'tool/start', data: call })))
    const shown = new Map(waiting.map((call) => [call.index, { from: 0, at: 0 }]))
    while (waiting.length > 0) {
      const call = this.pick(waiting)
      const does = this.below(20)
      if (does < 12) this.progress(call, data.dispatch, shown.get(call.index)!)
      else if (does < 14) this.append({ type: 'agent/child', data: { ...call, session: this.pick(['one', 'two']) } })
      else if (does < 15) this.ask(call, 'input')
      else {
        this.result(call, calls[call.index]!, this.pick(['done', 'error']))
        waiting.splice(waiting.indexOf(call), 1)
      }
      this.meanwhile()
      this.late()
    }
    if (!cancelled) return
    for (const call of this.fold.surface.openCalls()) this.append(honestResult(call))
    this.endStep('cancelled')
    throw new Cancelled()
  }

  private progress(call: CallRef, dispatch: number, shown: { from: number; at: number }): void {
    const state = this.chance(0.2) ? { a: this.below(9) } : undefined
    const text = state ? JSON.stringify(state) : this.pick(WORDS)
    if (state || this.chance(0.2)) shown.from = shown.at
    this.piece({ type: 'progress', ...call, dispatch, block: 0, ...shown, text, ...(state && { state }) })
    shown.at += text.length
  }

  /** True where the answer is yes. */
  private ask(call: CallRef, kind: 'permission' | 'input'): boolean {
    const question = this.append({ type: 'question/asked', data: { ...call, kind, question: 'May it?', ...(this.chance(0.5) && { options: [{ answer: 'allow', label: 'Yes' }] }) } })
    this.meanwhile()
    if (this.chance(0.3)) return false
    const answer = this.chance(0.7) ? 'allow' : { deny: 'no' }
    this.append({ type: 'question/answered', data: { question, answer, by: 'user' } })
    return answer === 'allow'
  }

  private result(call: CallRef, { id, name }: { readonly id: string; readonly name: string }, outcome: EventMap['tool/result']['outcome']): void {
    const plan = this.chance(0.15) && { details: { kind: 'plan', entries: [{ content: this.pick(WORDS), status: 'pending' }] } }
    this.append({ type: 'tool/result', data: {
      ...call, outcome, message: { role: 'tool', content: [{ type: 'tool-result', id, name, content: [{ type: 'text', text: this.pick(WORDS) }] }] },
      ...(this.chance(0.2) && { details: { diff: 'x' } }), ...plan, ...(this.chance(0.2) && { progress: this.pick<Json>(['last', { a: 1 }]) }),
      ...(this.chance(0.2) && { additionalContext: [{ message: this.text('system'), owner: 'a/b' }] }),
    } })
  }

  /** Whatever may happen at any time. */
  private meanwhile(kill = this.chance(0.01)): void {
    if (kill) throw new Killed()
    if (!this.chance(0.15)) return
    const does = this.below(6)
    if (does === 0) this.append({ type: 'context/message', data: { message: this.text('system'), owner: 'a/b', ...(this.chance(0.3) && { steer: true as const }) } })
    else if (does === 1) this.queue()
    else if (does === 2 && this.fold.ledger.queue.length > 0) this.withdraw()
    else if (does === 3) this.append({ type: 'x/unknown' as EventType, data: { any: 1 } } as unknown as EventDraft)
    else this.aside()
  }

  private aside(): void {
    if (this.chance(0.3)) return void this.append({ type: 'session/title', data: { title: this.pick(WORDS), owner: 'user' } })
    const side = this.sides.pop()
    if (side !== undefined) return void this.append({ type: 'request/end', data: { dispatch: side, outcome: 'ok', usage: { input: 7, cached: 0, written: 0, output: 1 }, answer: { role: 'assistant', content: [{ type: 'text', text: 'a title' }] } } })
    if (!this.fold.headers.header) return
    const boundary = this.fold.surface.boundary ?? this.events.length
    this.sides.push(this.append({ type: 'request/dispatch', data: { boundary, history: DIGEST, digest: DIGEST, purpose: 'title', ...(this.chance(0.5) && { config: { model: 'lab/small' } }) } }))
  }

  private compact(): void {
    const entries = this.fold.surface.snapshot().entries.slice(0, this.fold.surface.length)
    const users = entries.flatMap(({ message }, index) => (message.role === 'user' ? [index] : []))
    if (users.length < 2) return
    const [first, behind] = [users[this.below(users.length - 1)]!, users.at(-1)!]
    if (behind <= first) return
    const replaced = { first: entries[first]!.id, last: entries[behind - 1]!.id }
    this.append({ type: 'surface/replace', data: { ...replaced, messages: [{ message: this.text('user'), owner: 'c/summary' }], owner: 'c/summary', reason: this.pick(['summarised', 'trimmed']) } })
  }

  private queue(): void {
    this.append({ type: 'prompt/queued', data: { input: this.text('user') as Message & { role: 'user' }, owner: 'user', ...(this.chance(0.4) && { steer: true as const }) } })
  }

  private withdraw(): void {
    this.append({ type: 'prompt/withdrawn', data: { prompt: this.pick(this.fold.ledger.queue).seq, reason: 'taken back' } })
  }

  private endStep(reason: EventMap['step/end']['reason']): void {
    const { turn } = this.fold.ledger
    this.append({ type: 'step/end', data: { turn: turn!.number, step: turn!.step!.number, reason, digest: DIGEST } })
  }

  private endTurn(reason: EventMap['turn/end']['reason']): void {
    const error = reason === 'done' || this.chance(0.3) ? {} : { error: { code: 'X', message: `why: ${reason}` } }
    this.append({ type: 'turn/end', data: { turn: this.fold.ledger.turn!.number, reason, settled: this.events.length - 1, ...error } })
  }

  private answerOf(): AssistantMessage {
    const content = Array.from({ length: this.below(5) }, (_, index): AssistantMessage['content'][number] => {
      const text = Array.from({ length: 1 + this.below(6) }, () => this.pick(WORDS)).join('')
      if (this.chance(0.4)) return { type: 'tool-call', id: `c${index}`, name: 'tool', arguments: this.pick(['{"a":1}', '', '{"a"', JSON.stringify({ text }), '[1]']) }
      return { type: this.chance(0.3) ? 'reasoning' : 'text', text }
    })
    return { role: 'assistant', content }
  }

  private text<R extends 'system' | 'user'>(role: R): { readonly role: R; readonly content: readonly [{ readonly type: 'text'; readonly text: string }] } {
    return { role, content: [{ type: 'text', text: `${this.pick(WORDS)}.` }] }
  }

  private append(...drafts: readonly EventDraft[]): number {
    const events = drafts.map(({ type, data }) => {
      const required = type === 'surface/rewind' && { required: true }
      const event = checkEvent({ seq: this.fold.length, time: 1_796_000_000_000 + this.fold.length, type, data, ...required })
      this.fold.apply(event)
      return event
    })
    this.events.push(...events)
    if (events.length > 0) this.told.push({ events })
    return this.events.length - 1
  }

  private piece(piece: Piece): void {
    this.told.push({ piece })
    this.old.push(piece)
    if (this.chance(0.1)) this.late()
  }

  /** Tells again what was told before. */
  private late(): void {
    if (this.old.length > 0 && this.chance(0.5)) this.told.push({ piece: this.pick(this.old) })
  }

  private chance(share: number): boolean {
    return this.random() < share
  }

  private below(count: number): number {
    return Math.floor(this.random() * count)
  }

  private pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }
}

function withText(block: AssistantMessage['content'][number], text: string): AssistantMessage['content'][number] {
  return block.type === 'tool-call' ? { ...block, arguments: text } : { ...block, text }
}

const SEED: readonly Message[] = [
  { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
  { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
  { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, { type: 'tool-call', id: 'x', name: 'look', arguments: '{}' }] },
  { role: 'tool', content: [{ type: 'tool-result', id: 'x', name: 'look', content: [{ type: 'text', text: 'seen' }] }] },
]
