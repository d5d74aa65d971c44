import { HeadraceError, type Usage, sha256 } from '@headrace/message'
import type { CacheUse } from './cache.ts'
import type { ReplyError } from './error.ts'
import type { ChatBody, ChatFinish } from './protocol.ts'
import type { ModelRequest } from './request.ts'
import { countTokens } from './tokens.ts'

/** A tool call of an answer. */
export interface ReplyCall {
  readonly name: string
  /** Sent as its JSON; a text is sent as it is, valid or not. */
  readonly arguments: object | string
  /** Default: made from the conversation, so that the same conversation gets the same id. */
  readonly id?: string
}

/** An answer of the model, and faults of its delivery. A *piece* is one event of content, reasoning or arguments. */
export interface Answer {
  readonly reasoning?: string
  readonly text?: string
  readonly toolCalls?: readonly ReplyCall[]
  /** Default: `tool_calls` if there are any, otherwise `stop`. */
  readonly finish?: ChatFinish
  /** What the bill says instead of the estimate; `null` for a server that sends none. */
  readonly usage?: Partial<Usage> | null
  /** Characters a piece, 16 by default. */
  readonly chunkSize?: number
  /** Milliseconds before each piece; before the whole if it is not streamed. */
  readonly delay?: number
  /** The connection is cut after so many pieces, before the finish at the latest; half-way if it is not streamed. */
  readonly breakAfter?: number
  /** Sent as an event where the stream would be cut, as routers do when their provider fails; the stream then ends in order. */
  readonly breakWith?: ReplyError
  /** Nothing more is sent after so many pieces, the connection stays open. */
  readonly stallAfter?: number
  /** The second piece (or the only one) is cut in the middle of its JSON, the rest follows in order; not streamed, half of the body. */
  readonly malformed?: true
  readonly error?: never
  readonly hang?: never
}

/** An error of HTTP, in the place of an answer. */
export interface FailedReply {
  readonly error: ReplyError
  /** Milliseconds before it is sent. */
  readonly delay?: number
  readonly hang?: never
}

/** Not one byte is sent; the connection stays open until the client or the server closes it. */
export interface HangingReply {
  readonly hang: true
  readonly error?: never
}

/** What a script answers a request with. */
export type Reply = Answer | FailedReply | HangingReply

/** A request that reached the server, as a script gets it. */
export interface Call {
  /** How many calls came before. */
  readonly index: number
  readonly request: ModelRequest
  /** Aborted when the client has left, or the server is closing. */
  readonly signal: AbortSignal
}

/**
 * What the model says: a function of the conversation, so that a client that was killed and came back gets the continuation
 * it would have got. A text is an {@link Answer} with that text. What it throws is a 500 with the message.
 */
export type Script = (body: ChatBody, call: Call) => Reply | string | Promise<Reply | string>

/** A script that has no reply, or one that is none. */
export class ScriptError extends HeadraceError {
  constructor(problem: string) {
    super('SCRIPT_INVALID', problem)
  }
}

/** An answer with everything filled in. */
export interface Completion {
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  readonly model: string
  readonly reasoning: string
  readonly text: string
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly finish: ChatFinish
  readonly usage: (Usage & { readonly reasoning: number }) | undefined
}

/** @throws ScriptError */
export function toReply(value: unknown): Reply {
  if (typeof value === 'string') return { text: value }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ScriptError(`the script returned ${Array.isArray(value) ? 'a list' : String(value)}; return a reply, or a text`)
  }
  return value
}

export function complete(answer: Answer, request: ModelRequest, estimate: CacheUse): Completion {
  const { reasoning = '', text = '', toolCalls = [] } = answer
  const conversation = sha256(JSON.stringify(request.body.messages))
  const calls = toolCalls.map((call, index) => ({
    id: call.id ?? `call_${sha256(`${conversation} ${index}`).slice(0, 24)}`,
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
  }))
  return {
    id: `chatcmpl-${conversation.slice(0, 24)}`,
    created: Math.floor(request.time / 1000),
    model: request.body.model,
    reasoning,
    text,
    toolCalls: calls,
    finish: answer.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    usage: answer.usage === null ? undefined : bill(answer.usage, estimate, countTokens(reasoning), countTokens(text + calls.map((call) => call.name + call.arguments).join(''))),
  }
}

function bill(given: Answer['usage'], estimate: CacheUse, reasoning: number, spoken: number): Completion['usage'] {
  const input = given?.input ?? estimate.input
  return {
    input,
    cached: given?.cached ?? Math.min(estimate.cached, input),
    written: given?.written ?? estimate.written,
    output: given?.output ?? reasoning + spoken,
    reasoning,
  }
}
