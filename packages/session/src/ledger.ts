import { adoptJson } from '@headrace/message'
import { LogError } from './error.ts'
import type { Answered, EventMap, Queued, Question, SessionEvent, SessionOpen } from './event.ts'

/** A prompt that was accepted and not taken yet. */
export interface QueuedPrompt extends Omit<Queued, 'steer'> {
  readonly seq: number
  readonly steer: boolean
}

/** A prompt that came with a key, also one that was taken. */
export interface KeyedPrompt extends Queued {
  readonly seq: number
}

/** A question that nobody has answered, and whose call has no result. */
export interface OpenQuestion extends Question {
  readonly seq: number
}

/** An answer that is remembered beyond its question. */
export interface RememberedAnswer extends Answered {
  readonly seq: number
}

/** Keys of so many newest prompts are remembered. */
export const KNOWN_KEYS = 1_000

/** The open turn, as the log has it. */
export interface OpenTurn {
  readonly number: number
  /** The seq of its `turn/start`. */
  readonly seq: number
  readonly prompt?: number
  /** Its prompt was taken, and has not become a user message yet. */
  unsubmitted: boolean
  /** Steps started. */
  steps: number
  step: { readonly number: number; readonly boundary: number } | undefined
  /** Its first `turn/cancel`. */
  cancelled: string | undefined
}

const TICKS: ReadonlySet<string> = new Set(['session/open', 'turn/start', 'step/start', 'step/end'])

/** The boundary of a side request, which answers nothing. */
const SIDE = -1

/** What is queued and what is owed, derived from a log one event at a time. */
export class Ledger {
  turn: OpenTurn | undefined
  /** The `time` of the newest `turn/start`, `step/start` or `step/end`; before the first, of `session/open`. */
  now = 0
  /** Turns started. */
  turns = 0
  private readonly prompts = new Map<number, QueuedPrompt>()
  /** Open dispatches, by seq: their boundary. */
  private readonly dispatches = new Map<number, number>()
  /** Seq of the newest item that is owed an answer, and up to which seq everything is answered or settled. */
  private newestOwing = -1
  private answered = -1
  /** The same for results: a batch with one that ends the turn is owed no answer. */
  private newestResult = -1
  private resultsOf = -1
  private endedBatch = -1
  /** What the session was created with. */
  origin: SessionOpen | undefined
  /** The newest title. */
  title: string | undefined
  private readonly keyed = new Map<string, KeyedPrompt>()
  private readonly letters = new Set<string>()
  private readonly asked = new Map<number, OpenQuestion>()
  private readonly kept: RememberedAnswer[] = []

  /** Prompts and steers that wait, in the order they were accepted. */
  get queue(): readonly QueuedPrompt[] {
    return [...this.prompts.values()].map(adoptJson)
  }

  /** True while a prompt waits. */
  isQueued(prompt: number): boolean {
    return this.prompts.has(prompt)
  }

  /**
   * True while the model has not seen a prompt, a steer or a tool result: one newer than the boundary of the last
   * step's dispatch that ended `ok`. Results of a batch with one that ends the turn are owed no answer.
   */
  get owed(): boolean {
    return this.newestOwing > this.answered || (this.newestResult > this.answered && this.resultsOf !== this.endedBatch)
  }

  /** Dispatches that have no `request/end`. */
  get openDispatches(): readonly number[] {
    return [...this.dispatches.keys()]
  }

  /** Those that belong to the open step: a side request may outlive the step it began in. */
  get openAttempts(): readonly number[] {
    return [...this.dispatches].flatMap(([dispatch, boundary]) => (boundary === SIDE ? [] : [dispatch]))
  }

  /** The prompt that came with a key, of the newest {@link KNOWN_KEYS} that had one. */
  promptOf(key: string): KeyedPrompt | undefined {
    return this.keyed.get(key)
  }

  /** True for a letter that an event names: it was taken. */
  isTaken(letter: string): boolean {
    return this.letters.has(letter)
  }

  /** Questions that wait for their answers, in the order they were asked. */
  get questions(): readonly OpenQuestion[] {
    return [...this.asked.values()].map(adoptJson)
  }

  /** Answers that are remembered, oldest first. No rewind takes them back; a fork has none of its parent's. */
  get remembered(): readonly RememberedAnswer[] {
    return this.kept.map(adoptJson)
  }

  /** @throws LogError where turns and steps do not nest */
  apply(event: SessionEvent): void {
    const { seq } = event
    if (TICKS.has(event.type)) this.now = event.time
    switch (event.type) {
      case 'session/open': return this.open(event.data)
      case 'session/title': return void (this.title = event.data.title)
      case 'prompt/queued': return this.enqueue(seq, event.data)
      case 'prompt/withdrawn':
        this.take(event.data.prompt, seq)
        return this.name(event.data.letter)
      case 'turn/start': return this.startTurn(seq, event.data)
      case 'turn/cancel': return this.cancel(event.data)
      case 'turn/end': return this.endTurn(seq, event.data)
      case 'step/start': return this.startStep(seq, event.data)
      case 'step/end': return this.endStep(seq, event.data)
      case 'user/message': return this.submit(seq, event.data.prompt)
      case 'context/message': if (event.data.steer) this.newestOwing = seq; return
      case 'question/asked': return void this.asked.set(seq, { seq, ...event.data })
      case 'question/answered': return this.answer(seq, event.data)
      case 'letter/refused': return this.name(event.data.letter)
      case 'tool/result': return this.closeCall(seq, event.data)
      case 'request/dispatch': this.dispatches.set(seq, event.data.purpose === undefined ? event.data.boundary : SIDE); return
      case 'request/end': return this.endRequest(seq, event.data)
      case 'surface/rewind': return this.rewind(seq)
    }
  }

