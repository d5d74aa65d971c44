import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type ReplyError, errorBody, errorHeaders } from './error.ts'
import type { Answer, Completion } from './reply.ts'
import type { Protocol } from './protocols/protocol.ts'
import type { OpenRequest } from './request.ts'

/** Where an answer goes: the response, the record that says what became of it, and the signal that it is no use any more. */
export interface Target {
  readonly response: ServerResponse
  readonly request: OpenRequest
  readonly signal: AbortSignal
  readonly protocol: Protocol
}

/** Sends a JSON body with its length. */
export function sendJson(response: ServerResponse, status: number, value: object, headers: Record<string, string> = {}): void {
  sendText(response, status, JSON.stringify(value), { 'content-type': 'application/json', ...headers })
}

export function sendError(response: ServerResponse, failure: ReplyError, headers: Record<string, string> = {}, body = errorBody as Protocol['error']): void {
  const all = { ...errorHeaders(failure), ...headers }
  if (failure.html === undefined) sendJson(response, failure.status, body(failure), all)
  else sendText(response, failure.status, failure.html, { 'content-type': 'text/html; charset=utf-8', ...all })
}

function sendText(response: ServerResponse, status: number, text: string, headers: Record<string, string>): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text)
}

/** Sends an error as the answer of a call. */
export function fail({ response, request, protocol }: Target, failure: ReplyError): void {
  request.status = failure.status
  sendError(response, failure, { 'x-request-id': `req_${request.index}` }, protocol.error)
}

/** Sends an answer as one JSON body. */
export async function sendWhole(target: Target, answer: Answer, completion: Completion): Promise<void> {
  const { response, request, signal } = target
  if (answer.delay) await pause(answer.delay, undefined, { signal })
  if (answer.breakWith) return fail(target, answer.breakWith)
  const text = JSON.stringify(target.protocol.whole(completion))
  const half = text.slice(0, text.length / 2)
  request.status = 200
  if (answer.breakAfter === undefined && answer.stallAfter === undefined) {
    return sendText(response, 200, answer.malformed ? half : text, { 'content-type': 'application/json' })
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  await write(target, half)
  await (answer.breakAfter === undefined ? untilAborted(signal) : breakOff(target))
}

/** Streams an answer as server-sent events. */
export async function sendStream(target: Target, answer: Answer, completion: Completion): Promise<void> {
  const { response, request, signal, protocol } = target
  const { chunkSize = 16, delay, breakAfter = Infinity, stallAfter = Infinity } = answer
  const limit = Math.min(breakAfter, stallAfter)
  const { head, pieces: all, tail } = protocol.frames(completion, chunkSize, request.body)
  const pieces = all.slice(0, limit)
  const bad = answer.malformed ? Math.min(1, all.length - 1) : -1
  request.status = 200
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  if (head !== '') await write(target, head)
  for (const [index, text] of pieces.entries()) {
    if (delay) await pause(delay, undefined, { signal })
    await write(target, index === bad ? `${text.slice(0, text.length / 2)}\n\n` : text)
  }
  if (answer.stallAfter !== undefined && stallAfter === limit) return untilAborted(signal)
  if (answer.breakWith) return void response.end(event(protocol.error(answer.breakWith)))
  if (answer.breakAfter !== undefined) return breakOff(target)
  response.end(tail)
}

/** Rejects once the signal is aborted, and never settles otherwise. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function event(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

/** Resolves when the text went to the system: a connection cut afterwards was not cut before it. */
function write({ response, signal }: Target, text: string): Promise<void> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    // Node calls no callback for writes to a closed connection.
    const leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    response.write(text, (error) => {
      signal.removeEventListener('abort', leave)
      if (error) reject(error)
      else resolve()
    })
  })
}

function breakOff({ response, request }: Target): void {
  request.outcome = 'broken'
  response.destroy()
}
