import type { Usage } from '@headrace/message'
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

/** What may stand behind a model's name without making it another: a date, a stage, a cloud's own suffix. */
const SUFFIX = /^(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest|-preview(-\d\d-\d{2,4})?|[@:].*)?$/

/**
 * What a table knows of `provider/name`; of a router's model, such as `openrouter/anthropic/claude-opus-5`, what it knows of the model.
 * An app's own rows come first: `modelInfo(model, { ...mine, ...MODELS })`.
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
