import { type Block, type Owner, type ToolResultBlock, adoptJson, defined } from '@headrace/message'
import { type CallRef, type EventMap, KEPT_PROGRESS, type ProgressPiece, type SessionEvent } from '@headrace/session'
import { progressOf } from './item-of.ts'
import type { CallItem, CallState, QuestionItem } from './item.ts'
import type { Entry, ItemList } from './item-list.ts'

interface OpenCall {
  readonly entry: Entry
  isStarted: boolean
  /** Its questions that wait. */
  readonly questions: Set<Entry>
  /** What is shown of it: where its present state begins, and up to where it was told. */
  shown: { readonly from: number; readonly end: number } | undefined
}

/** The calls of the open step, and their questions, from the answer to their results. */
export class Calls {
  private readonly list: ItemList
  private readonly calls = new Map<string, OpenCall>()
  private readonly questions = new Map<number, { readonly entry: Entry; readonly call: OpenCall | undefined }>()

  constructor(list: ItemList) {
    this.list = list
  }

  open(call: CallRef, entry: Entry): void {
    this.calls.set(keyOf(call), { entry, isStarted: false, questions: new Set(), shown: undefined })
  }

  /** A call of a seed, which is known by the model's id. */
  seed(block: Block, entry: Entry): void {
    if (block.type === 'tool-call') this.calls.set(block.id, { entry, isStarted: false, questions: new Set(), shown: undefined })
  }

  seeded(block: ToolResultBlock): void {
    const call = this.calls.get(block.id)
    this.calls.delete(block.id)
    if (call) this.update(call, { state: block.error ? 'error' : 'done', output: block.content })
  }

  decide({ rule, decision, ...call }: EventMap['approval/decided']): void {
    this.update(this.calls.get(keyOf(call)), { decided: Object.freeze({ rule, decision }) })
  }

  ask({ seq, data }: SessionEvent<'question/asked'>, said: { id: string; owner: Owner }): void {
    const { assistant, index, kind, question, options, schema } = data
    const call = this.calls.get(keyOf(data))
    const entry = this.list.add({
      ...said, kind: 'question', question: seq, about: kind, call: Object.freeze({ assistant, index }), text: question,
      ...(options && { options }), ...(schema && { schema }), state: call ? 'open' : 'closed',
    })
    if (!call) return
    this.questions.set(seq, { entry, call })
    call.questions.add(entry)
    this.update(call, {})
  }

  /** The first answer counts. */
  answer({ question, answer, by }: EventMap['question/answered']): void {
    const asked = this.questions.get(question)
    if (!asked) return
    this.questions.delete(question)
    this.list.set(asked.entry, { ...asked.entry.item as QuestionItem, state: 'answered', answer, by })
    asked.call?.questions.delete(asked.entry)
    this.update(asked.call, {})
  }

  start(ref: CallRef): void {
    const call = this.calls.get(keyOf(ref))
    if (call) call.isStarted = true
    this.update(call, {})
  }

  child({ session, ...ref }: EventMap['agent/child']): void {
    const call = this.calls.get(keyOf(ref))
    const { children = [] } = (call?.entry.item ?? {}) as Partial<CallItem>
    if (typeof session === 'string' && !children.includes(session)) this.update(call, { children: Object.freeze([...children, session]) })
  }

  /** Keeps the end of the present state. A piece of an earlier one is late. */
  progress({ assistant, index, from, at, text, state }: ProgressPiece): void {
    const call = this.calls.get(keyOf({ assistant, index }))
    const { shown } = call ?? {}
    const end = at + text.length
    if (!call || (shown && (from < shown.from || (from === shown.from && end <= shown.end)))) return
    const before = shown?.from === from && at <= shown.end ? (call.entry.item as CallItem).progress : undefined
    const whole = before ? before.text + text.slice(shown!.end - at) : text
    call.shown = { from, end }
    this.update(call, { progress: Object.freeze({ text: endOf(whole), ...(state !== undefined && { state: adoptJson(state) }) }) })
  }

  /** A result, and the end of what its call asked. */
  end(data: EventMap['tool/result']): void {
    const call = this.calls.get(keyOf(data))
    if (!call) return
    const [{ content }] = data.message.content
    this.calls.delete(keyOf(data))
    this.closeQuestions(call)
    const item = call.entry.item as CallItem
    const { outcome, details, progress } = data
    const shown = progress === undefined ? undefined : progressOf(progress)
    const ended = defined({ ...item, state: outcome, output: content, details, progress: shown })
    this.list.set(call.entry, ended)
  }

  /** The step has ended: what has no result gets none. */
  clear(): void {
    for (const call of this.calls.values()) this.closeQuestions(call)
    this.calls.clear()
  }

  private closeQuestions(call: OpenCall): void {
    for (const entry of call.questions) {
      const item = entry.item as QuestionItem
      this.questions.delete(item.question)
      this.list.set(entry, { ...item, state: 'closed' })
    }
    call.questions.clear()
  }

  private update(call: OpenCall | undefined, change: Partial<CallItem>): void {
    if (!call) return
    const state: CallState = call.questions.size > 0 ? 'asks' : call.isStarted ? 'running' : 'pending'
    this.list.set(call.entry, { ...call.entry.item as CallItem, state, ...change })
  }
}

function keyOf({ assistant, index }: CallRef): string {
  return `${assistant}/${index}`
}

function endOf(text: string): string {
  if (text.length <= KEPT_PROGRESS) return text
  const end = text.slice(-KEPT_PROGRESS)
  return end.isWellFormed() ? end : end.slice(1)
}
