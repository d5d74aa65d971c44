import type { ReplyError } from '../error.ts'
import type { ChatBody } from '../protocol.ts'
import type { Completion } from '../reply.ts'

/** The texts of a streamed answer: what begins it, its pieces, and what ends it. */
export interface Frames {
  readonly head: string
  readonly pieces: readonly string[]
  readonly tail: string
}

/** A protocol that the server speaks: scripts see every body as one of chat completions. */
export interface Protocol {
  /** The model that a path names; nothing where the body does, `undefined` where the path is none of the protocol's. */
  modelIn(path: string): string | undefined
  /** The body as chat completions would have it; what cannot be read is left as it is, for the checks. */
  toChat(body: Readonly<Record<string, unknown>>, model: string): object
  frames(completion: Completion, size: number, body: ChatBody): Frames
  whole(completion: Completion): object
  /** An error, as a body or in mid-stream. */
  error(failure: ReplyError): object
}
