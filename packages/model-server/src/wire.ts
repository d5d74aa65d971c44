import type { Completion } from './reply.ts'

/** The JSON that a completion is sent as, whole or in pieces. */

type Delta = Readonly<Record<string, unknown>>

/** The whole answer, for a request that does not stream. */
export function wholeBody(completion: Completion): object {
  const { text, reasoning, toolCalls } = completion
  const message = {
    role: 'assistant',
    content: text === '' && toolCalls.length > 0 ? null : text,
    ...reasoning === '' ? {} : { reasoning_content: reasoning },
    ...toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } })) },
  }
  return {
    ...head(completion, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: completion.finish }],
    ...completion.usage ? { usage: usageBody(completion.usage) } : {},
  }
}

/** One event of a stream; with `billed`, events carry `usage: null` until the last, as OpenAI's do. */
export function chunkBody(completion: Completion, delta: Delta, finish: string | null, billed: boolean): object {
  return {
    ...head(completion, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...billed ? { usage: null } : {},
  }
}

/** The last event of a stream whose client asked for usage. */
export function usageChunk(completion: Completion, usage: NonNullable<Completion['usage']>): object {
  return { ...head(completion, 'chat.completion.chunk'), choices: [], usage: usageBody(usage) }
}

/** The pieces of an answer, in order: reasoning, text, then each call: its id and name first, its arguments after. */
export function* deltas({ reasoning, text, toolCalls }: Completion, size: number): Generator<Delta> {
  for (const piece of cut(reasoning, size)) yield { reasoning_content: piece }
  for (const piece of cut(text, size)) yield { content: piece }
  for (const [index, call] of toolCalls.entries()) {
    yield { tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] }
    for (const piece of cut(call.arguments, size)) yield { tool_calls: [{ index, function: { arguments: piece } }] }
  }
}

function head(completion: Completion, object: string): object {
  const { id, created, model } = completion
  return { id, object, created, model, system_fingerprint: 'fp_scripted' }
}

/** OpenAI's spelling, with Moonshot's `cached_tokens` and DeepSeek's hit and miss beside it. */
function usageBody({ input, cached, output, reasoning }: NonNullable<Completion['usage']>): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
    cached_tokens: cached,
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: input - cached,
  }
}

/** Cuts a text every so many UTF-16 units, a surrogate pair never. */
export function* cut(text: string, size: number): Generator<string> {
  for (let start = 0, end: number; start < text.length; start = end) {
    end = start + Math.max(1, Math.floor(size))
    if (/[\uD800-\uDBFF]/.test(text[end - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[end] ?? '')) end++
    yield text.slice(start, end)
  }
}
