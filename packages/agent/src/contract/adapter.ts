import type { AdapterRecord, Chunk, Digest, Request } from '@headrace/message'

/** What an adapter needs beside the request. */
export interface AdapterTools {
  /** The part of `config.model` before its first slash: the name that the adapter was registered under. */
  readonly provider: string
  /** The part behind it: the provider's own name of the model. */
  readonly model: string
  /** Bytes of an image block, from the session's store. */
  blob(digest: Digest): Promise<Uint8Array | undefined>
  /** Tells of a key that goes out with the request: it is taken out of what tools say. Nobody listens where nothing is sent. */
  key?(key: string): void
}

/**
 * Turns one frozen request into a stream of chunks. Whatever it changes on the way out is a pure function of the request. It yields
 * `usage` and `finish`, and `wire` where it can see the body it sent; it honours `request.signal`; it throws a `ModelError`.
 */
export interface Adapter {
  /** Streams the answer to a request; honours `request.signal`. @throws ModelError */
  stream(request: Request, tools: AdapterTools): AsyncIterable<Chunk>
  /** Makes the body of a request again, without sending it: what `headrace verify --wire` compares. @throws ModelError */
  wire?(request: Request, tools: AdapterTools): Promise<WireRecord>
  /** Models it knows of, where it can tell. */
  models?(): Promise<readonly string[]>
}

/** The digest of a body, and what made it. */
export interface WireRecord {
  readonly digest: Digest
  readonly adapter: AdapterRecord
}
