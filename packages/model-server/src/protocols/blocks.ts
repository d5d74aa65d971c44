import type { Completion } from '../reply.ts'
import { cut } from '../wire.ts'

/** A part of an answer, with its pieces: a call's are those of its arguments. */
export interface Block {
  readonly type: 'reasoning' | 'text' | 'call'
  readonly index: number
  readonly pieces: readonly string[]
  readonly call?: Completion['toolCalls'][number]
}

/** The parts of an answer, in order. */
export function blocksOf({ reasoning, text, toolCalls }: Completion, size: number): Block[] {
  const list: Omit<Block, 'index'>[] = []
  if (reasoning !== '') list.push({ type: 'reasoning', pieces: [...cut(reasoning, size)] })
  if (text !== '') list.push({ type: 'text', pieces: [...cut(text, size)] })
  for (const call of toolCalls) list.push({ type: 'call', call, pieces: [...cut(call.arguments, size)] })
  return list.map((block, index) => ({ ...block, index }))
}

export type Fields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? value as Fields : {}
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** An image or a file, as chat completions tell it. */
export function media(type: string, data: unknown): object {
  return { type: 'image_url', image_url: { url: `data:${type};base64,${String(data)}` } }
}

export function named(type: string, value: object): string {
  return `event: ${type}\ndata: ${JSON.stringify(value)}\n\n`
}
