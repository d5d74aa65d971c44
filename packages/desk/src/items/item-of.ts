import { type AssistantMessage, type ContentBlock, type Json, type JsonObject, type Message, type Owner, adoptJson, isOurs } from '@headrace/message'
import type { AnswerPiece, CallRef } from '@headrace/session'
import type { CallItem, Item, MessageItem, PlanItem, ThoughtItem } from './item.ts'

type Said = Pick<Item, 'id' | 'seq' | 'time' | 'turn' | 'owner'>

/** Freezes a value and all that is in it. */
export function freezeAll(value: unknown): void {
  if (typeof value !== 'object' || value === null || isOurs(value)) return
  Object.freeze(value)
  for (const key in value) freezeAll((value as Record<string, unknown>)[key])
}

/** @throws TypeError for what has no list of blocks */
export function contentOf(message: { readonly content: readonly ContentBlock[] }): readonly ContentBlock[] {
  const { content } = message
  if (!isList(content)) throw new TypeError('no content')
  return content
}

function isList(value: unknown): boolean {
  return Array.isArray(value)
}

export function seedOwner({ role }: Message): Owner {
  return ({ system: 'app', user: 'user', assistant: 'model', tool: 'tool' } as const)[role]
}

/** The item of a block of an answer; none where there is nothing to show. `call` is its place, where it is in a log. */
export function blockItem(
  said: Said, block: AssistantMessage['content'][number], state: 'done' | 'interrupted', call: CallRef | undefined, model?: string,
): Item | undefined {
  if (block.type === 'tool-call') {
    const input = inputOf(block.arguments)
    return {
      ...said, kind: 'call', name: block.name, arguments: block.arguments, ...(input && { input }), ...(call && { call: Object.freeze(call) }), state: 'pending',
    } satisfies CallItem
  }
  if (typeof block.text !== 'string' || block.text === '') return undefined
  if (block.type === 'reasoning') return { ...said, kind: 'thought', text: block.text, state } satisfies ThoughtItem
  return { ...said, kind: 'message', role: 'assistant', content: Object.freeze([block]), state, ...(model && { model }) } satisfies MessageItem
}

/** The item of a block whose first piece has come. */
export function openItem({ type, dispatch, block, text, name }: AnswerPiece, turn: number | undefined, model: string): Item | undefined {
  const said = { id: `${dispatch}.${block}`, ...(turn !== undefined && { turn }), owner: 'model' }
  if (typeof text !== 'string') return undefined
  if (type === 'arguments') return typeof name === 'string' ? { ...said, kind: 'call', name, arguments: text, state: 'writing' } : undefined
  if (text === '') return undefined
  if (type === 'reasoning') return { ...said, kind: 'thought', text, state: 'open' }
  return { ...said, kind: 'message', role: 'assistant', content: Object.freeze([Object.freeze({ type: 'text', text } as const)]), state: 'open', ...(model && { model }) }
}

const KINDS = { text: 'message', reasoning: 'thought', arguments: 'call' } as const

/** What a piece has behind the text of its block; empty where it comes late or twice, leaves a gap, or is of another block. */
export function textOfPiece({ type, at, text }: AnswerPiece, { length, item }: { readonly length: number; readonly item: Pick<Item, 'kind'> }): string {
  return KINDS[type] === item.kind && at <= length && at + text.length > length ? text.slice(length - at) : ''
}

/** The object that a call's arguments say. */
function inputOf(text: string): JsonObject | undefined {
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? adoptJson(value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** What a result keeps of progress, as it is shown. */
export function progressOf(progress: Json): CallItem['progress'] {
  return Object.freeze(typeof progress === 'string' ? { text: progress } : { text: JSON.stringify(progress), state: progress })
}

/** The entries of `details { kind: 'plan', entries }`. */
export function planOf(details: Json | undefined): PlanItem['entries'] | undefined {
  if (typeof details !== 'object' || details === null || !('kind' in details) || details.kind !== 'plan') return undefined
  const { entries } = details
  return Array.isArray(entries) && entries.every(isPlanEntry) ? entries : undefined
}

function isPlanEntry(entry: unknown): entry is PlanItem['entries'][number] {
  if (typeof entry !== 'object' || entry === null) return false
  const { content, status } = entry as { readonly content?: unknown; readonly status?: unknown }
  return typeof content === 'string' && (status === 'pending' || status === 'in_progress' || status === 'completed')
}

/** The words of an `ErrorRecord`, which no reader of a log checks. */
export function errorText(error: unknown): string | undefined {
  const message: unknown = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' ? message : undefined
}
