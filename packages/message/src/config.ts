import { HeadraceError } from './error.ts'
import { type JsonObject, copyJson, isPlain } from './json.ts'

/** How a model is called: plain JSON, a header field of every request. */
export interface CallConfig {
  /** Name of the adapter that `ctx.llm.adapter()` registered. */
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly temperature?: number
  readonly topP?: number
  /** Tokens. */
  readonly maxOutputTokens?: number
  readonly stop?: readonly string[]
  /** The provider's own word, e.g. `low`, `medium`, `high`. */
  readonly reasoningEffort?: string
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
  provider: [isName, 'a non-empty string'],
  model: [isName, 'a non-empty string'],
  temperature: [Number.isFinite, 'a finite number'],
  topP: [Number.isFinite, 'a finite number'],
  maxOutputTokens: [(value) => Number.isSafeInteger(value) && (value as number) > 0, 'a positive integer'],
  stop: [(value) => Array.isArray(value) && value.every(isName), 'a list of non-empty strings'],
  reasoningEffort: [isName, 'a non-empty string'],
  providerOptions: [(value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'an object'],
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

/** A whole config: {@link toConfigPatch}, with `provider` and `model`. */
export function toConfig(input: unknown, at = 'config'): CallConfig {
  const config = toConfigPatch(input, at)
  for (const field of ['provider', 'model'] as const) {
    if (config[field] === undefined) throw new ConfigError(at, `has no ${field}; name one, e.g. model: "deepseek/deepseek-chat"`)
  }
  return config as CallConfig
}

/** Splits `provider/model` at the first slash; a name without one has no provider. */
export function parseModel(name: string): Partial<Pick<CallConfig, 'provider'>> & Pick<CallConfig, 'model'> {
  const slash = name.indexOf('/')
  return slash < 1 ? { model: name } : { provider: name.slice(0, slash), model: name.slice(slash + 1) }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
