import type { ReplyError } from './error.ts'
import { errorBody } from './error.ts'
import { anthropic } from './protocols/anthropic.ts'
import { google } from './protocols/google.ts'
import { responses } from './protocols/responses.ts'
import type { ChatBody } from './protocol.ts'
import type { Completion } from './reply.ts'
import { chunkBody, deltas, usageChunk, wholeBody } from './wire.ts'

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

const chat: Protocol = {
  modelIn: (path) => path === '/v1/chat/completions' ? '' : undefined,
  toChat: (body) => body,
  frames(completion, size, body) {
    const billed = body.stream_options?.include_usage === true && completion.usage !== undefined
    const bill = billed ? event(usageChunk(completion, completion.usage)) : ''
    return {
      head: event(chunkBody(completion, { role: 'assistant', content: '' }, null, billed)),
      pieces: [...deltas(completion, size)].map((delta) => event(chunkBody(completion, delta, null, billed))),
      tail: `${event(chunkBody(completion, {}, completion.finish, billed))}${bill}data: [DONE]\n\n`,
    }
  },
  whole: wholeBody,
  error: errorBody,
}

const PROTOCOLS: readonly Protocol[] = [chat, responses, anthropic, google]

/** The protocol of a path, and the model that it names. */
export function protocolOf(path: string): { readonly protocol: Protocol; readonly model: string } | undefined {
  for (const protocol of PROTOCOLS) {
    const model = protocol.modelIn(path)
    if (model !== undefined) return { protocol, model }
  }
  return undefined
}

function event(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
