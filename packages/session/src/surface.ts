import { type Digest, EMPTY_CHAIN, type Message, type Owner, adoptJson, callsOf, chain, digestOf } from '@headrace/message'
import { LogError } from './error.ts'
import type { CallRef, EntryId, EventMap, SessionEvent, Signed } from './event.ts'
import { type StandingTurn, TurnPoints } from './turn-points.ts'

/** A message of the history, with its event and owner. */
export interface Entry {
  readonly id: EntryId
  readonly seq: number
  readonly message: Message
  readonly owner: Owner
  /** `provider/name` of the model that wrote an answer; a seed and a replacement have none. */
  readonly writer: string | undefined
}

/** The open step's entries. They join the surface when the step ends, in their final order. */
interface OpenStep {
  readonly boundary: number
  assistant: Entry | undefined
  readonly calls: { readonly id: string; readonly name: string; started: boolean; result: Entry | undefined; contexts: readonly Entry[] }[]
  readonly contexts: Entry[]
}

/** The history at a boundary, its messages frozen. Cheap: it shares the surface's array, which only grows. */
export interface HistorySnapshot {
  readonly entries: readonly Entry[]
  readonly length: number
}

/**
 * The ordered list of entries that become messages, derived from a log one event at a time.
 *
 * What is appended inside an open step stands behind that step's assistant message and results, whatever the timing; results and
 * their contexts stand in call order. Until the step ends, the surface is what it was at the boundary.
 */
export class Surface {
  private entries: Entry[] = []
  /** Chain digests: `links[n]` is over the first `n` entries. Computed when asked for. */
  private links: Digest[] = [EMPTY_CHAIN]
  /** How many entries, from the first on, are known to be frozen. What was loaded is frozen when it is first shown. */
  private frozen = 0
  /** True while a snapshot shares the array: changes other than growing it copy it first. */
  private shared = false
  /** Position of the last replace: several in a row usually go from front to back. */
  private near = 0
  private step: OpenStep | undefined
  private readonly points = new TurnPoints()

  /**
   * Takes in an event; `model` is that of the folded header, which an answer is written by. @throws LogError where the
   * log would break L16 or the order of steps; nothing has changed then
   */
  apply(event: SessionEvent, model?: string): void {
    switch (event.type) {
      case 'session/open': return this.seed(event.seq, event.data.seed ?? [])
      case 'turn/start': return this.begin(event.seq, event.data.turn)
      case 'step/start': return this.open(event.seq)
      case 'step/end': return this.close(event.seq)
      case 'user/message': {
        if (this.step) throw new LogError('a user message inside an open step', event.seq)
        return void this.entries.push(entryOf(event.seq, event.data))
      }
      case 'context/message': {
        const waiting = this.step ? this.step.contexts : this.entries
        return void waiting.push(entryOf(event.seq, event.data))
      }
      case 'assistant/message': return this.answer(event.seq, event.data, model)
      case 'approval/decided':
      case 'question/asked': return void this.callOf(event.data, event.seq)
      case 'tool/start': return void (this.callOf(event.data, event.seq).started = true)
      case 'tool/result': return this.result(event.seq, event.data)
      case 'surface/replace': return this.replace(event.seq, event.data)
      case 'surface/rewind': return this.rewind(event.seq, event.data)
    }
  }

  /** The history now: while a step is open, as of its boundary. */
  snapshot(): HistorySnapshot {
    this.shared = true
    this.freezeAll()
    return { entries: this.entries, length: this.entries.length }
  }

  private freezeAll(): void {
    for (; this.frozen < this.entries.length; this.frozen++) freeze(this.entries[this.frozen]!)
  }

  /** How many messages the history has. */
  get length(): number {
    return this.entries.length
  }

  /** Turns that no rewind took back, in order: a rewind goes to the beginning of one. */
  get turns(): readonly StandingTurn[] {
    return this.points.standing
  }

  get boundary(): number | undefined {
    return this.step?.boundary
  }

  /** Digest chain of the history. Computes only what is new since the last call. */
  chain(): Digest {
    for (let index = this.links.length - 1; index < this.entries.length; index++) {
      this.links.push(chain(this.links[index]!, digestOf(this.entries[index]!.message)))
    }
    return this.links[this.entries.length]!
  }

