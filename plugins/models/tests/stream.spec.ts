import { createModelServer } from '@headrace/model-server'
import { sha256 } from '@headrace/message'
import { collect, rawServer, request, text, use } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { endpoint } from './help.ts'

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
    expect(chunks.slice(-2)).toEqual([{ type: 'usage', usage: { input: 100, cached: 64, written: 0, output: 20, reasoning: 9 } }, { type: 'finish', reason: 'tool-calls' }])
  })

  it('begins with the digest of the very body that the server got', async () => {
    const server = use(await createModelServer(() => 'ok'))
    const [first] = await collect(endpoint(server.url))
    expect(first).toMatchObject({ type: 'wire', digest: server.requests[0]!.digest, adapter: { name: '@headrace/wire' } })
    expect(first).toMatchObject({ digest: sha256(server.requests[0]!.raw) })
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
    expect((await collect(endpoint(server.url))).map(({ type }) => type)).toEqual(['wire', 'response', 'text', 'finish'])
  })

  it('takes back the signature that an endpoint gave out with a call', async () => {
    const chunks = await collect(await streaming(delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' }, extra_content: { google: { thought_signature: 'sig' } } }] }, 'stop')))
    const metadata = chunks.flatMap((chunk) => chunk.type === 'tool-call' && chunk.metadata ? [chunk.metadata] : [])[0]!
    const server = use(await createModelServer(() => 'ok'))
    await collect(endpoint(server.url), request([
      { role: 'assistant', content: [{ type: 'tool-call', id: 'a', name: 'f', arguments: '{}', metadata }] },
      { role: 'tool', content: [{ type: 'tool-result', id: 'a', name: 'f', content: [] }] },
    ], { writers: ['local/m', undefined] }))
    expect(server.requests[0]!.body.messages[1]).toMatchObject({ tool_calls: [{ extra_content: { google: { thought_signature: 'sig' } } }] })
  })
})
