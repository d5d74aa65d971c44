import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Adapter, type AdapterTools, ModelError } from '@headrace/agent'
import { type CallConfig, type Chunk, type Failure, type Message, type Request, splitModel } from '@headrace/message'
import { onTestFinished } from 'vitest'

/** What differs from a plain request. */
export type RequestParts = Partial<Omit<Request, 'messages' | 'config'>> & { readonly config?: Partial<CallConfig> }

/** What an attempt failed with, and what came before. */
export interface FailedAttempt {
  readonly failure: Failure
  readonly error: ModelError
  readonly chunks: readonly Chunk[]
}

/** What is to be closed. */
export interface Closable {
  /** Closes it; what this gives back is waited for. */
  close(): unknown
}

/** Closes something with the test; what was given last is closed first. */
export function use<T extends Closable>(server: T): T {
  onTestFinished(async () => void await server.close())
  return server
}

/**
 * An HTTP server for what no model server would do, closed with the test.
 *
 * @param handle called when a request's body is whole
 * @returns its base URL, which ends in `/v1`
 */
export async function rawServer(
  handle: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => { body += piece }).once('end', () => handle(request, response, body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** A request of these messages, to `local/m`. */
export function request(messages: readonly Message[] = [user('Hello')], { config, ...fields }: RequestParts = {}): Request {
  return {
    config: { model: 'local/m', ...config },
    messages,
    segments: { prefix: 0, before: 0, history: messages.length, after: 0 },
    owners: messages.map(() => 'user'),
    signal: new AbortController().signal,
    ...fields,
  }
}

/** A user's message of a text. */
export function user(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

/** A system message of a text. */
export function system(text: string): Message {
  return { role: 'system', content: [{ type: 'text', text }] }
}

/** What an adapter is given beside a request; without blobs, unless it is told of some. */
export function toolsFor({ config }: Request, blob: AdapterTools['blob'] = async () => undefined): AdapterTools {
  return { ...splitModel(config.model), blob }
}

/** All that an adapter answers. */
export async function collect(adapter: Adapter, sent: Request = request(), blob?: AdapterTools['blob']): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of adapter.stream(sent, toolsFor(sent, blob))) chunks.push(chunk)
  return chunks
}

/** How an attempt fails. @throws Error where it does not; what is no ModelError as it is */
export async function failed(adapter: Adapter, sent: Request = request()): Promise<FailedAttempt> {
  const chunks: Chunk[] = []
  try {
    for await (const chunk of adapter.stream(sent, toolsFor(sent))) chunks.push(chunk)
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    return { failure: error.failure, error, chunks }
  }
  throw new Error(`it did not fail: ${JSON.stringify(chunks)}`)
}

/** The text of an answer, or of its reasoning. */
export function text(chunks: readonly Chunk[], type: 'text' | 'reasoning' = 'text'): string {
  return chunks.map((chunk) => chunk.type === type ? chunk.text : '').join('')
}

/** Listeners that an answer to a plain request leaves on its signal, which lives longer: none, if all is well. */
export async function listenersLeft(adapter: Adapter): Promise<number> {
  const { signal } = new AbortController()
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => { listeners++; add(...args) }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => { listeners--; remove(...args) }
  await collect(adapter, request(undefined, { signal }))
  return listeners
}