  /** Digest chain as it will be when the open step ends. */
  closingChain(): Digest {
    return this.closing().reduce((link, entry) => chain(link, digestOf(entry.message)), this.chain())
  }

  /** The open step's calls that have no result yet, in order. */
  openCalls(): readonly (CallRef & { readonly id: string; readonly name: string; readonly started: boolean })[] {
    const step = this.step
    if (!step?.assistant) return []
    const { seq: assistant } = step.assistant
    return step.calls.flatMap((call, index) =>
      call.result ? [] : [{ assistant, index, id: call.id, name: call.name, started: call.started }],
    )
  }

  /**
   * What tells topics what the model will have been told: the surface, and what the open step adds. With `from`, its newest part:
   * behind the last entry that is older than that event. Costs what it returns.
   */
  visible(from = 0): readonly Entry[] {
    const { entries } = this
    this.freezeAll()
    const closing = this.closing()
    for (const entry of closing) freeze(entry)
    const added = newest(closing, from)
    return Object.freeze(added.length < closing.length ? added : newest(entries, from).concat(added))
  }

  /** The entries from one to another; none where one of them does not stand. Costs what it returns where replaces go from front to back. */
  between(first: EntryId, last: EntryId): readonly Entry[] {
    const from = this.indexOf(first)
    const to = last === first ? from : this.indexOf(last)
    return from < 0 || to < from ? [] : this.entries.slice(from, to + 1)
  }

  private begin(seq: number, turn: number): void {
    this.shared = true
    this.points.begin(seq, turn, this.entries)
  }

  private seed(seq: number, seed: readonly Message[]): void {
    const broken = unpaired(seed)
    if (broken !== undefined) throw new LogError(`the seed has a tool call without its result, or a result without its call, at message ${broken} (L16)`, seq)
    for (const [part, message] of seed.entries()) this.entries.push(entryOf(seq, { message, owner: seedOwner(message) }, part))
  }

  private open(seq: number): void {
    if (this.step) throw new LogError(`a step inside the step of boundary ${this.step.boundary}`, seq)
    this.step = { boundary: seq, assistant: undefined, calls: [], contexts: [] }
  }

  private close(seq: number): void {
    if (!this.step) throw new LogError('the end of a step that was not open', seq)
    const missing = this.step.calls.findIndex((call) => !call.result)
    if (missing >= 0) throw new LogError(`the step ends while call ${missing} (${this.step.calls[missing]!.name}) has no result (L16)`, seq)
    for (const entry of this.closing()) this.entries.push(entry)
    this.step = undefined
  }

  private closing(): readonly Entry[] {
    if (!this.step) return []
    const { assistant, calls, contexts } = this.step
    const entries: Entry[] = assistant && assistant.message.content.length > 0 ? [assistant] : []
    for (const { result } of calls) if (result) entries.push(result)
    for (const call of calls) entries.push(...call.contexts)
    return entries.concat(contexts)
  }

  private answer(seq: number, data: EventMap['assistant/message'], model: string | undefined): void {
    if (!this.step) throw new LogError('an assistant message outside a step', seq)
    if (this.step.assistant) throw new LogError('a second assistant message in one step', seq)
    this.step.assistant = entryOf(seq, { message: data.message, owner: 'model' }, 0, model)
    for (const { id, name } of callsOf(data.message)) this.step.calls.push({ id, name, started: false, result: undefined, contexts: NONE })
  }

  private callOf({ assistant, index }: CallRef, seq: number): OpenStep['calls'][number] {
    const call = this.step?.assistant?.seq === assistant ? this.step.calls[index] : undefined
    if (!call) throw new LogError(`there is no call ${index} of message ${assistant} in the open step`, seq)
    return call
  }

  private result(seq: number, data: EventMap['tool/result']): void {
    const call = this.callOf(data, seq)
    if (call.result) throw new LogError(`a second result for call ${data.index} (${call.name})`, seq)
    const [block] = data.message.content
    if (block.id !== call.id || block.name !== call.name) throw new LogError(`the result answers ${block.name} ${block.id}, the call is ${call.name} ${call.id}`, seq)
    call.result = entryOf(seq, { message: data.message, owner: data.owner ?? 'tool' })
    if (data.additionalContext) call.contexts = data.additionalContext.map((signed, index) => entryOf(seq, signed, index + 1))
  }

