import type { JsonObject } from '@headrace/message'
import { EnvHttpProxyAgent, type Response, fetch } from 'undici'
import { BadResponse, Malformed } from './failure.ts'
import { EventReader } from './event-stream.ts'
import { isRecord } from './family.ts'

/** How many bytes of an error's body are read; the message is near the beginning. */
const MAX_ERROR_BODY = 65_536
/** Most bytes of an answer that is not streamed. */
const MAX_WHOLE = 64 * 1024 * 1024

/**
 * Connections to models. They go through `HTTPS_PROXY` and `HTTP_PROXY` unless `NO_PROXY` says otherwise, trust
 * `NODE_EXTRA_CA_CERTS`, and have no timeouts of their own.
 */
export class Connections {
  private readonly agent = new EnvHttpProxyAgent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 30_000 } })

  /** Sends a body. @throws BadResponse */
  async post(url: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<Response> {
    const to = placeOf(url, headers)
    const response = await fetch(to.url, { method: 'POST', headers: to.headers, body, signal, dispatcher: this.agent, redirect: 'manual' })
    if (response.status >= 300) throw await badResponse(response, url)
    return response
  }

  /** Asks for a JSON. @throws BadResponse, Malformed */
  async get(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<unknown> {
    const to = placeOf(url, headers)
    const response = await fetch(to.url, { headers: to.headers, signal, dispatcher: this.agent, redirect: 'manual' })
    if (response.status >= 300) throw await badResponse(response, url)
    return parsed((await beginning(response, MAX_WHOLE)).toString())
  }

  /** The events of an answer. `heard` is called for every chunk of bytes. */
  events(response: Response, heard: () => void): AsyncGenerator<JsonObject> {
    return eventsOf(response, heard)
  }

  async close(): Promise<void> {
    await this.agent.destroy()
  }
}

type Headers = Readonly<Record<string, string>>

/** A name and password in a URL are sent as a header, as `fetch` requires; a configured key takes precedence. */
function placeOf(text: string, headers: Headers): { readonly url: string; readonly headers: Headers } {
  const url = new URL(text)
  const { username, password } = url
  if (username === '' && password === '') return { url: text, headers }
  url.username = ''
  url.password = ''
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) return { url: url.href, headers }
  const pair = [username, password].map((part) => decodeURIComponent(part)).join(':')
  return { url: url.href, headers: { ...headers, authorization: `Basic ${Buffer.from(pair).toString('base64')}` } }
}

/**
 * The data of an answer's events, JSON each, as they come; or the one JSON of a server that does not stream. `heard` is
 * called for every chunk of bytes, comments too.
 *
 * @throws BadResponse for an HTML page, Malformed for an event whose JSON was cut
 */
async function* eventsOf(response: Response, heard: () => void): AsyncGenerator<JsonObject> {
  const type = response.headers.get('content-type') ?? ''
  const events = new EventReader()
  let over = false
  const read = (found: readonly string[]): readonly string[] => {
    const end = found.findIndex((data) => data.trim() === '[DONE]')
    over = end >= 0
    return over ? found.slice(0, end) : found
  }
  const decoder = new TextDecoder()
  let first = ''
  let isStream: boolean | undefined = /event-stream/i.test(type) ? true : undefined
  for await (const bytes of response.body ?? []) {
    heard()
    const text = decoder.decode(bytes as Uint8Array, { stream: true })
    if (isStream === undefined) {
      first += text
      if (first.trim() === '') continue
      // Some servers send another content type for a stream, and some a whole answer though a stream was asked for.
      isStream = /^\s*(data|event|id|retry|:)/.test(first)
      if (isStream) yield* dataOf(read(events.read(first)))
    } else if (isStream) yield* dataOf(read(events.read(text)))
    else if ((first += text).length > MAX_WHOLE) throw new Malformed('it does not end')
    // Some servers keep the connection open after the last event.
    if (over) return
  }
  if (isStream) {
    yield* dataOf(read(events.end()))
    return
  }
  const whole = wholeOf(first)
  if (whole.length === 0) throw new BadResponse({ status: response.status, headers: { 'content-type': type }, body: first, url: response.url })
  yield* whole
}

/** Fields of which an answer that is not streamed has at least one, in any protocol. */
const ANSWERS = ['choices', 'candidates', 'output', 'content', 'promptFeedback', 'usageMetadata']

/** An answer that is not streamed, or a list of its chunks; nothing where it is something else. */
function wholeOf(text: string): JsonObject[] {
  try {
    const value: unknown = JSON.parse(text)
    const list = (Array.isArray(value) ? value as unknown[] : [value]).filter(isRecord)
    return list.every((one) => one['error'] === undefined && ANSWERS.some((name) => name in one)) ? list : []
  } catch {
    return []
  }
}

function* dataOf(events: readonly string[]): Generator<JsonObject> {
  for (const data of events) {
    // Keep-alives of some servers are events: `: keepalive`, `ping`.
    if (!/^\s*[[{]/.test(data)) continue
    const value = parsed(data)
    for (const item of Array.isArray(value) ? value : [value]) if (isRecord(item)) yield item
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Malformed(`JSON that ends too early or is none: ${text.slice(0, 80)}`)
  }
}

async function badResponse(response: Response, url: string): Promise<BadResponse> {
  const body = (await beginning(response, MAX_ERROR_BODY)).toString()
  return new BadResponse({ status: response.status, headers: Object.fromEntries(response.headers), body, url })
}

/** The first bytes of a body, as many as came before it broke; the rest is not read. */
async function beginning(response: Response, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const bytes of response.body ?? []) {
      chunks.push(bytes as Uint8Array)
      size += (bytes as Uint8Array).length
      if (size >= limit) break
    }
  } catch {
    // What was read so far is more useful than the error of the broken body.
  }
  return Buffer.concat(chunks).subarray(0, limit)
}
