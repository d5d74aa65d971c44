import type { ModelLookup } from '@headrace/tokens'
import { DEFAULT_CLOCKS, type Endpoint, type Traits, toBaseUrl } from '@headrace/wire'
import { type Config, ModelsConfigError, type ProviderConfig } from './config.ts'
import { keyOf } from './key.ts'
import { ANY, OPENAI_CHAT, type Preset, presets } from './providers.ts'

/**
 * The endpoints that a config asks for, fully resolved; `known` is what the app knows of models.
 *
 * @throws ModelsConfigError, BaseUrlError
 */
export function endpointsOf(config: Config, known: ModelLookup): Endpoint[] {
  const { presets: byName = true, providers = {} } = config
  const names = new Set([...(byName ? presets().map(({ name }) => name) : []), ...Object.keys(providers)])
  return [...names].map((name) => toEndpoint(name, providers[name] ?? {}, presets().find((preset) => preset.name === name), config, known))
}

const EXAMPLE = 'give one such as "http://localhost:8000/v1"'

function toEndpoint(name: string, provider: ProviderConfig, preset: Preset | undefined, config: Config, known: ModelLookup): Endpoint {
  if (name === '' || name.includes('/')) {
    throw new ModelsConfigError(`${JSON.stringify(name)} cannot name a provider: its name is what stands before the first slash in "provider/model"`)
  }
  const given = Object.fromEntries(Object.entries(provider).filter(([, value]) => value !== undefined && value !== null)) as ProviderConfig
  const text = given.baseURL ?? preset?.baseURL
  if (text === undefined) throw new ModelsConfigError(`providers.${name} has no baseURL, and there is no preset of that name; ${EXAMPLE}`)
  const { url, query } = toBaseUrl(text, `providers.${name}.baseURL`)
  const apiKeyEnv = given.apiKeyEnv ?? preset?.apiKeyEnv
  // A preset with another base URL is a server of the user's, which may need no key.
  const needsKey = apiKeyEnv !== undefined && (given.apiKeyEnv !== undefined || given.baseURL === undefined)
  const traits = traitsOf(given, preset)
  const { idle, firstByte, whole } = { ...DEFAULT_CLOCKS, ...onlyClocks(config), ...onlyClocks(given) }
  return {
    name,
    base: { url, query: { ...query, ...given.query } },
    traits: (model) => traitsFor(known(`${name}/${model}`), traits, given),
    key: () =>
      keyOf({
        name,
        needsKey,
        ...(given.apiKey !== undefined && { apiKey: given.apiKey }),
        ...(apiKeyEnv !== undefined && { apiKeyEnv }),
      }),
    ...(given.headers && { headers: given.headers }),
    clocks: { idle, firstByte, whole },
    cutsSilently: preset?.cutsSilently === true || /:11434\b/.test(url),
  }
}

/** `openai` with another base URL is an OpenAI-compatible server: those speak chat completions. */
function traitsOf({ protocol, baseURL }: ProviderConfig, preset: Preset | undefined): Traits {
  if (protocol !== undefined) return preset?.traits.family === protocol ? preset.traits : protocol === 'openai-chat' && preset?.name === 'openai' ? OPENAI_CHAT : { family: protocol }
  if (!preset) return ANY
  return preset.name === 'openai' && baseURL !== undefined && !/\bapi\.openai\.com\b/.test(baseURL) ? OPENAI_CHAT : preset.traits
}

/** What one of its models supports, from the config and the table of models. */
function traitsFor(info: ReturnType<ModelLookup>, traits: Traits, { systemMessages, reasoning, images }: ProviderConfig): Traits {
  if (traits.family === 'anthropic') return info?.output === undefined ? traits : { ...traits, limit: Math.min(info.output, 64_000) }
  if (traits.family !== 'openai-chat') return traits
  const { system: _system, ...rest } = traits
  return {
    ...(systemMessages === 'user' ? rest : traits),
    ...(systemMessages === 'system' && { system: 'anywhere' as const }),
    ...(reasoning === 'drop' && { reasoning: 'none' as const }),
    ...((images ?? info?.images) === false && { images: false as const }),
  }
}

function onlyClocks({ idle, firstByte, whole }: Config): Partial<Endpoint['clocks']> {
  return { ...(idle !== undefined && { idle }), ...(firstByte !== undefined && { firstByte }), ...(whole !== undefined && { whole }) }
}
