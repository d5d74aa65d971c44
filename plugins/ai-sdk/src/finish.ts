import type { LanguageModelV3FinishReason } from '@ai-sdk/provider'
import type { FinishReason } from '@headrace/message'

/** Providers' own words that their packages leave at `other`. */
const WORDS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ...words('stop', 'end_turn', 'stop_sequence', 'eos', 'eos_token', 'completed'),
  ...words('tool-calls', 'tool_use', 'tool_call', 'tool_calls', 'function_call'),
  ...words('length', 'max_tokens', 'max_output_tokens', 'max_completion_tokens', 'model_length', 'model_context_window_exceeded'),
  ...words('refusal', 'refusal', 'content_filter', 'content-filter', 'safety', 'sensitive', 'blocked', 'recitation', 'prohibited_content'),
])

/** Words that say the answer is none: the provider ran out of machines, or lost them. */
const FAILURES: ReadonlySet<string> = new Set(['error', 'network_error', 'insufficient_system_resource', 'abort'])

/** Why the model stopped; `undefined` where it did not stop but fail. `called`: whether the answer has tool calls. */
export function toFinish({ unified, raw }: LanguageModelV3FinishReason, called: boolean): FinishReason | undefined {
  const word = raw?.toLowerCase()
  if (unified === 'error' || (unified === 'other' && word !== undefined && FAILURES.has(word))) return undefined
  const reason = unified === 'content-filter' ? 'refusal' : unified === 'other' ? WORDS.get(word ?? '') ?? 'other' : unified
  // Some servers say `stop` after calls, and some say `tool_calls` after none.
  if (called && (reason === 'stop' || reason === 'other')) return 'tool-calls'
  return !called && reason === 'tool-calls' ? 'other' : reason
}

function words(reason: FinishReason, ...list: string[]): [string, FinishReason][] {
  return list.map((word) => [word, reason])
}
