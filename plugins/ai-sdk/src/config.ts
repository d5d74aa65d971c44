import z from 'schemastery'
import { strict } from '@headrace/config'
import { HeadraceError } from '@headrace/message'
import type { ModelSource } from './model.ts'
import { DEFAULT_TIMEOUT, MAX_TIMEOUT } from './watch.ts'

/** An OpenAI-compatible endpoint; a preset of the same name fills in what is left out. */
export interface ProviderConfig {
  baseURL?: string
  /** Better left to a variable: config files get shared. */
  apiKey?: string
  /** Name of the variable that holds the key, read when a request is sent. */
  apiKeyEnv?: string
  headers?: Record<string, string>
  query?: Record<string, string>
  /** `user` for endpoints whose templates refuse system messages behind the first. */
  systemMessages?: 'system' | 'user'
  /** Whether earlier reasoning is sent back to the endpoint. */
  reasoning?: 'keep' | 'drop'
  /** Milliseconds without a piece of the answer, after which the attempt fails. */
  timeout?: number
}

/** Config of the plugin. */
export interface Config {
  /** Whether the presets are there by name without being configured. */
  presets?: boolean
  providers?: Record<string, ProviderConfig>
  /** AI SDK models, or functions that give one for a model's name. */
  models?: Record<string, ModelSource>
}

const ProviderConfig: z<ProviderConfig> = z.object({
  baseURL: z.string().description('Where `/chat/completions` is, e.g. `http://localhost:8000/v1`.'),
  apiKey: z.string().role('secret').description('The key. Better left to a variable.'),
  apiKeyEnv: z.string().description('The variable that holds the key.'),
  headers: z.dict(z.string().role('secret')).description('More headers.'),
  query: z.dict(z.string().role('secret')).description('More query parameters.'),
  systemMessages: z.union(['system', 'user'] as const).description('How system messages behind the first are sent.'),
  reasoning: z.union(['keep', 'drop'] as const).description('Whether earlier reasoning is sent back.'),
  timeout: z.natural().min(1).max(MAX_TIMEOUT).default(DEFAULT_TIMEOUT).description('Milliseconds without a piece of the answer.'),
})

export const Config: z<Config> = strict(z.object({
  presets: z.boolean().default(true).description('Whether the known endpoints are there by name.'),
  providers: z.dict(ProviderConfig).description('OpenAI-compatible endpoints by name.'),
  models: z.dict(z.any()).description('AI SDK models by name, given in code.'),
}))

/** A provider or model that cannot be registered. */
export class AiSdkConfigError extends HeadraceError {
  constructor(problem: string) {
    super('AI_SDK_CONFIG', problem)
  }
}
