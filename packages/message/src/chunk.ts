import type { JsonObject } from './json.ts'

/**
 * Tokens. `input` counts the whole prompt; `cached` (read from the provider's cache) and `written` (to it) are parts of it. `output`
 * counts the whole answer; `reasoning` is a part of it, absent where the provider does not tell.
 */
export interface Usage {
  readonly input: number
  readonly cached: number
  readonly written: number
  readonly output: number
  readonly reasoning?: number
}

/** A usage of nothing. */
export const NO_USAGE: Usage = Object.freeze({ input: 0, cached: 0, written: 0, output: 0 })

/** The sum of two usages. */
export function addUsage(a: Usage, b: Usage): Usage {
  const told = a.reasoning === undefined && b.reasoning === undefined ? {} : { reasoning: (a.reasoning ?? 0) + (b.reasoning ?? 0) }
  return Object.freeze({
    input: a.input + b.input,
    cached: a.cached + b.cached,
    written: a.written + b.written,
    output: a.output + b.output,
    ...told,
  })
}

/** Why the model stopped: on its own, to call tools, at its output limit, or because it or its provider refused. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'refusal' | 'other'

/** What sent a request: the package that made the body, and the digest of what it was told beside the request. */
export interface AdapterRecord {
  readonly name: string
  readonly version: string
  readonly options?: string
}

/** A piece of a streamed answer. `index` tells the calls of one answer apart; `arguments` is the next piece of their text. */
export type Chunk =
  | { readonly type: 'text'; readonly text: string; readonly metadata?: JsonObject }
  | { readonly type: 'reasoning'; readonly text: string; readonly metadata?: JsonObject }
  | { readonly type: 'tool-call'; readonly index: number; readonly id?: string; readonly name?: string; readonly arguments?: string; readonly metadata?: JsonObject }
  | { readonly type: 'usage'; readonly usage: Usage }
  /** SHA-256 of the body sent to the provider, where the adapter can see it, and what made the body. */
  | { readonly type: 'wire'; readonly digest: string; readonly adapter?: AdapterRecord }
  /** What the provider calls its answer, and the model that it says it used. */
  | { readonly type: 'response'; readonly id?: string; readonly model?: string }
  | { readonly type: 'finish'; readonly reason: FinishReason }

/** What went wrong with an attempt: `status` is HTTP's, `retryAfter` is in milliseconds. */
export interface Failure {
  readonly kind: 'overflow' | 'rate-limit' | 'auth' | 'invalid' | 'server' | 'network' | 'timeout' | 'aborted' | 'plugin' | 'unknown'
  readonly message: string
  readonly status?: number
  /** The provider's own code. */
  readonly code?: string
  readonly retryAfter?: number
  /** Of an overflow: tokens of the model's window, where the provider tells. */
  readonly window?: number
}
