import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Adapter, type AdapterTools, ModelError } from '@headrace/agent'
import type { CallConfig, Chunk, Failure, Message, Request } from '@headrace/message'
import { LazyConnections, endpointAdapter } from '@headrace/wire'
import { afterEach } from 'vitest'
import type { ProviderConfig } from '@headrace/plugin-models'
import { endpointsOf } from '../src/endpoints.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Closes with the test. */
export function use<T extends { close(): unknown }>(server: T): T {
  closing.push(() => server.close())
  return server
}

/** A server for what no model server would do. */
export async function rawServer(handle: (request: IncomingMessage, response: ServerResponse, body: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => { body += piece }).once('end', () => handle(request, response, body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** A server that answers every request with these events. */
export function streaming(...events: readonly (object | string)[]): Promise<string> {
  return rawServer((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventText(...events)))
}

export function eventText(...events: readonly (object | string)[]): string {
  return events.map((event) => typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`).join('')
}

/** The adapter of one endpoint; under a preset's name it takes what that takes. */
export function endpoint(baseURL: string, options: Omit<ProviderConfig, 'baseURL'> & { readonly name?: string } = {}, warn: (message: string) => void = () => {}): Adapter {
  const { name = 'local', ...config } = options
  const [made] = endpointsOf({ presets: false, providers: { [name]: { baseURL, ...config } } })
  return endpointAdapter(made!, use(new LazyConnections()).get, warn)
}

export function request(messages: readonly Message[] = [user('Hello')], rest: Partial<Omit<Request, 'messages' | 'config'>> & { config?: Partial<CallConfig> } = {}): Request {
  const { config, ...fields } = rest
  return {
    config: { model: 'local/m', ...config } as CallConfig,
    messages,
    segments: { prefix: 0, before: 0, history: messages.length, after: 0 },
    owners: messages.map(() => 'user'),
    signal: new AbortController().signal,
    ...fields,
  }
}

export function user(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

export function system(text: string): Message {
  return { role: 'system', content: [{ type: 'text', text }] }
}

/** What a request's adapter gets beside it. */
export function toolsFor({ config }: Request, blob: AdapterTools['blob'] = async () => undefined): AdapterTools {
  const slash = config.model.indexOf('/')
  return { provider: config.model.slice(0, slash), model: config.model.slice(slash + 1), blob }
}

export async function collect(adapter: Adapter, sent: Request = request(), blob?: AdapterTools['blob']): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of adapter.stream(sent, toolsFor(sent, blob))) chunks.push(chunk)
  return chunks
}

/** The failure of an attempt, and what came before it. */
export async function failed(
  adapter: Adapter,
  sent: Request = request(),
): Promise<{ failure: Failure; error: ModelError; chunks: Chunk[] }> {
  const chunks: Chunk[] = []
  try {
    for await (const chunk of adapter.stream(sent, toolsFor(sent))) chunks.push(chunk)
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    return { failure: error.failure, error, chunks }
  }
  throw new Error(`it did not fail: ${JSON.stringify(chunks)}`)
}

export function text(chunks: readonly Chunk[], type: 'text' | 'reasoning' = 'text'): string {
  return chunks.map((chunk) => chunk.type === type ? chunk.text : '').join('')
}
