import { shownQuestion } from '@headrace/consent'
import type { CallItem, Item, ItemChange, MessageItem, QuestionItem, ThoughtItem } from '@headrace/desk'
import { type JsonObject, NO_USAGE, addUsage, textOf } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import type { UiChunk } from './chunk.ts'
import { blockOf, dispatchOf, finishReason, keyOf, outputOf } from './words.ts'

/** The id of a question as the SDK has it: whose log it stands in, and its seq. */
export const approvalId = (session: string, question: number): string => `${session}/${question}`

/** What was told of a call. */
interface ToldCall {
  item: CallItem
  /** Its arguments are told: as they come, or whole. */
  input: 'none' | 'open' | 'whole'
  argumentsTold: number
  /** Questions that were told, and whether as answered. */
  readonly questions: Map<number, QuestionItem['state']>
  isOver: boolean
}

/**
 * One turn as one message of the AI SDK: changes of items in, chunks out. The same items give the same message, however they come, but for
 * what was discarded.
 *
 * Calls of an answer are told in their order, each once it waits for nothing in front of it; a call that a person is asked about begins a
 * step, unless it is the first: what decides whether a client sends approvals looks at the last step alone, and there everything must be
 * answered. So only the arguments of the first call are told as they come.
 */
export class TurnChunks {
  private readonly session: string
  private readonly turn: number
  private out: UiChunk[] = []
  /** The dispatch whose answer is told. */
  private dispatch: string | undefined
  private isStepOpen = false
  private readonly texts = new Map<string, { readonly kind: 'text' | 'reasoning'; text: string; told: number; isOver: boolean }>()
  private readonly calls = new Map<string, ToldCall>()
  /** By the place of their call. */
  private readonly questions = new Map<string, QuestionItem[]>()
  private readonly notes = new Set<string>()
  private discarded: string[] = []
  private usage = NO_USAGE
  private readonly counted = new Set<string>()

  constructor(session: string, turn: number) {
    this.session = session
    this.turn = turn
  }

  get messageId(): string {
    return `${this.session}.t${this.turn}`
  }

  start(): UiChunk {
    return { type: 'start', messageId: this.messageId, messageMetadata: { headrace: { session: this.session, turn: this.turn } } }
  }

  /** Takes changes of items; those of other turns are passed over. */
  take(changes: readonly ItemChange[]): readonly UiChunk[] {
    this.out = []
    this.discarded = []
    // A call stands in front of its questions, and is told with them.
    for (const change of changes) if (change.type === 'put' && change.item.kind === 'question') this.keepQuestion(change.item)
    for (const change of changes) this.change(change)
    if (this.discarded.length > 0) this.out.push({ type: 'data-headrace-discarded', id: `discarded-${this.discarded[0]!}`, data: { ids: this.discarded } })
    return this.out
  }

  /** Takes the items of a log in the order of a list, each as it stands. */
  takeAll(items: readonly Item[]): readonly UiChunk[] {
    return this.take(items.map((item) => ({ type: 'put', item })))
  }

  /** The turn's end. */
  end({ data: { reason, finish, error } }: SessionEvent<'turn/end'>): readonly UiChunk[] {
    this.out = []
    if (this.isStepOpen) this.out.push({ type: 'finish-step' })
    this.isStepOpen = false
    if (reason === 'error' || reason === 'blocked') {
      return [...this.out, { type: 'error', errorText: error ? `${error.message} (${error.code})` : `the turn ended: ${reason}` }]
    }
    if (reason === 'cancelled' || reason === 'lost') this.out.push({ type: 'abort', reason: error?.message ?? reason })
    return [...this.out, { type: 'finish', finishReason: reason === 'done' ? finishReason(finish) : reason === 'limit' ? 'length' : 'other' }]
  }

  private change(change: ItemChange): void {
    if (change.type === 'put') {
      if (change.item.turn === this.turn) this.put(change.item)
    } else if (change.type === 'text') this.more(change)
    else this.remove(change.id)
  }

