import { errorBody } from './error.ts'
import { anthropic } from './protocols/anthropic.ts'
import { google } from './protocols/google.ts'
import { responses } from './protocols/responses.ts'
import type { Protocol } from './protocols/protocol.ts'
import { chunkBody, deltas, usageChunk, wholeBody } from './wire.ts'

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
