import type { IncomingHttpHeaders } from 'node:http'
import type { Usage } from '@headrace/message'
import type { ChatBody } from './protocol.ts'

interface Received {
  /** Milliseconds since 1970. */
  readonly time: number
  /** With its query, e.g. `/v1/chat/completions`. */
  readonly path: string
  /** Lower-case names; what may hold a key is `[redacted]`. */
  readonly headers: Readonly<Record<string, string>>
  /** The body's text, byte for byte. */
  readonly raw: string
}

/** A call of the model, and its outcome. */
export interface ModelRequest extends Received {
  /** Its index in `server.requests`. */
  readonly index: number
  /** SHA-256 of the body's bytes. */
  readonly digest: string
  readonly body: ChatBody
  /** HTTP status that was sent; absent until then. */
  readonly status?: number
  /** What it was billed; absent for an error. */
  readonly usage?: Usage
  /** `pending`; `answered` to the end; `broken` off by the script; `aborted` by the client; `closed` with the server. */
  readonly outcome: 'pending' | 'answered' | 'broken' | 'aborted' | 'closed'
}

/** A request that never reached the script: no such path, not JSON, not a conversation a provider would take, no key. */
export interface RefusedRequest extends Received {
  readonly method: string
  readonly status: number
  readonly message: string
}

/** A {@link ModelRequest} as the server fills it in. */
export type OpenRequest = { -readonly [K in keyof ModelRequest]: ModelRequest[K] }

const SECRET = /^(proxy-)?authorization$|cookie$|(^|-)(api-?key|token|secret)$/

export function redact(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, SECRET.test(name) ? '[redacted]' : String(value)]))
}
