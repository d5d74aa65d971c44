import type { IncomingMessage } from 'node:http'
import { HeadraceError, adoptJson } from '@headrace/message'
import { MAX_BREAKPOINTS } from './cache.ts'
import type { ReplyError } from './error.ts'
import type { ChatBody } from './protocol.ts'
import type { Protocol } from './protocols/protocol.ts'

/** A request that is answered without asking the script. */
export class Refusal extends HeadraceError {
  readonly failure: ReplyError
  readonly headers: Record<string, string>

  constructor(failure: ReplyError & { readonly message: string }, headers: Record<string, string> = {}) {
    super('REQUEST_REFUSED', failure.message)
    this.failure = failure
    this.headers = headers
  }
}

/**
 * The bytes of a request's body. What is beyond the limit is read and dropped, because a client that is answered while it
 * still sends sees a broken connection instead of the answer.
 *
 * @throws Refusal (413)
 */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) chunks.length = 0
    else chunks.push(chunk)
  }
  if (size > limit) throw new Refusal({ status: 413, message: `The request body has ${size} bytes; at most ${limit} are taken.` })
  return Buffer.concat(chunks)
}

/**
 * A body, deep-frozen, if a provider would take it.
 *
 * @throws Refusal (400)
 */
export function parseBody(bytes: Buffer, { protocol, model }: { readonly protocol: Protocol; readonly model: string }): ChatBody {
  let value: unknown
  try {
    value = adoptJson(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)))
  } catch {
    throw new Refusal({ status: 400, message: 'We could not parse the JSON body of your request.' })
  }
  if (!isObject(value)) throw invalid('The body must be an object.')
  checkBreakpoints(value)
  value = adoptJson(JSON.parse(JSON.stringify(protocol.toChat(value, model))))
  if (!isObject(value)) throw invalid('The body must be an object.')
  if (typeof value['model'] !== 'string' || value['model'] === '') throw invalid('You must provide a model parameter.', 'model')
  if (value['stream_options'] != null && value['stream'] !== true) {
    throw invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
  }
  checkMessages(value['messages'])
  checkTools(value['tools'])
  return value as unknown as ChatBody
}

/** Anthropic: "A maximum of 4 blocks with cache_control may be provided." */
function checkBreakpoints(body: object): void {
  const marks = JSON.stringify(body).match(/[{,]"cache_control":\{/g)?.length ?? 0
  if (marks > MAX_BREAKPOINTS) throw invalid(`A maximum of ${MAX_BREAKPOINTS} blocks with cache_control may be provided. Found ${marks}.`, 'cache_control')
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])

/** As providers do: known roles, content, and behind an assistant message exactly one result for each of its calls. */
function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid("'messages' must be a list of at least one message.", 'messages')
  let owed = new Set<unknown>()
  let asked = -1
  for (const [index, message] of (messages as unknown[]).entries()) {
    const at = `messages[${index}]`
    if (!isObject(message) || !ROLES.has(message['role'] as string)) throw invalid(`'${at}.role' must be one of ${[...ROLES].join(', ')}.`, at)
    if (message['role'] === 'tool') {
      if (!owed.delete(message['tool_call_id'])) {
        throw invalid(`'${at}' has the role 'tool' and answers ${JSON.stringify(message['tool_call_id'])}, which no preceding 'tool_calls' asked for, or not only once.`, at)
      }
    } else {
      checkOwed(owed, asked)
      owed = new Set(callIds(message, at))
      asked = index
    }
    if (message['content'] == null && !(message['role'] === 'assistant' && owed.size > 0)) throw invalid(`'${at}.content' is missing.`, at)
  }
  checkOwed(owed, asked)
}

function checkOwed(owed: ReadonlySet<unknown>, index: number): void {
  if (owed.size === 0) return
  throw invalid(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. `
    + `'messages[${index}]' has no response to ${[...owed].join(', ')}.`, `messages[${index}]`)
}

function callIds(message: Record<string, unknown>, at: string): unknown[] {
  const calls = message['role'] === 'assistant' ? message['tool_calls'] ?? [] : []
  if (!Array.isArray(calls)) throw invalid(`'${at}.tool_calls' must be a list.`, at)
  const ids = (calls as unknown[]).map((call) => isObject(call) && typeof call['id'] === 'string' && isNamed(call['function']) ? call['id'] : undefined)
  if (ids.includes(undefined)) throw invalid(`'${at}.tool_calls' has a call without an id or a function name.`, at)
  if (new Set(ids).size < ids.length) throw invalid(`'${at}.tool_calls' has one id twice.`, at)
  return ids
}

function checkTools(tools: unknown): void {
  if (tools === undefined) return
  if (!Array.isArray(tools) || tools.length === 0) throw invalid("'tools' must be a list of at least one tool.", 'tools')
  const bad = (tools as unknown[]).findIndex((tool) => !isObject(tool) || !isNamed(tool['function']))
  if (bad !== -1) throw invalid(`'tools[${bad}].function.name' must be 1 to 64 of a-z, A-Z, 0-9, underscore and hyphen.`, `tools[${bad}]`)
}

function isNamed(value: unknown): boolean {
  return isObject(value) && typeof value['name'] === 'string' && /^[\w-]{1,64}$/.test(value['name'])
}

function invalid(message: string, param?: string): Refusal {
  return new Refusal({ status: 400, message, ...param === undefined ? {} : { param } })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