  private open(data: SessionOpen): void {
    this.origin = data
    this.title = data.title
  }

  private enqueue(seq: number, data: Queued): void {
    this.prompts.set(seq, { seq, ...data, steer: data.steer === true })
    this.name(data.letter)
    if (data.key === undefined || this.isCopied(seq)) return
    // Moved to the end: the oldest is forgotten first.
    this.keyed.delete(data.key)
    this.keyed.set(data.key, { seq, ...data })
    if (this.keyed.size > KNOWN_KEYS) this.keyed.delete(this.keyed.keys().next().value!)
  }

  /** True for what a fork copied from its parent: it was addressed to the parent. */
  private isCopied(seq: number): boolean {
    return this.origin?.parent !== undefined && seq <= (this.origin.at ?? -1)
  }

  private name(letter: string | undefined): void {
    if (letter !== undefined) this.letters.add(letter)
  }

  /** A cancel of another turn changes nothing: that turn had ended when it came. */
  private cancel({ turn, reason, letter }: EventMap['turn/cancel']): void {
    if (this.turn?.number === turn) this.turn.cancelled ??= reason
    this.name(letter)
  }

  /** The first answer counts; an answer to a question that is not open changes nothing. */
  private answer(seq: number, data: Answered): void {
    this.name(data.letter)
    if (!this.asked.delete(data.question) || data.remember === undefined || this.isCopied(seq)) return
    this.kept.push({ seq, ...data })
  }

  /** Its questions are closed with it. */
  private closeCall(seq: number, { assistant, index, endTurn }: EventMap['tool/result']): void {
    this.newestResult = seq
    this.resultsOf = assistant
    if (endTurn) this.endedBatch = assistant
    if (this.asked.size === 0) return
    for (const question of this.asked.values())
      if (question.assistant === assistant && question.index === index) this.asked.delete(question.seq)
  }

  private take(prompt: number, seq: number): QueuedPrompt {
    const queued = this.prompts.get(prompt)
    if (!queued) throw new LogError(`prompt ${prompt} is not in the queue`, seq)
    this.prompts.delete(prompt)
    return queued
  }

  private startTurn(seq: number, { turn, prompt }: EventMap['turn/start']): void {
    if (this.turn) throw new LogError(`turn ${turn} starts inside turn ${this.turn.number}`, seq)
    if (turn !== this.turns + 1) throw new LogError(`turn ${turn} follows turn ${this.turns}`, seq)
    if (prompt !== undefined) this.take(prompt, seq)
    this.turns++
    this.turn = {
      number: turn,
      seq,
      unsubmitted: prompt !== undefined,
      steps: 0,
      step: undefined,
      cancelled: undefined,
      ...(prompt === undefined ? {} : { prompt }),
    }
  }

  private endTurn(seq: number, { turn, settled }: EventMap['turn/end']): void {
    if (this.turn?.number !== turn) throw new LogError(`the end of turn ${turn}, which is not open`, seq)
    if (this.turn.step) throw new LogError(`turn ${turn} ends inside its step ${this.turn.step.number}`, seq)
    // Otherwise nothing that comes later would ever be owed.
    if (settled >= seq) throw new LogError(`turn ${turn} settles event ${settled}, which is not before its end`, seq)
    this.answered = Math.max(this.answered, settled)
    this.turn = undefined
  }

  /** Settles what was owed: only what comes next is owed an answer. */
  private rewind(seq: number): void {
    if (this.turn) throw new LogError(`a rewind inside turn ${this.turn.number}`, seq)
    this.answered = seq
  }

  private startStep(seq: number, { turn, step }: EventMap['step/start']): void {
    if (this.turn?.number !== turn || this.turn.step) throw new LogError(`step ${step} starts where turn ${turn} cannot have one`, seq)
    if (step !== this.turn.steps + 1) throw new LogError(`step ${step} follows step ${this.turn.steps}`, seq)
    this.turn.steps++
    this.turn.step = { number: step, boundary: seq }
  }

  private endStep(seq: number, { turn, step }: EventMap['step/end']): void {
    if (this.turn?.number !== turn || this.turn.step?.number !== step) throw new LogError(`the end of step ${step} of turn ${turn}, which is not open`, seq)
    this.turn.step = undefined
  }

  private submit(seq: number, prompt: number): void {
    if (this.turn?.unsubmitted && this.turn.prompt === prompt) this.turn.unsubmitted = false
    else this.take(prompt, seq)
    this.newestOwing = seq
  }

  private endRequest(seq: number, { dispatch, outcome }: EventMap['request/end']): void {
    const boundary = this.dispatches.get(dispatch)
    if (boundary === undefined) throw new LogError(`the end of dispatch ${dispatch}, which is not open`, seq)
    this.dispatches.delete(dispatch)
    if (outcome === 'ok') this.answered = Math.max(this.answered, boundary)
  }
}
