import { HeadraceError, type Usage } from '@headrace/message'
import { MODELS } from './model-table.ts'

/** US dollars for a million tokens. `cached` and `written` are of the input: read from the provider's cache, and written to it. */
export interface Rates {
  readonly input: number
  readonly cached: number
  readonly written: number
  readonly output: number
}

/** What is known of a model. */
export interface ModelInfo {
  /** Tokens of its window: prompt and answer together. */
  readonly context: number
  /** Tokens of an answer, at most. */
  readonly output?: number
  readonly rates?: Rates
  /** Rates of a request whose prompt is longer than so many tokens; of several the last that holds. */
  readonly above?: readonly { readonly tokens: number; readonly rates: Rates }[]
  /** `false`: it cannot see. */
  readonly images?: boolean
}

/** Models by `provider/name`. */
export type ModelTable = Readonly<Record<string, ModelInfo>>

/** What is known of a model, by its name. */
export type ModelLookup = (model: string) => ModelInfo | undefined

/** A row of an app's own: rates that it leaves out are the input's. */
export interface ModelRow extends Omit<ModelInfo, 'rates' | 'above'> {
  readonly rates?: RateRow
  readonly above?: readonly { readonly tokens: number; readonly rates: RateRow }[]
}

/** Rates of a row of an app's own. */
export type RateRow = Pick<Rates, 'input' | 'output'> & Partial<Rates>

/** A row of a table of models that is none. */
export class ModelRowError extends HeadraceError {
  constructor(place: string, problem: string) {
    super('MODEL_ROW_INVALID', `${place} ${problem}`)
  }
}

/** What may stand behind a model's name without making it another: a date, a stage, a cloud's own suffix. */
const SUFFIX = /^(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest|-preview(-\d\d-\d{2,4})?|[@:].*)?$/

/**
 * What a table knows of `provider/name`; of a router's model, such as `openrouter/anthropic/claude-opus-5`, what it knows of the model.
 * An app's own rows come first: `modelInfo(model, modelTable(mine))`.
 */
export function modelInfo(model: string, table: ModelTable = MODELS): ModelInfo | undefined {
  const wanted = normal(model)
  for (const name of [wanted, wanted.slice(wanted.indexOf('/') + 1)]) {
    if (!name.includes('/')) continue
    const fits = (key: string): boolean => name.startsWith(normal(key)) && SUFFIX.test(name.slice(normal(key).length))
    const [found] = Object.keys(table).filter(fits).sort((a, b) => b.length - a.length)
    if (found !== undefined) return table[found]
  }
  return undefined
}

/**
 * A table of an app's own rows, in front of those of another: a row takes the place of the one of its model, as a whole.
 *
 * @throws ModelRowError that names the field
 */
export function modelTable(rows: Readonly<Record<string, ModelRow>>, behind: ModelTable = MODELS): ModelTable {
  const own = Object.entries(rows).map(([name, row]) => {
    const place = `models[${JSON.stringify(name)}]`
    if (!/^[^/*]+\/[^*]+$/.test(name)) throw new ModelRowError(place, 'must be named as one model is: provider/name')
    return [name, toInfo(row, place)] as const
  })
  const taken = new Set(own.map(([name]) => normal(name)))
  return Object.freeze(Object.fromEntries([...own, ...Object.entries(behind).filter(([name]) => !taken.has(normal(name)))]))
}

type Fields = Readonly<Record<string, unknown>>

function toInfo(given: unknown, place: string): ModelInfo {
  const { context, output, rates, above, images } = fieldsOf(given, place, ['context', 'output', 'rates', 'above', 'images'])
  if (images !== undefined && typeof images !== 'boolean') throw new ModelRowError(`${place}.images`, 'must be true or false')
  if (above !== undefined && !Array.isArray(above)) throw new ModelRowError(`${place}.above`, 'must be a list of { tokens, rates }')
  const tiers = (above as readonly unknown[] | undefined)?.map((tier, index) => {
    const at = `${place}.above[${index}]`
    const { tokens, rates: dear } = fieldsOf(tier, at, ['tokens', 'rates'])
    return { tokens: tokensOf(tokens, `${at}.tokens`), rates: toRates(dear, `${at}.rates`) }
  })
  return Object.freeze({
    context: tokensOf(context, `${place}.context`),
    ...(output !== undefined && { output: tokensOf(output, `${place}.output`) }),
    ...(rates !== undefined && { rates: toRates(rates, `${place}.rates`) }),
    ...(tiers && { above: tiers.sort((a, b) => a.tokens - b.tokens) }),
    ...(images !== undefined && { images }),
  })
}

function toRates(given: unknown, place: string): Rates {
  const fields = fieldsOf(given, place, ['input', 'cached', 'written', 'output'])
  const rate = (name: string, otherwise?: unknown): number => {
    const value = fields[name] ?? otherwise
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
    throw new ModelRowError(`${place}.${name}`, 'must be US dollars for a million tokens')
  }
  return { input: rate('input'), cached: rate('cached', fields['input']), written: rate('written', fields['input']), output: rate('output') }
}

function tokensOf(value: unknown, place: string): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number
  throw new ModelRowError(place, 'must be a whole number of tokens')
}

function fieldsOf(given: unknown, place: string, known: readonly string[]): Fields {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new ModelRowError(place, `must have fields of ${known.join(', ')}`)
  const stray = Object.keys(given).find((key) => !known.includes(key))
  if (stray !== undefined) throw new ModelRowError(`${place}.${stray}`, `is none of ${known.join(', ')}`)
  return given as Fields
}

/** Routers write versions with a dot where providers have a dash. */
function normal(name: string): string {
  return name.toLowerCase().replaceAll('.', '-').replace(/^openai-chat\//, 'openai/').replace(/\/models\//, '/')
}

/** US dollars of a request; `undefined` where the rates are not known. */
export function costOf({ input, cached, written, output }: Usage, info: ModelInfo | undefined): number | undefined {
  const rates = info?.above?.findLast(({ tokens }) => input > tokens)?.rates ?? info?.rates
  if (!rates) return undefined
  const fresh = Math.max(0, input - cached - written)
  return (fresh * rates.input + cached * rates.cached + written * rates.written + output * rates.output) / 1_000_000
}
