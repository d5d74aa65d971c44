import { type Message, type ToolSchema, chainOf, copyJson, toContribution } from '@headrace/message'
import fc from 'fast-check'
import type { Budgetable, WeighableContext } from '../src/index.ts'

export function user(text: string): Message {
  return toContribution({ role: 'user', content: text }, 'test')
}

export function system(text: string): Message {
  return toContribution(text, 'test')
}

export function assistant(text: string): Message {
  return copyJson<Message>({ role: 'assistant', content: [{ type: 'text', text }] })
}

export function tool(name: string): ToolSchema {
  return copyJson({ name, description: `Does ${name}.`, parameters: { type: 'object', properties: { path: { type: 'string' } } } })
}

export interface Parts {
  readonly session?: string
  readonly model?: string
  readonly maxOutputTokens?: number
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
  readonly prefix?: readonly Message[]
  readonly before?: readonly Message[]
  readonly history?: readonly Message[]
  readonly after?: readonly Message[]
}

export function request(parts: Parts = {}): Budgetable {
  const { session = 's', model = 'm', maxOutputTokens, prefix = [], before = [], history = [], after = [] } = parts
  return {
    session,
    config: { model: `p/${model}`, ...maxOutputTokens !== undefined && { maxOutputTokens } },
    ...parts.system !== undefined && { system: parts.system },
    ...parts.tools && { tools: parts.tools },
    messages: [...prefix, ...before, ...history, ...after],
    segments: { prefix: prefix.length, before: before.length, history: history.length, after: after.length },
  }
}

/** Has the shape of a RunContext, and the places it gives its messages. */
export function context(head: string | undefined, tail: string | undefined): WeighableContext {
  const messages = { ...head !== undefined && { headMessage: system(head) }, ...tail !== undefined && { tailMessage: system(tail) } }
  return { digest: chainOf(Object.values(messages)), ...messages }
}

export function withContext(parts: Parts, { headMessage: head, tailMessage: tail }: WeighableContext): Parts {
  return { ...parts, before: [...head ? [head] : [], ...parts.before ?? []], after: [...parts.after ?? [], ...tail ? [tail] : []] }
}

export function usage(input: number) {
  return { input, cached: 0, written: 0, output: 10 }
}

const texts = fc.oneof(fc.string({ maxLength: 60 }), fc.string({ unit: 'grapheme', maxLength: 30 }), fc.lorem({ maxCount: 12 }))
export const someMessages = fc.array(texts.map((text) => user(text.toWellFormed())), { maxLength: 6 })
export const someParts: fc.Arbitrary<Parts> = fc.record({
  system: fc.lorem(), prefix: someMessages, before: someMessages, history: someMessages, after: someMessages,
  tools: fc.array(fc.constantFrom(tool('read'), tool('write')), { maxLength: 2 }),
})
const maybe = fc.option(fc.lorem(), { nil: undefined })
export const someContext = fc.tuple(maybe, maybe).map(([head, tail]) => context(head, tail))
