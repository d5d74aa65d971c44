import type { ChatBody } from './protocol.ts'
import type { FailedReply } from './reply.ts'
import { promptTokens } from './tokens.ts'

/** An answer that is an error, in OpenAI's shape: `{ error: { message, type, param, code } }`. */
export interface ReplyError {
  /** HTTP status, 400 to 599. */
  readonly status: number
  /** Default: the status in words. */
  readonly message?: string
  /** The provider's code, e.g. `rate_limit_exceeded`; default: `null`. */
  readonly code?: string
  /** Default: `server_error` from 500 on, otherwise `invalid_request_error`. */
  readonly type?: string
  readonly param?: string
  /** Milliseconds, sent as `Retry-After` in whole seconds (rounded up) and as `retry-after-ms`; a text is sent as it is. */
  readonly retryAfter?: number | string
  /** Sent instead of the JSON, as `text/html`: what a proxy in between would say. */
  readonly html?: string
}

/** 429 `rate_limit_exceeded`. `retryAfter` as in {@link ReplyError}. */
export function rateLimit(retryAfter?: number | string): FailedReply {
  const failure: ReplyError = { status: 429, code: 'rate_limit_exceeded', type: 'requests', message: 'Rate limit reached for requests.' }
  return { error: retryAfter === undefined ? failure : { ...failure, retryAfter } }
}

/** 400 `context_length_exceeded`, for a body that does not fit into a window of so many tokens. */
export function overflow(body: Pick<ChatBody, 'messages' | 'tools'>, window: number): FailedReply {
  const message = `This model's maximum context length is ${window} tokens. However, your messages resulted in ${promptTokens(body)} tokens.`
  return { error: { status: 400, code: 'context_length_exceeded', param: 'messages', message } }
}

/** 401 `invalid_api_key`. */
export function unauthorized(): FailedReply {
  return { error: { status: 401, code: 'invalid_api_key', message: 'Incorrect API key provided.' } }
}

/** 500, or another status from 500 on. */
export function serverError(status = 500): FailedReply {
  return { error: { status, message: 'The server had an error while processing your request.' } }
}

/** The JSON an error is sent as. */
export function errorBody(failure: ReplyError): { readonly error: object } {
  const { status, message = `The request failed with status ${status}.`, param = null, code = null } = failure
  return { error: { message, type: failure.type ?? (status >= 500 ? 'server_error' : 'invalid_request_error'), param, code } }
}

export function errorHeaders({ retryAfter }: ReplyError): Record<string, string> {
  if (retryAfter === undefined) return {}
  if (typeof retryAfter === 'string') return { 'retry-after': retryAfter }
  return { 'retry-after': String(Math.ceil(retryAfter / 1000)), 'retry-after-ms': String(retryAfter) }
}
