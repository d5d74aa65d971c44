import { Readable, Writable } from 'node:stream'
import type {
  AgentContext, AgentRequestParamsByMethod, AgentRequestResponsesByMethod, CancelNotification, ClientCapabilities,
} from '@agentclientprotocol/sdk'
import { HeadraceError, messageOf } from '@headrace/message'
import { PROTOCOL_VERSION, RequestError, agent, methods, ndJsonStream } from './sdk.ts'

type Params<M extends keyof AgentRequestParamsByMethod> = AgentRequestParamsByMethod[M]
type Answer<M extends keyof AgentRequestResponsesByMethod> = Promise<AgentRequestResponsesByMethod[M]>

/** What an app answers a client's requests with. */
export interface Handlers {
  open(params: Params<'session/new'>): Answer<'session/new'>
  load(params: Params<'session/load'>): Answer<'session/load'>
  resume(params: Params<'session/resume'>): Answer<'session/resume'>
  list(params: Params<'session/list'>): Answer<'session/list'>
  close(sessionId: string): Promise<void>
  remove(sessionId: string): Promise<void>
  configure(params: Params<'session/set_config_option'>): Answer<'session/set_config_option'>
  prompt(params: Params<'session/prompt'>, signal: AbortSignal): Answer<'session/prompt'>
  cancel(params: CancelNotification): void
}

/** Where frames come from and go to. */
export interface WireOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  /** Of the program, for the client. */
  readonly version: string
}

/** The line to a client. It answers `initialize` by itself, at once; other requests wait for the app. */
export interface Wire {
  readonly client: AgentContext
  /** What the client said that it can do. */
  readonly capabilities: ClientCapabilities
  /** Resolves when the client is gone. */
  readonly closed: Promise<void>
  /** From now on requests are answered by these. Returns the call that ends that. */
  serve(handlers: Handlers): () => void
  /** There will be no app: what waits, and what comes, is answered with this. */
  fail(error: unknown): void
  /** Closes the line. */
  close(): void
}

/** Bytes of one frame; a longer one ends the connection. */
const MAX_FRAME = 64 * 1024 * 1024

/** Opens the line and listens. Nothing but frames is written to `output`. */
export function openWire({ input, output, version }: WireOptions): Wire {
  const app = new Waiting()
  let capabilities: ClientCapabilities = {}
  const stream = ndJsonStream(
    Writable.toWeb(output as Writable), Readable.toWeb(input as Readable) as ReadableStream<Uint8Array>, { maxMessageBytes: MAX_FRAME },
  )
  const connection = agent({ name: 'headrace' })
    .onRequest(methods.agent.initialize, ({ params }) => {
      capabilities = params.clientCapabilities ?? {}
      return {
        protocolVersion: Math.min(params.protocolVersion, PROTOCOL_VERSION),
        agentInfo: { name: 'headrace', title: 'headrace', version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, audio: false, embeddedContext: true },
          mcpCapabilities: { http: false, sse: false },
          sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
        },
        authMethods: [],
      }
    })
    // In front of cancel: a cancel that comes at once must find its prompt.
    .onRequest(methods.agent.session.prompt, ({ params, signal }) => app.ask((handlers) => handlers.prompt(params, signal)))
    .onRequest(methods.agent.session.new, ({ params }) => app.ask((handlers) => handlers.open(params)))
    .onRequest(methods.agent.session.load, ({ params }) => app.ask((handlers) => handlers.load(params)))
    .onRequest(methods.agent.session.resume, ({ params }) => app.ask((handlers) => handlers.resume(params)))
    .onRequest(methods.agent.session.list, ({ params }) => app.ask((handlers) => handlers.list(params)))
    .onRequest(methods.agent.session.close, ({ params }) => app.ask(async (handlers) => {
      await handlers.close(params.sessionId)
      return {}
    }))
    .onRequest(methods.agent.session.delete, ({ params }) => app.ask(async (handlers) => {
      await handlers.remove(params.sessionId)
      return {}
    }))
    .onRequest(methods.agent.session.setConfigOption, ({ params }) => app.ask((handlers) => handlers.configure(params)))
    .onRequest(methods.agent.authenticate, () => ({}))
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      app.ask(async (handlers) => handlers.cancel(params)).catch(() => undefined)
    })
    .connect(stream)
  return {
    client: connection.client,
    get capabilities() { return capabilities },
    closed: connection.closed,
    serve: (handlers) => app.serve(handlers),
    fail: (error) => app.fail(error),
    close: () => connection.close(),
  }
}

/** Requests that wait for the app. */
class Waiting {
  private handlers: Handlers | undefined
  private problem: { readonly error: unknown } | undefined
  private readonly waking = new Set<() => void>()

  serve(handlers: Handlers): () => void {
    this.handlers = handlers
    this.wake()
    return () => {
      this.handlers = undefined
    }
  }

  fail(error: unknown): void {
    this.problem = { error }
    this.wake()
  }

  /** Errors get their reason in `message`: clients show that alone. */
  async ask<T>(use: (handlers: Handlers) => Promise<T>): Promise<T> {
    try {
      // At once where the app is there: requests and notifications keep their order.
      return await use(this.handlers ?? await this.ready())
    } catch (error) {
      throw toRequestError(error)
    }
  }

  private async ready(): Promise<Handlers> {
    for (;;) {
      if (this.problem) throw this.problem.error
      if (this.handlers) return this.handlers
      await new Promise<void>((resolve) => this.waking.add(resolve))
    }
  }

  private wake(): void {
    for (const wake of this.waking) wake()
    this.waking.clear()
  }
}

const [INTERNAL, NOT_FOUND, INVALID] = [-32603, -32002, -32602]
const CODES: Readonly<Record<string, number>> = { SESSION_NOT_FOUND: NOT_FOUND, ACP_INVALID: INVALID }

function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  const code = error instanceof HeadraceError ? error.code : undefined
  return new RequestError((code !== undefined && CODES[code]) || INTERNAL, messageOf(error), code === undefined ? undefined : { code })
}
