import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart, LanguageModelV3Usage } from '@ai-sdk/provider'
import { type Adapter, type AdapterTools, ModelError } from '@headrace/agent'
import { type CallConfig, type Chunk, type Failure, type Message, type Request, splitModel } from '@headrace/message'
import { afterEach } from 'vitest'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Closes with the test. */
export function use<T extends { close(): unknown }>(server: T): T {
  closing.push(() => server.close())
  return server
}

/** A server for what no model server would do. */
export async function rawServer(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => handle(request, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

export function request(messages: readonly Message[] = [user('Hello')], rest: Partial<Omit<Request, 'messages' | 'config'>> & { config?: Partial<CallConfig> } = {}): Request {
  const { config, ...fields } = rest
  return {
    config: { model: 'local/m', ...config },
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

/** What an adapter is given beside the request, without blobs. */
export function toolsFor({ config }: Request, blob: AdapterTools['blob'] = async () => undefined): AdapterTools {
  return { ...splitModel(config.model), blob }
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

export const NO_BILL: LanguageModelV3Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
}

/** An AI SDK model that streams these parts, or whatever else it is told to do. */
export function model(parts: readonly LanguageModelV3StreamPart[] | ((call: LanguageModelV3CallOptions) => ReadableStream<LanguageModelV3StreamPart>), provider = 'acme.chat'): LanguageModelV3 & { calls: LanguageModelV3CallOptions[] } {
  const calls: LanguageModelV3CallOptions[] = []
  return {
    specificationVersion: 'v3',
    provider,
    modelId: 'm',
    supportedUrls: {},
    calls,
    doGenerate: async () => { throw new Error('not streamed') },
    doStream: async (call) => {
      calls.push(call)
      return { stream: typeof parts === 'function' ? parts(call) : ReadableStream.from(parts) as ReadableStream<LanguageModelV3StreamPart> }
    },
  }
}

export function finish(unified: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other' = 'stop', raw?: string): LanguageModelV3StreamPart {
  return { type: 'finish', usage: NO_BILL, finishReason: { unified, raw } }
}
