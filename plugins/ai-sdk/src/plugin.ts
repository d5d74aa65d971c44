import type { Context } from 'cordis'
import type { Adapter } from '@headrace/agent'
import { aiSdkAdapter } from './adapter.ts'
import { AiSdkConfigError, type Config, type ProviderConfig } from './config.ts'
import { type Endpoint, openAICompatible } from './openai-compatible.ts'
import { type Preset, presets } from './presets.ts'

export const name = 'ai-sdk'
export const inject = ['llm']

/** Registers an adapter for each preset, provider and model; a provider adds to the preset of its name, a model takes its place. */
export async function apply(ctx: Context, config: Config): Promise<void> {
  const logger = ctx.logger(name)
  const told = new Set<string>()
  const warn = (adapter: string) => (message: string) => {
    const line = `${adapter}: ${message}`
    if (told.has(line) || told.size > 1000) return
    told.add(line)
    logger.warn('%s', line)
  }
  for (const [adapter, made] of adaptersOf(config, warn)) ctx.llm.adapter(adapter, made)
}

type Warn = (adapter: string) => (message: string) => void

function adaptersOf({ presets: known = true, providers = {}, models = {} }: Config, warn: Warn): Map<string, Adapter> {
  const adapters = new Map<string, Adapter>()
  if (known) for (const preset of presets()) adapters.set(preset.name, openAICompatible(toEndpoint(preset.name, {}, preset), warn(preset.name)))
  for (const [name, provider] of Object.entries(providers)) {
    const preset = presets().find((preset) => preset.name === name)
    adapters.set(name, openAICompatible(toEndpoint(name, provider, preset), warn(name)))
  }
  for (const [name, model] of Object.entries(models)) {
    checkName(name)
    adapters.set(name, aiSdkAdapter(model, { warn: warn(name) }))
  }
  return adapters
}

const EXAMPLE = 'give one such as "http://localhost:8000/v1"'

/** @throws AiSdkConfigError */
function toEndpoint(name: string, provider: ProviderConfig, preset: Preset | undefined): Endpoint {
  checkName(name)
  const given = Object.fromEntries(Object.entries(provider).filter(([, value]) => value !== undefined && value !== null)) as ProviderConfig
  const merged = { ...preset, ...given }
  const { baseURL } = merged
  if (baseURL === undefined) throw new AiSdkConfigError(`providers.${name} has no baseURL, and there is no preset of that name; ${EXAMPLE}`)
  const isUrl = URL.canParse(baseURL) && /^https?:$/.test(new URL(baseURL).protocol)
  if (!isUrl) throw new AiSdkConfigError(`providers.${name}.baseURL must be an http(s) URL; ${EXAMPLE}`)
  // A preset elsewhere is a server of one's own, which may want no key.
  const needsKey = merged.apiKeyEnv !== undefined && (given.apiKeyEnv !== undefined || given.baseURL === undefined)
  return { ...merged, name, baseURL: baseURL.replace(/\/+$/, ''), needsKey }
}

function checkName(name: string): void {
  if (name !== '' && !name.includes('/')) return
  throw new AiSdkConfigError(`${JSON.stringify(name)} cannot name a provider: its name is what stands before the first slash in "provider/model"`)
}
