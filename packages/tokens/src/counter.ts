import type { CallConfig, Digest, Message, Segments, ToolSchema, Usage } from '@headrace/message'
import type { ContextWeight } from './weight.ts'

/** The parts of a request that weigh something. A `Request` is one. */
export interface Countable {
  /** Tells one session's figures from another's. */
  readonly session?: string
  /** Tells one model's figures from another's. */
  readonly config?: Pick<CallConfig, 'model' | 'maxOutputTokens'>
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
  /** `prefix ++ before ++ history ++ after`. */
  readonly messages: readonly Message[]
  readonly segments: Segments
}

/** What was weighed already, once per run, and is not counted again. */
export interface Weights {
  /** Tokens of the tool declarations. */
  readonly tools?: number
  /** The run's context, whose messages then leave `before` and `after`. */
  readonly context?: ContextWeight
}

/** Tokens of a request, term by term. `total` is the sum of all the others, always. */
export interface RequestCount {
  readonly system: number
  readonly tools: number
  readonly prefix: number
  readonly before: number
  readonly history: number
  readonly after: number
  readonly context: number
  /** Billed usage beyond the estimates, negative where it is less; 0 where there is none. */
  readonly correction: number
  readonly total: number
}

/** Counts tokens. Every count is a whole number, and the same value has the same count until usage is recorded. */
export interface TokenCounter {
  /** For people, e.g. `calibrated(heuristic)`. */
  readonly name: string
  /** Tokens of a text. */
  countText(text: string): number
  /** Tokens of messages, with the frame of each. */
  countMessages(messages: readonly Message[]): number
  /** Tokens of a request, term by term. */
  countRequest(request: Countable, weights?: Weights): RequestCount
  /** Tells what a provider billed for the whole of `request`, and the digest of the RunContext that was in it. */
  recordUsage(request: Countable, usage: Usage, options?: { readonly contextDigest?: Digest }): void
  /** Forgets what was billed. `reason` is for people. */
  invalidate(reason: string): void
}