  private replace(seq: number, data: EventMap['surface/replace']): void {
    if (this.step) throw new LogError('the surface cannot be replaced while a step is open; use agent/pre-step', seq)
    const first = this.indexOf(data.first)
    const last = data.last === data.first ? first : this.indexOf(data.last)
    for (const [id, index] of [[data.first, first], [data.last, last]] as const) {
      if (index < 0) throw new LogError(`entry ${id} is not on the surface: it is unknown, or was replaced already`, seq)
    }
    if (last < first) throw new LogError(`entry ${data.last} stands before entry ${data.first}`, seq)
    const added = data.messages.map((signed, part) => entryOf(seq, signed, part))
    const broken = this.brokenBy(first, last, added)
    if (broken !== undefined) throw new LogError(`replacing ${data.first} to ${data.last} would leave a tool call without its result, or a result without its call, at message ${broken} (L16)`, seq)
    const entries = this.shared ? [...this.entries] : this.entries
    if (added.length === last - first + 1) for (const [part, entry] of added.entries()) entries[first + part] = entry
    else entries.splice(first, last - first + 1, ...added)
    this.near = first
    this.become(entries, first)
  }

  /** From where the last replace was to the end, then from the front. */
  private indexOf(id: EntryId): number {
    const { entries, near } = this
    for (let index = near; index < entries.length; index++) if (entries[index]!.id === id) return index
    return entries.findIndex((entry) => entry.id === id)
  }

  /** Index of the first message that would break L16 if a range were replaced. */
  private brokenBy(first: number, last: number, added: readonly Entry[]): number | undefined {
    const { entries } = this
    let start = first
    while (start > 0 && entries[start]!.message.role === 'tool') start--
    let end = last + 1
    while (end < entries.length && entries[end]!.message.role === 'tool') end++
    const around = [...entries.slice(start, first), ...added, ...entries.slice(last + 1, end)]
    const broken = unpaired(around.map((entry) => entry.message))
    return broken === undefined ? undefined : start + broken
  }

  private rewind(seq: number, { turn }: EventMap['surface/rewind']): void {
    const entries = this.points.back(turn)
    if (!entries) throw new LogError(`there is no turn ${turn} to go back to; the newest is ${this.points.length}`, seq)
    let common = 0
    while (common < entries.length && entries[common] === this.entries[common]) common++
    this.become(entries, common)
  }

  /** Replaces the entries behind an unchanged beginning. Makes a new array: snapshots share the old one. */
  private become(entries: Entry[], common: number): void {
    this.entries = entries
    this.shared = false
    this.links.length = Math.min(this.links.length, common + 1)
    this.frozen = Math.min(this.frozen, common)
  }
}

const NONE: readonly Entry[] = []

/** What stands behind the last entry that is older than an event. */
function newest(entries: readonly Entry[], from: number): Entry[] {
  let start = entries.length
  while (start > 0 && entries[start - 1]!.seq >= from) start--
  return entries.slice(start)
}

function freeze(entry: Entry): void {
  adoptJson(entry.message)
  Object.freeze(entry)
}

/** Each has the same fields, made in one place: a request reads them all, which takes several times as long where shapes differ. */
function entryOf(seq: number, { message, owner }: Signed, part = 0, writer?: string): Entry {
  return { id: part === 0 ? `${seq}` : `${seq}.${part}`, seq, message, owner, writer }
}

function seedOwner(message: Message): Owner {
  return ({ system: 'app', user: 'user', assistant: 'model', tool: 'tool' } as const)[message.role]
}

/** Index of the first message that breaks L16: each call has one result, in call order, adjacent; `undefined` where none does. */
export function unpaired(messages: readonly Message[]): number | undefined {
  let waiting: readonly { readonly id: string }[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (waiting[0]?.id !== message.content[0].id) return index
      waiting = waiting.slice(1)
    } else {
      if (waiting.length > 0) return index
      waiting = callsOf(message)
    }
  }
  return waiting.length > 0 ? messages.length : undefined
}
