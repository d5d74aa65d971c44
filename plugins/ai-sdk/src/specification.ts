import type { JsonObject } from '@headrace/message'

/**
 * The part of a language model of the AI SDK that we use. Specifications v2 (AI SDK 5), v3 (6) and v4 (7) differ in the
 * rest.
 */
export interface LanguageModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  /** Streams an answer. */
  doStream(call: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

/** The specifications that are taken. */
export const SPECIFICATIONS = ['v2', 'v3', 'v4'] as const
export type Specification = (typeof SPECIFICATIONS)[number]

/** A part of an answer's stream, as any specification has it. */
export type StreamPart = Readonly<Record<string, unknown>> & { readonly type: string }

/** A part of a prompt, or a message of it. */
export type PromptPart = Readonly<Record<string, unknown>> & { readonly type: string; readonly providerOptions?: JsonObject }
export interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly PromptPart[]
}

/** What is given to `doStream`. */
export interface Call {
  readonly prompt: readonly PromptMessage[]
  readonly tools?: readonly object[]
  readonly temperature?: number
  readonly topP?: number
  readonly maxOutputTokens?: number
  readonly stopSequences?: readonly string[]
  readonly responseFormat?: object
  readonly providerOptions?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  readonly abortSignal?: AbortSignal
}
