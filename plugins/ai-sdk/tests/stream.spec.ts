import type { LanguageModelV3StreamPart } from '@ai-sdk/provider'
import type { Chunk } from '@headrace/message'
import { aiSdkAdapter } from '@headrace/plugin-ai-sdk'
import { collect } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { NO_BILL, finish, model } from './help.ts'

describe('the parts of any AI SDK model', () => {
  async function chunksOf(...parts: LanguageModelV3StreamPart[]): Promise<{ chunks: Chunk[]; warnings: string[] }> {
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

  it('are whole characters, also where a delta ends within one', async () => {
    const { chunks } = await chunksOf(
      { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'a\ud83d' }, { type: 'text-delta', id: 't', delta: '\ude00b' }, { type: 'text-end', id: 't' },
    )
    expect(chunks.slice(0, -1)).toEqual([{ type: 'text', text: 'a' }, { type: 'text', text: '😀b' }])
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

  it('give the usage and the finish also in the words of specification v2', async () => {
    const flat = { type: 'finish', finishReason: 'tool-calls', usage: { inputTokens: 9, outputTokens: 4, totalTokens: 13, cachedInputTokens: 3, reasoningTokens: 1 } } as never
    const { chunks } = await chunksOf({ type: 'tool-call', toolCallId: 'a', toolName: 'f', input: '{}' }, flat)
    expect(chunks.slice(-2)).toEqual([{ type: 'usage', usage: { input: 9, cached: 3, written: 0, output: 4, reasoning: 1 } }, { type: 'finish', reason: 'tool-calls' }])
  })

  it('give what the provider calls its answer, and pass over what says nothing', async () => {
    const { chunks } = await chunksOf({ type: 'ping' } as never, { type: 'response-metadata', id: 'resp_1', modelId: 'm-2026' })
    expect(chunks[0]).toEqual({ type: 'response', id: 'resp_1', model: 'm-2026' })
  })
})