  private put(item: Item): void {
    switch (item.kind) {
      case 'message': return item.role === 'assistant' ? this.say(item, 'text', textOf(item)) : this.heard(item)
      case 'thought': return this.say(item, 'reasoning', item.text)
      case 'call': return this.call(item)
      case 'question': {
        const call = this.callAt(keyOf(item))
        return call && this.call(call.item)
      }
      case 'plan': return void this.out.push({ type: 'data-headrace-plan', id: 'plan', data: { entries: item.entries.map((entry) => ({ ...entry })) } })
      case 'notice': return item.notice === 'compaction' ? this.note(item.id, 'compaction', { text: item.text }) : undefined
      case 'usage': {
        if (this.counted.has(item.id)) return undefined
        this.counted.add(item.id)
        this.usage = addUsage(this.usage, item.usage)
        return void this.out.push({ type: 'message-metadata', messageMetadata: { headrace: { usage: { ...this.usage } } } })
      }
    }
  }

  /** What somebody else said into the turn. */
  private heard(item: MessageItem): void {
    if (item.role === 'user' && item.steer && item.state !== 'queued') this.note(item.id, 'message', { text: textOf(item), owner: item.owner })
  }

  private note(id: string, kind: string, data: JsonObject): void {
    if (this.notes.has(id)) return
    this.notes.add(id)
    this.out.push({ type: `data-headrace-${kind}`, id, data })
  }

  private say(item: MessageItem | ThoughtItem, kind: 'text' | 'reasoning', text: string): void {
    let told = this.texts.get(item.id)
    if (!told) {
      if (text === '' && item.state === 'open') return
      this.stepOf(item.id)
      this.texts.set(item.id, (told = { kind, text: '', told: 0, isOver: false }))
      this.out.push({ type: `${kind}-start`, id: item.id, providerMetadata: { headrace: { owner: item.owner } } })
    }
    if (told.isOver) return
    told.text = text
    this.flush(item.id)
    if (item.state !== 'open') this.close(item.id)
  }

  private more({ id, at, text }: ItemChange & { readonly type: 'text' }): void {
    const told = this.texts.get(id)
    if (told) {
      if (told.isOver) return
      told.text = told.text.slice(0, at) + text
      return this.flush(id)
    }
    const call = this.calls.get(id)
    if (!call) return
    call.item = { ...call.item, arguments: call.item.arguments.slice(0, at) + text }
    this.tellArguments(call)
  }

  private flush(id: string): void {
    const told = this.texts.get(id)!
    const delta = told.text.slice(told.told)
    if (delta === '') return
    told.told = told.text.length
    this.out.push({ type: `${told.kind}-delta`, id, delta })
  }

  private close(id: string): void {
    const told = this.texts.get(id)!
    told.isOver = true
    this.out.push({ type: `${told.kind}-end`, id })
  }

  private call(item: CallItem): void {
    const told = this.calls.get(item.id)
    if (told) told.item = item
    else this.calls.set(item.id, { item, input: 'none', argumentsTold: 0, questions: new Map(), isOver: false })
    const batch = this.batchOf(item)
    const isDue = batch.map((call) => call.item.state !== 'writing' && call.item.state !== 'pending')
    const due = isDue.lastIndexOf(true)
    for (const [index, call] of batch.entries()) {
      if (index === 0 && due < 0) this.tellFirst(call)
      if (index <= due) this.tell(call, index)
    }
  }

  /** The calls of the same answer, in order. */
  private batchOf(item: CallItem): readonly ToldCall[] {
    const dispatch = dispatchOf(item.id)
    return [...this.calls.values()]
      .filter((call) => dispatchOf(call.item.id) === dispatch)
      .sort((a, b) => blockOf(a.item.id) - blockOf(b.item.id))
  }

  private tellFirst(call: ToldCall): void {
    if (call.input === 'none') {
      this.stepOf(call.item.id)
      call.input = 'open'
      this.out.push({ type: 'tool-input-start', toolCallId: call.item.id, toolName: call.item.name, dynamic: true })
    }
    if (call.item.state === 'writing') this.tellArguments(call)
    else this.tellInput(call)
  }

