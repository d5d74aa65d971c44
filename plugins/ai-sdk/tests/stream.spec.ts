import type { LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { createModelServer } from '@headrace/model-server'
import { sha256 } from '@headrace/message'
import { aiSdkAdapter, wireFetch } from '@headrace/plugin-ai-sdk'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import { NO_BILL, collect, endpoint, finish, model, rawServer, request, text, use } from './help.ts'

function events(...chunks: object[]): string {
  return [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join('')
}

/** An endpoint that sends these events, whatever it is asked. */
async function streaming(...chunks: object[]): Promise<ReturnType<typeof endpoint>> {
  return endpoint(await rawServer((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events(...chunks))))
}

function delta(delta: object, finish_reason: string | null = null): object {
  return { choices: [{ index: 0, delta, finish_reason }] }
}

describe('an answer over HTTP', () => {
  it('streams reasoning, text and calls in pieces, then the usage, then the finish', async () => {
    const server = use(await createModelServer(() => ({
      reasoning: 'Let me think about it for a while.', text: 'I read two files.', chunkSize: 5,
      toolCalls: [{ id: 'a', name: 'read', arguments: { path: 'a.js' } }, { id: 'b', name: 'read', arguments: '{"path":"b' }],
      usage: { input: 100, cached: 64, output: 20 },
    })))
    const chunks = await collect(endpoint(server.url))
    expect(text(chunks, 'reasoning')).toBe('Let me think about it for a while.')
    expect(text(chunks)).toBe('I read two files.')
    expect(chunks.filter(({ type }) => type === 'text').length).toBeGreaterThan(2)
    const calls = chunks.filter((chunk) => chunk.type === 'tool-call')
    expect(calls.filter(({ name }) => name !== undefined)).toEqual([{ type: 'tool-call', index: 0, id: 'a', name: 'read' }, { type: 'tool-call', index: 1, id: 'b', name: 'read' }])
    expect([0, 1].map((index) => calls.map((call) => call.index === index ? call.arguments ?? '' : '').join(''))).toEqual(['{"path":"a.js"}', '{"path":"b'])
    expect(chunks.slice(-2)).toEqual([{ type: 'usage', usage: { input: 100, cached: 64, written: 0, output: 20 } }, { type: 'finish', reason: 'tool-calls' }])
  })

  it('begins with the digest of the very body that the server got', async () => {
    const server = use(await createModelServer(() => 'ok'))
    const [first] = await collect(endpoint(server.url))
    expect(first).toEqual({ type: 'wire', digest: server.requests[0]!.digest })
    expect(first).toEqual({ type: 'wire', digest: sha256(server.requests[0]!.raw) })
  })

  it('has its wire digest also from another AI SDK provider that was given wireFetch', async () => {
    const server = use(await createModelServer(() => 'ok'))
    const provider = createOpenAICompatible({ name: 'other', baseURL: server.url, fetch: wireFetch })
    const both = await Promise.all([collect(aiSdkAdapter(provider)), collect(aiSdkAdapter(provider), request([{ role: 'user', content: [{ type: 'text', text: 'another' }] }]))])
    const digests = both.map(([first]) => first?.type === 'wire' ? first.digest : '')
    expect(new Set(digests)).toEqual(new Set(server.requests.map(({ digest }) => digest)))
    expect(server.requests.find(({ raw }) => raw.includes('another'))!.digest).toBe(digests[1])
  })

  it.each([
    ['stop', {}, 'stop'], ['length', {}, 'length'], ['content_filter', {}, 'refusal'], ['tool_calls', {}, 'other'],
    ['end_turn', {}, 'stop'], ['max_tokens', {}, 'length'], ['sensitive', {}, 'refusal'], ['strange', {}, 'other'],
    ['stop', { refusal: 'I will not.' }, 'refusal'],
    ['stop', { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }, 'tool-calls'],
    ['length', { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }] }, 'length'],
  ])('that finishes with %s and %j has the reason %s', async (raw, last, reason) => {
    const chunks = await collect(await streaming(delta({ content: 'x' }), delta(last), delta({}, raw)))
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason })
  })

  it.each([
    ['OpenAI', { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } }, { input: 10, cached: 4, written: 0, output: 2 }],
    ['DeepSeek', { prompt_tokens: 10, completion_tokens: 2, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 2 }, { input: 10, cached: 8, written: 0, output: 2 }],
    ['Moonshot', { prompt_tokens: 10, completion_tokens: 2, cached_tokens: 6 }, { input: 10, cached: 6, written: 0, output: 2 }],
    ['OpenRouter', { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 5 } }, { input: 10, cached: 1, written: 5, output: 2 }],
    ['llama.cpp', { prompt_tokens: 10, completion_tokens: 2 }, { input: 10, cached: 0, written: 0, output: 2 }],
  ])('has the usage in the words of %s', async (_, usage, expected) => {
    const chunks = await collect(await streaming(delta({ content: 'x' }, 'stop'), { choices: [], usage }))
    expect(chunks).toContainEqual({ type: 'usage', usage: expected })
  })

  it('has no usage where the server sent none', async () => {
    const server = use(await createModelServer(() => ({ text: 'x', usage: null })))
    expect((await collect(endpoint(server.url))).map(({ type }) => type)).toEqual(['wire', 'text', 'finish'])
  })

  it('takes back the signature that an endpoint gave out with a call', async () => {
    const chunks = await collect(await streaming(delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' }, extra_content: { google: { thought_signature: 'sig' } } }] }, 'stop')))
    const metadata = chunks.flatMap((chunk) => chunk.type === 'tool-call' && chunk.metadata ? [chunk.metadata] : [])[0]!
    const server = use(await createModelServer(() => 'ok'))
    await collect(endpoint(server.url), request([
      { role: 'assistant', content: [{ type: 'tool-call', id: 'a', name: 'f', arguments: '{}', metadata }] },
      { role: 'tool', content: [{ type: 'tool-result', id: 'a', name: 'f', content: [] }] },
    ]))
    expect(server.requests[0]!.body.messages[0]).toMatchObject({ tool_calls: [{ extra_content: { google: { thought_signature: 'sig' } } }] })
  })
})

