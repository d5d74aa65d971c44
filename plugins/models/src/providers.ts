import { MISTRAL_IDS, type Traits } from '@headrace/wire'

/** A provider known by name. */
export interface Preset {
  /** Name of its adapter: the part before the first slash in `deepseek/deepseek-flash`. */
  readonly name: string
  readonly baseURL: string
  /** The variable its key comes from; absent where no key is needed. */
  readonly apiKeyEnv?: string
  /** What it takes. */
  readonly traits: Traits
  /** Cuts prompts that do not fit without a word. */
  readonly cutsSilently?: true
}

/** Any provider takes its key from here when its own variable is not set. */
export const FALLBACK_KEY_ENV = 'HEADRACE_API_KEY'

/** What any OpenAI-compatible server supports, with the templates of open models. */
export const ANY: Traits = { family: 'openai-chat' }

/** OpenAI's own chat completions, and servers that behave like it. */
export const OPENAI_CHAT: Traits = {
  family: 'openai-chat', system: 'anywhere', reasoning: 'none', files: true, usersApart: true, maxTokens: 'max_completion_tokens', cacheKey: true,
}

const table: readonly Preset[] = [
  { name: 'openai', baseURL: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY', traits: { family: 'openai-responses' } },
  { name: 'openai-chat', baseURL: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY', traits: OPENAI_CHAT },
  { name: 'anthropic', baseURL: 'https://api.anthropic.com/v1', apiKeyEnv: 'ANTHROPIC_API_KEY', traits: { family: 'anthropic' } },
  { name: 'google', baseURL: 'https://generativelanguage.googleapis.com/v1beta', apiKeyEnv: 'GEMINI_API_KEY', traits: { family: 'google' } },
  // api-docs.deepseek.com, thinking mode: the field is wanted back with calls, `""` included; content is a text.
  {
    name: 'deepseek', baseURL: 'https://api.deepseek.com/v1', apiKeyEnv: 'DEEPSEEK_API_KEY',
    traits: { family: 'openai-chat', system: 'anywhere', reasoning: 'reasoning_content', reasoningDemanded: true, textOnly: true, usersApart: true, output: 'none' },
  },
  // platform.moonshot.ai, Kimi thinking models: the same field, and images.
  { name: 'moonshot', baseURL: 'https://api.moonshot.ai/v1', apiKeyEnv: 'MOONSHOT_API_KEY', traits: { family: 'openai-chat', reasoning: 'reasoning_content', reasoningDemanded: true, output: 'none' } },
  // openrouter.ai/docs, reasoning tokens: `reasoning_details` whole, else `reasoning`. Models behind it take the same.
  { name: 'openrouter', baseURL: 'https://openrouter.ai/api/v1', apiKeyEnv: 'OPENROUTER_API_KEY', traits: { family: 'openai-chat', reasoning: 'reasoning', files: true, effort: 'reasoning.effort' } },
  // console.groq.com, inference-docs.cerebras.ai: "property 'reasoning_content' is unsupported".
  { name: 'groq', baseURL: 'https://api.groq.com/openai/v1', apiKeyEnv: 'GROQ_API_KEY', traits: { family: 'openai-chat', reasoning: 'reasoning', maxTokens: 'max_completion_tokens' } },
  { name: 'cerebras', baseURL: 'https://api.cerebras.ai/v1', apiKeyEnv: 'CEREBRAS_API_KEY', traits: { family: 'openai-chat', reasoning: 'reasoning', maxTokens: 'max_completion_tokens' } },
  // docs.mistral.ai: ids of nine characters, no `stream_options`, an answer between a tool's result and the user.
  {
    name: 'mistral', baseURL: 'https://api.mistral.ai/v1', apiKeyEnv: 'MISTRAL_API_KEY',
    traits: { family: 'openai-chat', reasoning: 'thinking', ids: MISTRAL_IDS, answerBehindResults: true, streamOptions: 'none' },
  },
  // docs.x.ai: "no role order limitation".
  { name: 'xai', baseURL: 'https://api.x.ai/v1', apiKeyEnv: 'XAI_API_KEY', traits: { family: 'openai-chat', system: 'anywhere', reasoning: 'reasoning_content', usersApart: true, maxTokens: 'max_completion_tokens' } },
  { name: 'ollama', baseURL: 'http://localhost:11434/v1', traits: ANY, cutsSilently: true },
  { name: 'vllm', baseURL: 'http://localhost:8000/v1', traits: ANY },
  { name: 'llama.cpp', baseURL: 'http://localhost:8080/v1', traits: ANY },
  { name: 'lmstudio', baseURL: 'http://localhost:1234/v1', traits: ANY },
  { name: 'sglang', baseURL: 'http://localhost:30000/v1', traits: ANY },
]

/** The providers that work by name. */
export function presets(): readonly Preset[] {
  return table
}
