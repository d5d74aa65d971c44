import type { LanguageModelV3Usage } from '@ai-sdk/provider'
import type { Usage } from '@headrace/message'

/** A model's bill; `undefined` where the provider sent none. */
export function toUsage({ inputTokens, outputTokens }: LanguageModelV3Usage): Usage | undefined {
  const { total, noCache, cacheRead, cacheWrite } = inputTokens
  if (total === undefined && noCache === undefined && outputTokens.total === undefined) return undefined
  const cached = count(cacheRead)
  const written = count(cacheWrite)
  return { input: total === undefined ? count(noCache) + cached + written : count(total), cached, written, output: count(outputTokens.total) }
}

/** The usage of an OpenAI-compatible endpoint, in whichever words it tells of its cache. */
export function convertUsage(usage: unknown): LanguageModelV3Usage {
  const bill = record(usage)
  const details = record(bill.prompt_tokens_details)
  const reasoning = number(record(bill.completion_tokens_details).reasoning_tokens)
  const total = number(bill.prompt_tokens)
  const output = number(bill.completion_tokens)
  // OpenAI, OpenRouter, vLLM · DeepSeek · Moonshot · routers in front of Anthropic
  const cacheRead = first(details.cached_tokens, bill.prompt_cache_hit_tokens, bill.cached_tokens, bill.cache_read_input_tokens)
  const cacheWrite = first(details.cache_write_tokens, details.cache_creation_tokens, bill.cache_creation_input_tokens)
  const read = cacheRead === undefined || total === undefined ? cacheRead : Math.min(cacheRead, total)
  return {
    inputTokens: { total, noCache: total === undefined ? undefined : total - (read ?? 0), cacheRead: read, cacheWrite },
    outputTokens: { total: output, text: output === undefined ? undefined : Math.max(0, output - (reasoning ?? 0)), reasoning },
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value as Record<string, unknown> : {}
}

function first(...values: readonly unknown[]): number | undefined {
  return values.map(number).find((value) => value !== undefined)
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function count(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0
}
