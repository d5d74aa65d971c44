import { textOf } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import { type Host, TOKENS, type User, heard } from './host.ts'

export interface Message {
  readonly id?: string
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
  /** Of the prompt that it was opened for. */
  letter: string | undefined

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

  /** What became of the turn of a letter; `parked` where the stream ended before it. */
  async result(): Promise<Result> {
    const of = (type: string): SessionEvent[] => this.events.filter((event) => event.type === type)
    const prompt = (): number | undefined => (of('prompt/queued') as SessionEvent<'prompt/queued'>[]).find(({ data }) => data.letter === this.letter)?.seq
    const turn = (): number | undefined => (of('turn/start') as SessionEvent<'turn/start'>[]).find(({ data }) => data.prompt === prompt())?.data.turn
    const end = (): SessionEvent<'turn/end'> | undefined => (of('turn/end') as SessionEvent<'turn/end'>[]).find(({ data }) => data.turn === turn())
    while (!end()) if (!(await this.more())) return { reason: 'parked', text: '' }
    this.leave()
    const { reason, error } = end()!.data
    const said = this.events.slice(0, this.events.indexOf(end()!)).findLast(({ type }) => type === 'assistant/message') as SessionEvent<'assistant/message'> | undefined
    return { reason, text: said ? textOf(said.data.message) : '', ...(error && { error }) }
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
    for (const lines of whole) this.messages.push(...parse(lines))
    return true
  }
}

/** A message, and one for each event that it tells. */
function parse(text: string): readonly Message[] {
  const fields = Object.fromEntries(text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
  if (fields.data === undefined) return []
  const data = JSON.parse(fields.data) as { readonly events?: readonly SessionEvent[]; readonly type?: string }
  if (fields.event === 'append') return data.events!.map((event) => ({ event: 'log', data: event, id: fields.id! }))
  return [{ event: fields.event === 'piece' ? data.type! : fields.event!, data, ...(fields.id !== undefined && { id: fields.id }) }]
}

interface Init {
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

const JSON_BODY = { 'content-type': 'application/json' }

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

  async list(): Promise<readonly { readonly id: string; readonly state: string }[]> {
    return (await this.json<{ sessions: [] }>('GET', '/sessions')).sessions
  }

  /** Sends a prompt, and follows the session. */
  async turn(id: string, prompt: string): Promise<Stream> {
    const { letter } = await this.json<{ letter: string }>('POST', `/sessions/${id}/prompt`, { body: JSON.stringify({ prompt }), headers: JSON_BODY })
    const stream = await this.events(id)
    stream.letter = letter
    return stream
  }

  events(id: string, query = '', headers: Record<string, string> = {}): Promise<Stream> {
    return this.stream('GET', `/sessions/${id}/events${query}`, { headers })
  }

  async cancel(id: string): Promise<number> {
    const response = await this.request('POST', `/sessions/${id}/cancel`, { body: '{}', headers: JSON_BODY })
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
    return this.refused('POST', `/sessions/${id}/prompt`, { body: JSON.stringify({ prompt }), headers: JSON_BODY })
  }

  private async json<T>(method: string, path: string, init: Init = {}): Promise<T> {
    const response = await this.request(method, path, init)
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
