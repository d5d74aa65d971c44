import type { PromptCache } from './cache.ts'

/** Options of `createModelServer()`. */
export interface ModelServerOptions {
  /** Default: one that is free. */
  readonly port?: number
  /** Default: `127.0.0.1`. */
  readonly host?: string
  /** Asked for as `Authorization: Bearer …`; without it every key is good, and none. */
  readonly apiKey?: string
  /** What `GET /v1/models` lists; a request may name any other. Default: `scripted`. */
  readonly models?: readonly string[]
  /** Makes the cache of a model on its first request. It sees what was sent, breakpoints included. Default: blocks of 64 tokens. */
  readonly cache?: (model: string) => PromptCache
  /** Bytes; a longer body is answered with 413. Default: 64 MiB. */
  readonly maxBody?: number
}
