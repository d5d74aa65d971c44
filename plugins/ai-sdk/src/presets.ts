/** An OpenAI-compatible endpoint known by name. */
export interface Preset {
  /** Name of its adapter: the part before the first slash in `deepseek/deepseek-chat`. */
  readonly name: string
  readonly baseURL: string
  /** The variable its key comes from; absent where no key is needed. */
  readonly apiKeyEnv?: string
  /** `drop` where the endpoint refuses reasoning in the history. Default: `keep`. */
  readonly reasoning?: 'keep' | 'drop'
  /** What it calls the limit of output tokens. Default: `max_tokens`. */
  readonly maxTokens?: 'max_tokens' | 'max_completion_tokens'
}

/** Any provider takes its key from here when its own variable is not set. */
export const FALLBACK_KEY_ENV = 'HEADRACE_API_KEY'

const table: readonly Preset[] = [
  { name: 'openai', baseURL: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY', reasoning: 'drop', maxTokens: 'max_completion_tokens' },
  { name: 'deepseek', baseURL: 'https://api.deepseek.com/v1', apiKeyEnv: 'DEEPSEEK_API_KEY' },
  { name: 'moonshot', baseURL: 'https://api.moonshot.ai/v1', apiKeyEnv: 'MOONSHOT_API_KEY' },
  { name: 'openrouter', baseURL: 'https://openrouter.ai/api/v1', apiKeyEnv: 'OPENROUTER_API_KEY' },
  { name: 'ollama', baseURL: 'http://localhost:11434/v1' },
  { name: 'vllm', baseURL: 'http://localhost:8000/v1' },
  { name: 'llama.cpp', baseURL: 'http://localhost:8080/v1' },
]

/** The endpoints that work by name. */
export function presets(): readonly Preset[] {
  return table
}
