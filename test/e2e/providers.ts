import type { Protocol } from '@headrace/wire'

/** A provider that is tried where its key is set. */
export interface Provider {
  /** What stands in front of the first slash. */
  readonly name: string
  /** A cheap model that thinks, where it has one; `HEADRACE_E2E_<NAME>_MODEL` names another. */
  readonly model: string
  /** The variable of its key. */
  readonly key: string
  /** Where it is; `HEADRACE_E2E_<NAME>_BASE_URL` says another place. */
  readonly baseURL: string
  readonly protocol?: Protocol
  /** The model sees. */
  readonly images?: true
}

export const PROVIDERS: readonly Provider[] = [
  { name: 'openai', model: 'gpt-5-mini', key: 'OPENAI_API_KEY', baseURL: 'https://api.openai.com/v1', protocol: 'openai-responses', images: true },
  { name: 'openai-chat', model: 'gpt-5-mini', key: 'OPENAI_API_KEY', baseURL: 'https://api.openai.com/v1', images: true },
  { name: 'anthropic', model: 'claude-haiku-4-5', key: 'ANTHROPIC_API_KEY', baseURL: 'https://api.anthropic.com/v1', images: true },
  { name: 'google', model: 'gemini-2.5-flash', key: 'GEMINI_API_KEY', baseURL: 'https://generativelanguage.googleapis.com/v1beta', images: true },
  { name: 'deepseek', model: 'deepseek-v4-flash', key: 'DEEPSEEK_API_KEY', baseURL: 'https://api.deepseek.com/v1' },
  { name: 'moonshot', model: 'kimi-k2-thinking', key: 'MOONSHOT_API_KEY', baseURL: 'https://api.moonshot.ai/v1' },
  { name: 'openrouter', model: 'anthropic/claude-haiku-4.5', key: 'OPENROUTER_API_KEY', baseURL: 'https://openrouter.ai/api/v1', images: true },
  { name: 'groq', model: 'openai/gpt-oss-20b', key: 'GROQ_API_KEY', baseURL: 'https://api.groq.com/openai/v1' },
  { name: 'cerebras', model: 'gpt-oss-120b', key: 'CEREBRAS_API_KEY', baseURL: 'https://api.cerebras.ai/v1' },
  { name: 'mistral', model: 'magistral-small-latest', key: 'MISTRAL_API_KEY', baseURL: 'https://api.mistral.ai/v1' },
  { name: 'xai', model: 'grok-4-fast', key: 'XAI_API_KEY', baseURL: 'https://api.x.ai/v1' },
]

type Env = Readonly<Record<string, string | undefined>>

/** A provider whose key is set, with what the environment says of it. */
export interface Target extends Provider {
  readonly apiKey: string
}

/** @returns the provider with its key; nothing where no key is set */
export function targetOf(provider: Provider, env: Env): Target | undefined {
  const apiKey = env[provider.key]?.trim()
  if (!apiKey) return undefined
  const said = (what: string): string | undefined => env[`HEADRACE_E2E_${provider.name.toUpperCase().replaceAll('-', '_')}_${what}`]
  return { ...provider, apiKey, model: said('MODEL') ?? provider.model, baseURL: said('BASE_URL') ?? provider.baseURL }
}
