/** How providers say that a request does not fit into the model's window; each with one that says so. */
const PATTERNS: readonly RegExp[] = [
  /context[_ ](length|window|size)[_ ]exceed/i, // OpenAI, DeepSeek, Cerebras: context_length_exceeded
  /exceed_context_size|exceeds? the (available )?context (size|window|length)/i, // llama.cpp, LM Studio
  /maximum (context|model|prompt) length/i, // OpenAI, DeepSeek, vLLM, OpenRouter, xAI
  /prompt is too long|prompt too long|input is too long/i, // Anthropic, Ollama, Bedrock
  /exceed(s|ed)? (the )?(model'?s? )?(context|token) (limit|window|length)/i, // Anthropic: input length and max_tokens exceed context limit
  /exceeded model token limit/i, // Moonshot
  /token count.{0,60}exceeds the (maximum|limit)/i, // Google, GitHub Copilot
  /reduce the length of the (messages|prompt|input)/i, // Groq
  /longer than the (maximum )?(model|context) length|greater than the context length/i, // vLLM, LM Studio
  /range of input length should be|prompt exceeds max length|context window exceeds/i, // DashScope, Zhipu, MiniMax
  /too large for model with \d+ maximum context/i, // Mistral
  /`inputs` tokens \+ `max_new_tokens` must be/i, // text-generation-inference
  /request_too_large|string_above_max_length|tokens_limit_reached/i, // Anthropic, OpenAI, GitHub Models
]

/** Whether a provider's words say that the request was too long for the model. */
export function saysOverflow(text: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(text))
}
