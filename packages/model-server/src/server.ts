import { type Server, createServer } from 'node:http'
import { HeadraceError } from '@headrace/message'
import { type Desk, serve } from './exchange.ts'
import type { ModelServerOptions } from './options.ts'
import type { Script } from './reply.ts'
import type { ModelRequest, OpenRequest, RefusedRequest } from './request.ts'

/** A scripted model behind a real HTTP server. */
export interface ModelServer extends AsyncDisposable {
  /** e.g. `http://127.0.0.1:40123/v1` */
  readonly url: string
  /** Every call of the model, in order of arrival. */
  readonly requests: readonly ModelRequest[]
  /** Every request that never reached the script. */
  readonly refused: readonly RefusedRequest[]
  /** Resolves when nothing is pending. */
  idle(): Promise<void>
  /** Ends every connection, the open answers too, and leaves nothing behind. */
  close(): Promise<void>
}

export class ModelServerError extends HeadraceError {
  constructor(problem: string, options?: ErrorOptions) {
    super('MODEL_SERVER_LISTEN', problem, options)
  }
}

/**
 * Starts a server that answers `POST /v1/chat/completions` by a script.
 *
 * @example const server = await createModelServer((body) => `You said ${lastUser(body)}`)
 * @throws ModelServerError if it cannot listen
 */
export async function createModelServer(script: Script, options: ModelServerOptions = {}): Promise<ModelServer> {
  const server = new ScriptedServer(script, options)
  await server.listen()
  return server
}

/** Longer than any client keeps an idle connection, so that none is closed under a request that is just being sent. */
const KEEP_ALIVE = 600_000

class ScriptedServer implements ModelServer {
  url = ''
  readonly requests: OpenRequest[] = []
  readonly refused: RefusedRequest[] = []
  readonly #options: ModelServerOptions
  readonly #server: Server
  readonly #closing = new AbortController()
  readonly #active = new Set<Promise<void>>()
  #closed: Promise<void> | undefined

  constructor(script: Script, options: ModelServerOptions) {
    this.#options = options
    const desk: Desk = { script, options, requests: this.requests, refused: this.refused, caches: new Map(), closing: this.#closing.signal }
    this.#server = createServer({ keepAliveTimeout: KEEP_ALIVE }, (request, response) => {
      const exchange = serve(desk, request, response).finally(() => this.#active.delete(exchange))
      this.#active.add(exchange)
    })
  }

  async listen(): Promise<void> {
    const { port = 0, host = '127.0.0.1' } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error) => {
        reject(new ModelServerError(`the model server cannot listen on ${host} port ${port} (${error.message}); choose another`, { cause: error }))
      })
      this.#server.listen(port, host, resolve)
    })
    const address = this.#server.address()
    const actual = typeof address === 'object' && address ? address.port : port
    this.url = `http://${host.includes(':') ? `[${host}]` : host}:${actual}/v1`
  }

  async idle(): Promise<void> {
    while (this.#active.size > 0) await Promise.all(this.#active)
  }

  close(): Promise<void> {
    this.#closed ??= new Promise<void>((resolve) => {
      this.#closing.abort()
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    }).then(() => this.idle())
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
