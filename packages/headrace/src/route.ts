import { HeadraceError } from '@headrace/message'
import { type Config as ModelsConfig, presets } from '@headrace/plugin-models'

type Providers = NonNullable<ModelsConfig['providers']>

/** The provider of a model whose name has no known provider in front, at a base URL. */
export const ENDPOINT = 'endpoint'

/** An invalid config of headrace. */
export class HeadraceConfigError extends HeadraceError {
  constructor(problem: string) {
    super('HEADRACE_CONFIG', problem)
  }
}

/** Where requests go: the model's full name, and the config of its provider. */
export interface Route {
  readonly model?: string
  readonly providers: Providers
}

/** What stands before the first slash of a model's name, where that is a provider: a preset, or one of `providers`. */
export function providerOf(model: string, providers: Providers = {}): string | undefined {
  const prefix = model.slice(0, Math.max(0, model.indexOf('/')))
  const known = prefix === ENDPOINT || Object.hasOwn(providers, prefix) || presets().some(({ name }) => name === prefix)
  return prefix !== '' && known ? prefix : undefined
}

export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

/**
 * A base URL takes the place of that of the model's provider; a model without a known one is served by the provider `endpoint`, under
 * its whole name. Where no model is named (the log will say it), whichever is used is meant.
 *
 * @throws HeadraceConfigError for what is no http(s) URL
 */
export function routeOf(model: string | undefined, baseURL: string | undefined, providers: Providers = {}): Route {
  if (baseURL === undefined) return { ...(model !== undefined && { model }), providers }
  if (!isHttpUrl(baseURL)) throw new HeadraceConfigError('baseURL must be an http(s) URL; give one such as "http://localhost:8000/v1"')
  const at = (names: readonly string[]): Providers => Object.fromEntries(names.map((name) => [name, { ...providers[name], baseURL }]))
  if (model === undefined) return { providers: { ...providers, ...at([ENDPOINT, ...presets().map(({ name }) => name)]) } }
  const provider = providerOf(model, providers)
  return { model: provider === undefined ? `${ENDPOINT}/${model}` : model, providers: { ...providers, ...at([provider ?? ENDPOINT]) } }
}
