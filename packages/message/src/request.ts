import type { CallConfig } from './config.ts'
import { type Digest, chainOf, digestOf, sha256 } from './digest.ts'
import type { JsonObject } from './json.ts'
import type { Message } from './message.ts'

/** A tool as the model is told of it. */
export interface ToolSchema {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, its keys as the author gave them. */
  readonly parameters: JsonObject
}

/**
 * Lengths of the four parts of `Request.messages`. Cache breakpoints belong behind tools and system, `prefix` and
 * `history`, never on `after`.
 */
export interface Segments {
  readonly prefix: number
  readonly before: number
  readonly history: number
  readonly after: number
}

/** `plugin/key`, `user`, `model`, `tool`, `app` or `loop`: who put a thing where the model sees it. Never sent. */
export type Owner = string

/** What an adapter gets: deep-frozen (the signal is not), built from the log. */
export interface Request {
  /** Absent only on a request that belongs to no session. */
  readonly session?: string
  /** The seq of its `request/dispatch`. */
  readonly dispatch?: number
  readonly config: CallConfig
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
  /** `prefix ++ before ++ history ++ after`. */
  readonly messages: readonly Message[]
  readonly segments: Segments
  /** Runs beside `messages`. */
  readonly owners: readonly Owner[]
  /**
   * Runs beside `messages`: `provider/name` of the model that wrote an answer; nothing for a seed, a replacement, and
   * what is no answer.
   */
  readonly writers?: readonly (string | undefined)[]
  /** The session that the log began in: a fork's is its parent's. What a provider's cache is told belongs together. */
  readonly root?: string
  readonly signal: AbortSignal
}

/** The digests a request is proven by; an absent field has the digest of nothing. */
export interface RequestDigests {
  readonly config: Digest
  readonly system: Digest
  readonly tools: Digest
  readonly prefix: Digest
  readonly before: Digest
  readonly history: Digest
  readonly after: Digest
}

/** Everything that a model sees of a request and that is not history. Empty is absent (L10). */
export interface RequestHeader {
  readonly config: CallConfig
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
  readonly prefix?: readonly Message[]
  readonly before?: readonly Message[]
  readonly after?: readonly Message[]
}

/** Digests of all that a model sees of a request, given the chain of its history. */
export function requestDigests(header: RequestHeader, history: Digest): RequestDigests {
  return {
    config: digestOf(header.config),
    system: header.system === undefined ? '' : digestOf(header.system),
    tools: chainOf(header.tools),
    prefix: chainOf(header.prefix),
    before: chainOf(header.before),
    history,
    after: chainOf(header.after),
  }
}

/** `H(config, system, tools, prefix, before, history, after)`: SHA-256 over the seven digests, each followed by a line feed. */
export function requestDigest(digests: RequestDigests): Digest {
  const { config, system, tools, prefix, before, history, after } = digests
  return sha256([config, system, tools, prefix, before, history, after].map((digest) => `${digest}\n`).join(''))
}