describe('the parts of any AI SDK model', () => {
  async function chunksOf(...parts: LanguageModelV3StreamPart[]) {
    const warnings: string[] = []
    const chunks = await collect(aiSdkAdapter(model([...parts, ...parts.some(({ type }) => type === 'finish') ? [] : [finish()]]), { warn: (message) => warnings.push(message) }))
    return { chunks, warnings }
  }

  it('give the metadata of a block once, merged, in a chunk that closes it', async () => {
    const { chunks } = await chunksOf(
      { type: 'reasoning-start', id: 'r', providerMetadata: { acme: { item: 1 } } },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: { acme: { signature: 's', gone: undefined as never } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'reasoning-start', id: 'q', providerMetadata: { acme: { redacted: 'xyz' } } },
      { type: 'reasoning-end', id: 'q' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'so' },
      { type: 'text-end', id: 't', providerMetadata: { acme: {} } },
    )
    expect(chunks.slice(0, -1)).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'reasoning', text: '', metadata: { acme: { item: 1, signature: 's' } } },
      { type: 'reasoning', text: '', metadata: { acme: { redacted: 'xyz' } } },
      { type: 'text', text: 'so' },
    ])
  })

  it('give a call without deltas, with deltas, and with deltas that are no JSON, each once', async () => {
    const { chunks } = await chunksOf(
      { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: '{"x":1}', providerMetadata: { acme: { s: 1 } } },
      { type: 'tool-input-start', id: 'b', toolName: 'g', providerMetadata: { acme: { item: 1 } } },
      { type: 'tool-input-delta', id: 'b', delta: '{"y"' },
      { type: 'tool-input-delta', id: 'b', delta: ':2}' },
      { type: 'tool-input-end', id: 'b' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'g', input: '{"y":2}', providerMetadata: { acme: { s: '\ud800' } } },
      { type: 'tool-input-start', id: 'c', toolName: 'h', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'c', delta: 'raw' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'h', input: '{"text":"raw"}' },
      { type: 'tool-input-start', id: 'd', toolName: 'none' },
      { type: 'tool-input-delta', id: 'd', delta: '' },
      { type: 'tool-call', toolCallId: 'd', toolName: 'none', input: '{}' },
    )
    expect(chunks).toEqual([
      { type: 'tool-call', index: 0, id: 'a', name: 'f' },
      { type: 'tool-call', index: 0, arguments: '{"x":1}', metadata: { acme: { s: 1 } } },
      { type: 'tool-call', index: 1, id: 'b', name: 'g', metadata: { acme: { item: 1 } } },
      { type: 'tool-call', index: 1, arguments: '{"y"' },
      { type: 'tool-call', index: 1, arguments: ':2}' },
      { type: 'tool-call', index: 1, metadata: { acme: { item: 1, s: '\ufffd' } } },
      { type: 'tool-call', index: 2, id: 'c', name: 'h' },
      { type: 'tool-call', index: 2, arguments: '{"text":"raw"}' },
      { type: 'tool-call', index: 3, id: 'd', name: 'none' },
      { type: 'tool-call', index: 3, arguments: '{}' },
      { type: 'finish', reason: 'tool-calls' },
    ])
  })

  it('give no call that the provider runs itself, and tell what was left out or could not be done', async () => {
    const { chunks, warnings } = await chunksOf(
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'topK' }, { type: 'other', message: 'old' }] },
      { type: 'tool-input-start', id: 'a', toolName: 'search', providerExecuted: true },
      { type: 'tool-input-delta', id: 'a', delta: '{}' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'file', mediaType: 'image/png', data: 'AAAA' },
    )
    expect(chunks).toEqual([{ type: 'finish', reason: 'stop' }])
    expect(warnings).toEqual(['unsupported: topK', 'old', 'the model sent a file of type image/png, which was left out'])
  })

  it('give a usage whose input counts what was read from the cache and written to it', async () => {
    const usage = {
      ...NO_BILL,
      inputTokens: { total: undefined, noCache: 5, cacheRead: 10, cacheWrite: 3 },
      outputTokens: { total: 7, text: 7, reasoning: undefined },
    }
    const { chunks } = await chunksOf({ type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage })
    expect(chunks[0]).toEqual({ type: 'usage', usage: { input: 18, cached: 10, written: 3, output: 7 } })
  })
})
