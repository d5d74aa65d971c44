import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart, LanguageModelV3Usage } from '@ai-sdk/provider'

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