  private tellArguments(call: ToldCall): void {
    if (call.input !== 'open') return
    const delta = call.item.arguments.slice(call.argumentsTold)
    if (delta === '') return
    call.argumentsTold = call.item.arguments.length
    this.out.push({ type: 'tool-input-delta', toolCallId: call.item.id, inputTextDelta: delta })
  }

  private tellInput({ item }: ToldCall): void {
    const call = this.calls.get(item.id)!
    if (call.input === 'whole') return
    call.input = 'whole'
    const { id, name, input, owner } = item
    // What is no JSON is told with its result, which says so.
    this.out.push({ type: 'tool-input-available', toolCallId: id, toolName: name, input: input ?? item.arguments, dynamic: true, providerMetadata: { headrace: { owner } } })
  }

  private tell(call: ToldCall, index: number): void {
    const { item } = call
    const questions = item.call ? this.questions.get(keyOf({ call: item.call })) ?? [] : []
    if (call.input !== 'whole') {
      this.stepOf(item.id)
      if (index > 0 && questions.some(({ about }) => about === 'permission')) this.newStep()
    }
    this.tellInput(call)
    for (const question of questions) this.ask(call, question)
    this.result(call)
  }

  private ask(call: ToldCall, item: QuestionItem): void {
    const before = call.questions.get(item.question)
    if (before === item.state || call.isOver) return
    call.questions.set(item.question, item.state)
    const { id, question, about, text, options, schema, state, answer, by } = item
    const { name, input } = call.item
    this.out.push({
      type: 'data-headrace-question',
      id,
      data: {
        session: this.session, question, about, text, state, shown: [...shownQuestion(text, input && { name, input }).whole],
        ...(options && { options: options.map((option) => ({ ...option })) }), ...(schema && { schema }),
        ...(answer !== undefined && { answer }), ...(by !== undefined && { by }),
      },
    })
    if (about === 'permission' && before === undefined) this.out.push({ type: 'tool-approval-request', toolCallId: call.item.id, approvalId: approvalId(this.session, question) })
  }

  private result(call: ToldCall): void {
    const { id: toolCallId, state, output = [], progress } = call.item
    if (call.isOver) return
    if (state === 'running') {
      if (progress) this.out.push({ type: 'tool-output-available', toolCallId, output: progress.state ?? progress.text, preliminary: true, dynamic: true })
      return
    }
    if (state === 'asks' || state === 'pending' || state === 'writing') return
    call.isOver = true
    if (state === 'done') this.out.push({ type: 'tool-output-available', toolCallId, output: outputOf(output), dynamic: true })
    else if (state === 'denied' && call.questions.size > 0) this.out.push({ type: 'tool-output-denied', toolCallId })
    else this.out.push({ type: 'tool-output-error', toolCallId, errorText: textOf({ content: output }) || state, dynamic: true })
  }

  private remove(id: string): void {
    const told = this.texts.get(id)
    if (told) {
      if (!told.isOver) this.close(id)
      this.discarded.push(id)
    }
    const call = this.calls.get(id)
    if (!call) return
    this.calls.delete(id)
    if (call.input === 'none') return
    this.discarded.push(id)
    if (!call.isOver) this.out.push({ type: 'tool-input-error', toolCallId: id, toolName: call.item.name, input: call.item.arguments, errorText: 'discarded', dynamic: true })
  }

  private keepQuestion(item: QuestionItem): void {
    const key = keyOf(item)
    const others = (this.questions.get(key) ?? []).filter(({ question }) => question !== item.question)
    this.questions.set(key, [...others, item].sort((a, b) => a.question - b.question))
  }

  private callAt(key: string): ToldCall | undefined {
    return [...this.calls.values()].find(({ item }) => item.call && keyOf({ call: item.call }) === key)
  }

  /** Each dispatch is a step. */
  private stepOf(id: string): void {
    const dispatch = dispatchOf(id)
    if (dispatch === this.dispatch) return
    this.dispatch = dispatch
    this.newStep()
  }

  private newStep(): void {
    if (this.isStepOpen) this.out.push({ type: 'finish-step' })
    this.isStepOpen = true
    this.out.push({ type: 'start-step' })
  }
}
