import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf, sha256 } from '@headrace/message'
import { BlockCache, type PromptCache } from './cache.ts'
import { type Target, fail, sendError, sendJson, sendStream, sendWhole, untilAborted } from './delivery.ts'
import { Refusal, parseBody, readBytes } from './intake.ts'
import type { ModelServerOptions } from './options.ts'
import { type Answer, type Completion, type Reply, type Script, complete, toReply } from './reply.ts'
import { protocolOf } from './protocols.ts'
import { type OpenRequest, type RefusedRequest, redact } from './request.ts'
import { sentPrompt } from './sent.ts'

/** The state that all exchanges of a server share. */
export interface Desk {
  readonly script: Script
  readonly options: ModelServerOptions
  readonly requests: OpenRequest[]
  readonly refused: RefusedRequest[]
  /** By model: providers share nothing between two. */
  readonly caches: Map<string, PromptCache>
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
}

const MAX_BODY = 64 * 1024 * 1024

/** Handles one HTTP request to its end; resolves when its response is closed, never rejects. */
export async function serve(desk: Desk, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const over = new AbortController()
  const closed = new Promise<void>((resolve) => {
    const end = () => {
      request.socket.off('close', end)
      over.abort()
      resolve()
    }
    response.once('close', end)
    // A pipelined request that waits for another answer has no socket yet, and would not notice a disconnect.
    request.socket.once('close', end)
  })
  const time = Date.now()
  let bytes: Buffer = Buffer.alloc(0)
  try {
    bytes = await readBytes(request, desk.options.maxBody ?? MAX_BODY)
    await route(desk, request, response, bytes, time, over.signal)
  } catch (error) {
    if (error instanceof Refusal) {
      const { status } = error.failure
      desk.refused.push({ ...received(request, bytes, time), method: request.method ?? '', status, message: error.message })
      sendError(response, error.failure, error.headers)
    } else if (!response.headersSent && !over.signal.aborted) {
      sendError(response, { status: 500, message: messageOf(error) })
    }
  }
  if (!response.writableEnded) response.destroy()
  await closed
}

async function route(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  time: number,
  signal: AbortSignal,
): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?')
  const spoken = protocolOf(path)
  const method = spoken ? 'POST' : MODELS.test(path) ? 'GET' : undefined
  if (method === undefined)
    throw new Refusal({ status: 404, code: 'unknown_url', message: `Unknown request URL: ${request.method} ${path}.` })
  if (method !== request.method) {
    throw new Refusal(
      { status: 405, code: 'method_not_supported', message: `${path} takes ${method}, not ${request.method}.` },
      { allow: method },
    )
  }
  if (desk.options.apiKey !== undefined && keyIn(request) !== desk.options.apiKey) {
    throw new Refusal({ status: 401, code: 'invalid_api_key', message: 'Incorrect API key provided.' })
  }
  if (!spoken) return sendJson(response, 200, modelList(desk.options.models ?? ['scripted']))
  const body = parseBody(bytes, spoken)
  const call: OpenRequest = {
    ...received(request, bytes, time),
    index: desk.requests.length,
    digest: sha256(bytes),
    body,
    outcome: 'pending',
  }
  desk.requests.push(call)
  signal.addEventListener(
    'abort',
    () => {
      if (call.outcome === 'pending')
        call.outcome = response.writableFinished ? 'answered' : desk.closing.aborted ? 'closed' : 'aborted'
    },
    { once: true },
  )
  await answer(desk, { response, request: call, signal, protocol: spoken.protocol })
}

const MODELS = /^\/v1(beta)?\/models$/

/** The key of a request, wherever its protocol has it. */
function keyIn({ headers }: IncomingMessage): string | undefined {
  const { authorization, 'x-api-key': anthropic, 'x-goog-api-key': google } = headers
  return [authorization?.replace(/^Bearer /, ''), anthropic, google].find((key): key is string => typeof key === 'string')
}

async function answer(desk: Desk, target: Target): Promise<void> {
  const { request, signal } = target
  let reply: Reply
  let completion: Completion | undefined
  try {
    // A script may wait forever; it must not outlive its client.
    reply = toReply(await Promise.race([desk.script(request.body, { index: request.index, request, signal }), untilAborted(signal)]))
    if (!reply.hang && !reply.error) completion = finish(desk, request, reply)
  } catch (error) {
    if (!signal.aborted) fail(target, { status: 500, code: 'script_error', message: messageOf(error) })
    return
  }
  if (reply.hang) return untilAborted(signal)
  if (reply.error) {
    if (reply.delay) await pause(reply.delay, undefined, { signal })
    return fail(target, reply.error)
  }
  if (completion) await (request.body.stream === true ? sendStream : sendWhole)(target, reply, completion)
}

/** Completes an answer and bills it; only what is answered is in the cache afterwards. */
function finish({ caches, options }: Desk, request: OpenRequest, reply: Answer): Completion {
  const { body } = request
  let cache = caches.get(body.model)
  if (!cache) caches.set(body.model, cache = options.cache?.(body.model) ?? new BlockCache())
  // What was sent counts, not what scripts see of it.
  const completion = complete(reply, request, cache.send(sentPrompt(request.path, JSON.parse(request.raw) as Record<string, unknown>)))
  if (completion.usage) {
    const { input, cached, written, output } = completion.usage
    request.usage = { input, cached, written, output }
  }
  return completion
}

function received(request: IncomingMessage, bytes: Buffer, time: number): Pick<OpenRequest, 'time' | 'path' | 'headers' | 'raw'> {
  return { time, path: request.url ?? '', headers: redact(request.headers), raw: bytes.toString('utf8') }
}

function modelList(models: readonly string[]): object {
  return { object: 'list', data: models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'headrace' })) }
}
