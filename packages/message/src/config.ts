import { HeadraceError } from './error.ts'
import { type JsonObject, copyJson, isPlain } from './json.ts'

/** How a model is called: plain JSON, a header field of every request. */
export interface CallConfig {
  /**
   * `provider/name`, split at the first slash: the name under which `ctx.llm.adapter()` registered the provider, and the provider's own
   * name of the model. In a patch a name without a slash keeps the provider of what it replaces.
   */
  readonly model: string
  readonly temperature?: number
  readonly topP?: number
  /** Tokens. */
  readonly maxOutputTokens?: number
  readonly stop?: readonly string[]
  /** The provider's own word, e.g. `low`, `medium`, `high`. */
  readonly reasoningEffort?: string
  /** JSON Schema of what the answer must be. */
  readonly output?: JsonObject
  /** Whatever else the provider takes, passed on as it is. */
  readonly providerOptions?: JsonObject
}

/** The name of a field of a config. */
export type ConfigField = keyof CallConfig

/** A config with a missing, unknown or wrong field. */
export class ConfigError extends HeadraceError {
  constructor(at: string, problem: string) {
    super('CONFIG_INVALID', `${at} ${problem}`)
  }
}

const checks: { readonly [F in ConfigField]: readonly [test: (value: unknown) => boolean, expected: string] } = {
  model: [isModel, 'a name such as "deepseek/deepseek-flash"'],
  temperature: [Number.isFinite, 'a finite number'],
  topP: [Number.isFinite, 'a finite number'],
  maxOutputTokens: [(value) => Number.isSafeInteger(value) && (value as number) > 0, 'a positive integer'],
  stop: [(value) => Array.isArray(value) && value.every(isName), 'a list of non-empty strings'],
  reasoningEffort: [isName, 'a non-empty string'],
  output: [isObject, 'an object'],
  providerOptions: [isObject, 'an object'],
}

/** The fields of a config, in the order in which a config has them. */
export const CONFIG_FIELDS = Object.keys(checks) as readonly ConfigField[]

/**
 * The given fields of a config, checked, copied and frozen, in one order; a field that is `undefined` is left out.
 *
 * @throws ConfigError, JsonError
 */
export function toConfigPatch(input: unknown, at = 'config'): Partial<CallConfig> {
  if (typeof input !== 'object' || input === null || !isPlain(input)) throw new ConfigError(at, 'must be an object, as {} makes one')
  const unknown = Object.keys(input).find((key) => !Object.hasOwn(checks, key))
  if (unknown === 'provider') throw new ConfigError(at, 'has no field "provider": it stands in front of the model, as in model: "deepseek/deepseek-flash"')
  if (unknown !== undefined) throw new ConfigError(at, `has an unknown field ${JSON.stringify(unknown)}; it may have ${CONFIG_FIELDS.join(', ')}`)
  const source = input as Record<ConfigField, unknown>
  const result: Record<string, unknown> = {}
  for (const field of CONFIG_FIELDS) {
    const given = source[field]
    if (given === undefined) continue
    // The copy is judged: another look at what was given may find something else.
    const value = typeof given === 'object' ? copyJson(given, `${at}.${field}`) : given
    const [test, expected] = checks[field]
    if (!test(value)) throw new ConfigError(`${at}.${field}`, `must be ${expected}`)
    result[field] = value
  }
  return copyJson(result, at)
}

/**
 * A whole config: {@link toConfigPatch}, with a `model`. One without a slash keeps the provider of `base`.
 *
 * @throws ConfigError, JsonError
 */
export function toConfig(input: unknown, at = 'config', base?: string): CallConfig {
  const config = resolveModel(toConfigPatch(input, at), base, at)
  if (config.model === undefined) throw new ConfigError(at, `has no model; name one, e.g. ${EXAMPLE}`)
  return config as CallConfig
}

/**
 * A patch whose model is whole: a name without a slash gets the provider of the model that it replaces.
 *
 * @throws ConfigError where there is none
 */
export function resolveModel<C extends Partial<CallConfig>>(patch: C, base: string | undefined, at = 'config'): C {
  const { model } = patch
  if (model === undefined || model.includes('/')) return patch
  if (base === undefined || !base.includes('/')) {
    throw new ConfigError(`${at}.model`, `${JSON.stringify(model)} names no provider, and replaces no model that has one; write provider/name, e.g. ${EXAMPLE}`)
  }
  return copyJson({ ...patch, model: `${splitModel(base).provider}/${model}` }, at)
}

const EXAMPLE = 'model: "deepseek/deepseek-flash"'

/** A model's name in its two parts. */
export interface ModelParts {
  /** Name of the adapter. */
  readonly provider: string
  /** The provider's own name, which may have slashes. */
  readonly model: string
}

/** The parts of `provider/name`, split at the first slash; without one the provider is empty. */
export function splitModel(name: string): ModelParts {
  const slash = name.indexOf('/')
  return { provider: name.slice(0, Math.max(0, slash)), model: name.slice(slash + 1) }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** `provider/name`, or a name alone. */
function isModel(value: unknown): boolean {
  return isName(value) && !value.startsWith('/') && value.indexOf('/') !== value.length - 1
}
