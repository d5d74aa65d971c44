import type { LanguageModelV3, SharedV3ProviderOptions } from '@ai-sdk/provider'
import { type Adapter, ModelError } from '@headrace/agent'
import type { CallConfig, JsonObject } from '@headrace/message'
import { aiSdkAdapter } from './adapter.ts'
import type { ProviderConfig } from './config.ts'
import { toModelError } from './failure.ts'
import { keyOf } from './key.ts'
import type { Preset } from './presets.ts'
import { redactor } from './redact.ts'
import { convertUsage } from './usage.ts'
import { DEFAULT_TIMEOUT, Watch } from './watch.ts'
import { beginning, wireFetch } from './wire.ts'

/** An endpoint with everything said. */
export interface Endpoint extends Omit<ProviderConfig, 'baseURL'>, Pick<Preset, 'maxTokens'> {
  readonly name: string
  readonly baseURL: string
  /** A preset's variable, without which nothing works. */
  readonly needsKey: boolean
}

/**
 * The package's name for the provider: not ours, but that under which it looks for the thought signatures it gave out, which
 * Google's endpoint wants to have back.
 */
const PACKAGE_NAME = 'google'
/** Bytes of a list of models. */
const MAX_MODELS = 8 * 1024 * 1024

/** The adapter of an OpenAI-compatible endpoint. */
export function openAICompatible(endpoint: Endpoint, warn: (message: string) => void): Adapter {
  const { name, query, systemMessages = 'system', reasoning = 'keep', timeout = DEFAULT_TIMEOUT } = endpoint
  return aiSdkAdapter(modelsOf(endpoint), {
    systemMessages,
    reasoning,
    toolImages: 'user',
    arguments: 'text',
    timeout,
    warn,
    headers: () => headersOf(endpoint),
    secrets: () => Object.values(query ?? {}),
    providerOptions: bodyOptions,
    models: () => listModels(endpoint, name, timeout),
  })
}

function modelsOf({ baseURL, query, maxTokens = 'max_tokens' }: Endpoint): (id: string) => Promise<LanguageModelV3> {
  let loading: Promise<(id: string) => LanguageModelV3> | undefined
  const load = async () => {
    // On first use: the package takes longer to load than everything else of headrace together.
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    return createOpenAICompatible({
      name: PACKAGE_NAME,
      baseURL,
      includeUsage: true,
      fetch: wireFetch,
      convertUsage,
      ...query ? { queryParams: query } : {},
      transformRequestBody: ({ max_tokens: limit, ...body }: Record<string, unknown>) => limit === undefined ? body : { ...body, [maxTokens]: limit },
    })
  }
  const models = new Map<string, LanguageModelV3>()
  return async (id) => {
    // Making one compiles its schemas, which takes longer than mapping a request.
    let model = models.get(id)
    if (!model) models.set(id, model = (await (loading ??= load()))(id))
    return model
  }
}

function headersOf(endpoint: Endpoint): Record<string, string> {
  const key = keyOf(endpoint)
  return { ...key === undefined ? {} : { Authorization: `Bearer ${key}` }, ...endpoint.headers }
}

/** `config.providerOptions` go into the body as they are: `{ top_k: 5 }`. */
function bodyOptions({ providerOptions, reasoningEffort }: CallConfig): SharedV3ProviderOptions | undefined {
  if (providerOptions === undefined && reasoningEffort === undefined) return undefined
  const fields: JsonObject = { ...reasoningEffort === undefined ? {} : { reasoningEffort }, ...providerOptions }
  return { [PACKAGE_NAME]: fields as SharedV3ProviderOptions[string] }
}

function refused(name: string, status: number, text: string): ModelError {
  const kind = status === 401 || status === 403 ? 'auth' : status >= 500 ? 'server' : 'invalid'
  return new ModelError({ kind, message: `${name} answered ${status} when asked for its models: ${text}`, status })
}

/** `GET /models`. */
async function listModels(endpoint: Endpoint, name: string, timeout: number): Promise<readonly string[]> {
  const watch = new Watch(new AbortController().signal, timeout, name)
  const secrets = Object.values(endpoint.query ?? {})
  try {
    const headers = headersOf(endpoint)
    secrets.push(...Object.values(headers), ...Object.values(headers).map((value) => value.replace(/^\w+ /, '')))
    const search = new URLSearchParams(endpoint.query).toString()
    const response = await watch.race(fetch(`${endpoint.baseURL}/models${search === '' ? '' : `?${search}`}`, { headers, signal: watch.signal }))
    const text = (await watch.race(beginning(response, response.ok ? MAX_MODELS : 1024))).toString()
    if (!response.ok) throw refused(name, response.status, text)
    const list = (JSON.parse(text) as { data?: unknown }).data
    return Array.isArray(list) ? list.flatMap((item: { id?: unknown } | null) => typeof item?.id === 'string' ? [item.id] : []) : []
  } catch (error) {
    throw toModelError(watch.error ?? error, name, redactor(secrets))
  } finally {
    watch.close()
  }
}
