import * as agentPlugin from '@headrace/agent'
import * as desk from '@headrace/desk'
import { MemoryStore, type SessionEvent, type SessionStore } from '@headrace/session'
import { type Script, scriptedAdapter } from '@headrace/testing'
import { Context } from 'cordis'
import { onTestFinished } from 'vitest'
import { type Bounds, type Handler, type HandlerOptions, createHandler } from '../src/index.ts'
import { type Listening, listen } from '../src/server.ts'

export const TOKEN = 'token-of-the-tests'

export interface AppOptions {
  readonly script?: Script
  readonly store?: SessionStore
  readonly options?: Partial<HandlerOptions>
  /** Called before anything is driven. */
  readonly setup?: (ctx: Context) => void | Promise<void>
}

/** An app with a desk and a scripted model, and a handler of its sessions. */
export interface App {
  readonly ctx: Context
  readonly store: SessionStore
  readonly handler: Handler
  /** What the model was asked. */
  readonly requests: readonly unknown[]
  /** A request as a user sends it. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  /** The same, and the JSON that is answered. */
  json<T = Record<string, unknown>>(
    method: string, path: string, body?: unknown, headers?: Record<string, string>,
  ): Promise<{ readonly status: number; readonly body: T }>
  /** Begins a session. */
  create(): Promise<string>
  events(id: string): Promise<readonly SessionEvent[]>
  /** Listens at a port of its own. */
  listen(): Promise<Listening>
  stop(): Promise<void>
}

export async function app({ script = ['ok'], store = new MemoryStore(), options = {}, setup }: AppOptions = {}): Promise<App> {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, { strict: true, quiet: true })
  ctx.sessions.store(store)
  const model = scriptedAdapter(script)
  ctx.llm.adapter('scripted', model)
  ctx.agents.default({ model: 'scripted/model' })
  await ctx.plugin(desk, {})
  await setup?.(ctx)
  let handler!: Handler
  await ctx.plugin({
    name: 'http',
    inject: ['agents', 'desk', 'sessions'],
    apply: async (inner: Context) => {
      handler = createHandler(inner, { token: TOKEN, heartbeat: 50, grace: 100, ...options } as HandlerOptions)
    },
  })
  const servers: Listening[] = []
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => stopped ??= (async () => {
    handler.close()
    for (const server of servers) await server.close()
    await ctx.fiber.dispose()
  })()
  onTestFinished(stop)
  const call: App['call'] = (method, path, body, headers = {}) => handler(new Request(`http://127.0.0.1${path}`, {
    method,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
  }))
  return {
    ctx, store, handler, requests: model.requests, call, stop,
    async json(method, path, body, headers) {
      const response = await call(method, path, body, headers)
      const text = await response.text()
      return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as never }
    },
    async create() {
      return (await (await call('POST', '/sessions')).json() as { id: string }).id
    },
    async events(id) {
      const events: SessionEvent[] = []
      for await (const batch of store.load(id)) events.push(...batch)
      return events
    },
    async listen() {
      const server = await listen(handler, { host: '127.0.0.1', port: 0, closing: 100 })
      servers.push(server)
      return server
    },
  }
}

export type { Bounds }

/** One message of a stream of Server-Sent Events. */
export interface Message {
  readonly id?: string
  readonly event: string
  readonly data: string
}

/** A stream of Server-Sent Events, as a reader of its own takes it. */
export class Stream {
  readonly messages: Message[] = []
  /** All that came, comments too. */
  text = ''
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly decoder = new TextDecoder()
  private rest = ''

  constructor(response: Response) {
    this.reader = response.body!.getReader()
    onTestFinished(() => this.leave())
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

  /** Goes away in mid-stream. */
  async leave(): Promise<void> {
    await this.reader.cancel().catch(() => undefined)
  }

  /** Reads what comes next; false at the end. */
  async more(): Promise<boolean> {
    const { done, value } = await this.reader.read()
    if (done) return false
    const text = this.decoder.decode(value, { stream: true })
    this.text += text
    const [...whole] = (this.rest + text).split('\n\n')
    this.rest = whole.pop()!
    for (const lines of whole) {
      const message = parse(lines)
      if (message) this.messages.push(message)
    }
    return true
  }
}

function parse(text: string): Message | undefined {
  const fields = Object.fromEntries(text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
  if (fields.data === undefined) return undefined
  return { event: fields.event ?? 'message', data: fields.data, ...(fields.id !== undefined && { id: fields.id }) }
}

/** The events of the log that a stream has told. */
export function toldEvents(messages: readonly Message[]): readonly SessionEvent[] {
  return messages.flatMap(({ event, data }) => (event === 'append' ? (JSON.parse(data) as { events: SessionEvent[] }).events : []))
}

/** Whether a message tells the end of a turn. */
export const isTurnEnd = (message: Message): boolean => toldEvents([message]).some(({ type }) => type === 'turn/end')
