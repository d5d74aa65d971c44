import type { FinishReason } from '@headrace/message'

/** The providers' stop reasons. */
const WORDS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ...words('stop', 'stop', 'end_turn', 'stop_sequence', 'eos', 'eos_token', 'completed', 'finish', 'complete'),
  ...words('tool-calls', 'tool_calls', 'tool-calls', 'tool_use', 'tool_call', 'function_call'),
  ...words('length', 'length', 'max_tokens', 'max_output_tokens', 'max_completion_tokens', 'incomplete', 'model_length', 'model_context_window_exceeded'),
  ...words('refusal', 'refusal', 'content_filter', 'content-filter', 'safety', 'sensitive', 'blocked', 'blocklist', 'recitation', 'prohibited_content',
    'spii', 'image_safety', 'language', 'guardrail_intervened', 'content_filtered'),
])

/** Stop reasons that mean failure: the provider ran out of capacity, or the model wrote a malformed call. */
const FAILURES: ReadonlySet<string> = new Set([
  'error', 'network_error', 'insufficient_system_resource', 'abort', 'malformed_function_call', 'unexpected_tool_call', 'too_many_tool_calls', 'missing_thought_signature',
])

/** Our finish reason for a provider's; `undefined` where the answer failed. `called`: the answer has tool calls. */
export function finishOf(word: string, called: boolean): FinishReason | undefined {
  const lower = word.toLowerCase()
  if (FAILURES.has(lower)) return undefined
  const reason = WORDS.get(lower) ?? 'other'
  // Some servers send `stop` after calls, and some `tool_calls` without any.
  if (called && (reason === 'stop' || reason === 'other')) return 'tool-calls'
  return !called && reason === 'tool-calls' ? 'other' : reason
}

function words(reason: FinishReason, ...list: string[]): [string, FinishReason][] {
  return list.map((word) => [word, reason])
}
