import { strict } from '@headrace/config'
import { HeadraceError } from '@headrace/message'
import { DEFAULT_CLOCKS, MAX_WAIT, PROTOCOLS, type Protocol } from '@headrace/wire'
import z from 'schemastery'

/** An endpoint; a preset of the same name fills in what is left out. */
export interface ProviderConfig {
  /** The base URL, as the provider's docs give it; a full endpoint path is fine too. */
  baseURL?: string
  /** The protocol it speaks. Default: its preset's, else `openai-chat`. */
  protocol?: Protocol
  /** The key. Prefer `apiKeyEnv`: config files get shared. */
  apiKey?: string
  /** Name of the variable that holds the key, read when a request is sent. */
  apiKeyEnv?: string
  headers?: Record<string, string>
  query?: Record<string, string>
  /** How system messages in mid-conversation are sent. */
  systemMessages?: 'system' | 'user'
  /** Whether earlier reasoning is sent back. */
  reasoning?: 'keep' | 'drop'
  /** `false`: its models take no images; a text stands in for each. */
  images?: boolean
  /** Milliseconds without a byte after the first; 0 means no limit. */
  idle?: number
  /** Milliseconds until the first byte of an answer; 0 means no limit. */
  firstByte?: number
  /** Milliseconds of a whole answer; 0 means no limit. */
  whole?: number
}

/** Config of the plugin. */
export interface Config {
  /** Whether presets can be used by name without being configured. */
  presets?: boolean
  providers?: Record<string, ProviderConfig>
  /** Timeouts of providers without their own, in milliseconds. */
  idle?: number
  firstByte?: number
  whole?: number
}

const clock = (): z<number> => z.natural().max(MAX_WAIT)

const ProviderConfig: z<ProviderConfig> = z.object({
  baseURL: z.string().description('Where it is, e.g. `http://localhost:8000/v1`.'),
  protocol: z.union(PROTOCOLS.map((name) => z.const(name))).description('The protocol it speaks.'),
  apiKey: z.string().role('secret').description('The key. Better left to a variable.'),
  apiKeyEnv: z.string().description('The variable that holds the key.'),
  headers: z.dict(z.string().role('secret')).description('More headers.'),
  query: z.dict(z.string().role('secret')).description('More query parameters.'),
  systemMessages: z.union(['system', 'user'] as const).description('How system messages in mid-conversation are sent.'),
  reasoning: z.union(['keep', 'drop'] as const).description('Whether earlier reasoning is sent back.'),
  images: z.boolean().description('Whether its models can see.'),
  idle: clock().description('Milliseconds without a byte after the first.'),
  firstByte: clock().description('Milliseconds until the first byte of an answer.'),
  whole: clock().description('Milliseconds of a whole answer.'),
})

export const Config: z<Config> = strict(z.object({
  presets: z.boolean().default(true).description('Whether the known providers are there by name.'),
  providers: z.dict(ProviderConfig).description('Endpoints by name.'),
  idle: clock().default(DEFAULT_CLOCKS.idle).description('Milliseconds without a byte after the first; 0 is for ever.'),
  firstByte: clock().default(DEFAULT_CLOCKS.firstByte).description('Milliseconds until the first byte of an answer; 0 is for ever.'),
  whole: clock().default(DEFAULT_CLOCKS.whole).description('Milliseconds of a whole answer; 0 is for ever.'),
}))

/** A provider that cannot be registered. */
export class ModelsConfigError extends HeadraceError {
  constructor(problem: string) {
    super('MODELS_CONFIG', problem)
  }
}
