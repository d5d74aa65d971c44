/** Messages by which providers say that a request does not fit into the window, each with an example provider. */
const PATTERNS: readonly RegExp[] = [
  /context[_ ](length|window|size)[_ ](has been )?exceed/i, // OpenAI, DeepSeek, Cerebras: context_length_exceeded; llama.cpp: Context size has been exceeded
  /exceed_context_size|exceeds? the (available )?context (size|window|length)/i, // llama.cpp, LM Studio
  /maximum (context|model|prompt|input) length/i, // OpenAI, DeepSeek, vLLM, OpenRouter, xAI; NIM: maximum input length
  /(input|prompt) tokens? exceeds? the (configured )?limit/i, // OpenAI: Input tokens exceed the configured limit of 272000 tokens
  /ContextWindowExceeded/, // LiteLLM
  /exceeded max(imum)? (allowed )?(limit of \d+ tokens|content length)/i, // Databricks
  /(maximum|max) context (window|size) of \d/i,
  /prompt is too long|prompt too long|input is too long/i, // Anthropic, Ollama, Bedrock
  /exceed(s|ed)? (the )?(model'?s? )?(context|token) (limit|window|length)/i, // Anthropic: input length and max_tokens exceed context limit
  /exceeded model token limit/i, // Moonshot
  /token count.{0,60}exceeds the (maximum|limit)/i, // Google, GitHub Copilot
  /reduce the length of the (messages|prompt|input)/i, // Groq
  /longer than the (maximum )?(model('?s)? )?(context |model )?length|greater than the context length/i, // vLLM, sglang, LM Studio
  /token count is \d+ but (the )?model only supports up to/i, // Vertex
  /too many (input )?tokens(?! per| in|,? (please )?(wait|try|retry))/i, // Cohere: too many tokens: total number of tokens in the prompt cannot exceed 4081
  /range of input length should be|prompt exceeds max length|context window exceeds/i, // DashScope, Zhipu, MiniMax
  /too large for model with \d+ maximum context/i, // Mistral
  /`inputs` tokens \+ `max_new_tokens` must be/i, // text-generation-inference
  /request_too_large|tokens_limit_reached/i, // Anthropic, GitHub Models
]

/** A single field that is too long is no overflow of the window: compaction would not help. */
const ONE_FIELD = /string_above_max_length|string too long|array_above_max_length/i

/** Whether a provider's message says that the request was too long for the model. */
export function saysOverflow(text: string): boolean {
  return !ONE_FIELD.test(text) && PATTERNS.some((pattern) => pattern.test(text))
}

/** Where an overflow's message has the size of the window, each with an example provider. */
const WINDOWS: readonly RegExp[] = [
  /(?:maximum|max) (?:context|model|prompt) length (?:is|of)[: ]*(\d[\d,]*)/i, // OpenAI, DeepSeek, vLLM, OpenRouter, xAI
  /(?:context|model)(?:'s)? (?:context )?length \((\d[\d,]*)/i, // sglang
  /> (\d[\d,]*)(?: maximum)?/, // Anthropic
  /configured limit of (\d[\d,]*)/i, // OpenAI
  /while limit is (\d[\d,]*)/i, // Cerebras
  /maximum input length (?:is |of )?(\d[\d,]*)/i, // NIM
  /(?:limit|window|size) of (\d[\d,]*) tokens/i,
  /maximum number of tokens allowed \((\d[\d,]*)/i, // Google
  /only supports up to (\d[\d,]*)/i, // Vertex
  /token limit: (\d[\d,]*)/i, // Moonshot
  /too large for model with (\d[\d,]*)/i, // Mistral
  /exceeds the limit of (\d[\d,]*)/i, // GitHub Copilot
  /(?:cannot|can not|must not) exceed (\d[\d,]*)/i, // Cohere
  /n_ctx["']?[: =]+(\d[\d,]*)/i, // llama.cpp, LM Studio
  /available context size \((\d[\d,]*)/i, // llama.cpp
  /should be \[\d+, ?(\d[\d,]*)\]/i, // DashScope
  /context (?:window|size|length|limit)(?: is| of|:)? (\d[\d,]*)/i,
]

/**
 * The size of a model's window in tokens, where an overflow's message has it; too small numbers mean something else.
 */
export function windowIn(text: string): number | undefined {
  for (const pattern of WINDOWS) {
    const window = Number(pattern.exec(text)?.[1]?.replaceAll(',', ''))
    if (window >= 256 && window <= 100_000_000) return window
  }
  return undefined
}
