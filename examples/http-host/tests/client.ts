import type { SessionEvent } from '@headrace/session'
import { type Host, TOKENS, type User, heard } from './host.ts'

export interface Message {
  readonly id?: number
  readonly event: string
  readonly data: unknown
}

export interface Result {
  readonly reason: string
  readonly text: string
  readonly error?: { readonly code: string; readonly message: string }
}

/** A stream of Server-Sent Events, as a client reads it. */
export class Stream {
  readonly messages: Message[] = []
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly stop: AbortController
  private readonly user: User
  private readonly decoder = new TextDecoder()
  private rest = ''

  constructor(body: ReadableStream<Uint8Array>, stop: AbortController, user: User) {
    this.reader = body.getReader()
    this.stop = stop
    this.user = user
  }

  /** Reads until a message is as wanted. @throws where the stream ends before */
  async until(wanted: (message: Message) => boolean): Promise<Message> {
    for (let at = 0; ; at++) {
      while (at >= this.messages.length) if (!(await this.more())) throw new Error(`the stream ended: ${JSON.stringify(this.messages.slice(-3))}`)
      if (wanted(this.messages[at]!)) return this.messages[at]!
    }
  }

  /** Everything, to its end. */
  async all(): Promise<readonly Message[]> {
    while (await this.more());
    return this.messages
  }

  /** Reads to the end, which must be the turn's result. */
  async result(): Promise<Result> {
    const last = (await this.all()).at(-1)
    if (last?.event !== 'result') throw new Error(`the stream ended with ${JSON.stringify(last)}`)
    return last.data as Result
  }

  get events(): readonly SessionEvent[] {
    return this.messages.flatMap(({ event, data }) => (event === 'log' ? [data as SessionEvent] : []))
  }

  /** The pieces of its answers of one kind, joined. */
  pieces(kind: 'text' | 'reasoning'): string {
    return this.messages.map(({ event, data }) => (event === kind ? (data as { text: string }).text : '')).join('')
  }

  /** Goes away in mid-stream. */
  leave(): void {
    this.stop.abort()
  }

  private async more(): Promise<boolean> {
    const { done, value } = await this.reader.read()
    if (done) return false
    const text = this.decoder.decode(value, { stream: true })
    heard(this.user, text)
    const [...whole] = (this.rest + text).split('\n\n')
    this.rest = whole.pop()!
    for (const lines of whole) if (!lines.startsWith(':')) this.messages.push(parse(lines))
    return true
  }
}

function parse(text: string): Message {
  const fields = Object.fromEntries(text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
  return { event: fields.event!, data: JSON.parse(fields.data!) as unknown, ...(fields.id !== undefined && { id: Number(fields.id) }) }
}

interface Init {
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

/** What a refusal is. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly retryAfter: string | null
}

/** A user's side of the HTTP API. */
export class Client {
  private readonly host: Host
  readonly user: User

  constructor(host: Host, user: User) {
    this.host = host
    this.user = user
  }

  request(method: string, path: string, init: Init = {}): Promise<Response> {
    return fetch(`${this.host.url}${path}`, { method, duplex: 'half', ...init, headers: { authorization: `Bearer ${TOKENS[this.user]}`, ...init.headers } } as RequestInit)
  }

  async create(): Promise<string> {
    return (await this.json<{ id: string }>('POST', '/sessions')).id
  }

  async list(): Promise<readonly { readonly id: string; readonly running: boolean }[]> {
    return (await this.json<{ sessions: [] }>('GET', '/sessions')).sessions
  }

  turn(id: string, prompt: string): Promise<Stream> {
    return this.stream('POST', `/sessions/${id}/turns`, { body: JSON.stringify({ prompt }), headers: { 'content-type': 'application/json' } })
  }

  events(id: string, query = '', headers: Record<string, string> = {}): Promise<Stream> {
    return this.stream('GET', `/sessions/${id}/events${query}`, { headers })
  }

  async cancel(id: string): Promise<number> {
    const response = await this.request('DELETE', `/sessions/${id}/turns/current`)
    heard(this.user, await response.text())
    return response.status
  }

  /** A request that must be refused. */
  async refused(method: string, path: string, init: Init = {}): Promise<Refusal> {
    const response = await this.request(method, path, init)
    const text = await response.text()
    heard(this.user, text)
    const { error } = JSON.parse(text) as { error: { code: string } }
    return { status: response.status, code: error.code, retryAfter: response.headers.get('retry-after') }
  }

  refusedPrompt(id: string, prompt: string): Promise<Refusal> {
    return this.refused('POST', `/sessions/${id}/turns`, { body: JSON.stringify({ prompt }), headers: { 'content-type': 'application/json' } })
  }

  private async json<T>(method: string, path: string): Promise<T> {
    const response = await this.request(method, path)
    const text = await response.text()
    heard(this.user, text)
    if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`)
    return JSON.parse(text) as T
  }

  private async stream(method: string, path: string, init: Init): Promise<Stream> {
    const stop = new AbortController()
    const response = await this.request(method, path, { ...init, signal: stop.signal })
    if (response.status !== 200) throw new Error(`${method} ${path} was answered with ${response.status}: ${await response.text()}`)
    return new Stream(response.body!, stop, this.user)
  }
}
