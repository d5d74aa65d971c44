import { HeadraceError } from '@headrace/message'
import type { TokenCounter } from './counter.ts'

/** What fits a model, in tokens. */
export interface ModelProfile {
  /** Of prompt and answer together. */
  readonly window: number
  /** Kept free for the answer of a request whose config sets no `maxOutputTokens`. */
  readonly completionReserve: number
  /** Kept free because counts are estimates. */
  readonly safetyMargin: number
  /** Counts the conversation; the loop's own where it is absent. */
  readonly counter?: TokenCounter
}

/**
 * Profiles by pattern of `provider/model`; `*` stands for any characters. What a profile leaves out has its default, the
 * window that of the table of models first.
 */
export type Profiles = Readonly<Record<string, Partial<ModelProfile>>>

/** A profile that fits no request, or has an invalid field. */
export class ProfileError extends HeadraceError {
  constructor(pattern: string, problem: string) {
    super('PROFILE_INVALID', `profile ${JSON.stringify(pattern)}: ${problem}`)
  }
}

/** The window of a model that no pattern and no table tells of. */
export const DEFAULT_WINDOW = 128_000

/**
 * A whole profile: a window of 128,000, a quarter of it but at most 8,192 for the answer, a fiftieth of it as a margin.
 *
 * @throws ProfileError
 */
export function toProfile(input: Partial<ModelProfile>, pattern = '*'): ModelProfile {
  const { window = DEFAULT_WINDOW, counter } = input
  const { completionReserve = Math.min(8_192, Math.floor(window / 4)), safetyMargin = Math.ceil(window / 50) } = input
  for (const [field, value] of Object.entries({ window, completionReserve, safetyMargin })) {
    if (!Number.isSafeInteger(value) || value < 0) throw new ProfileError(pattern, `${field} must be a whole number of tokens, not ${value}`)
  }
  if (completionReserve + safetyMargin >= window) {
    throw new ProfileError(pattern, `completionReserve ${completionReserve} and safetyMargin ${safetyMargin} leave nothing of the window of ${window}`)
  }
  return Object.freeze({ window, completionReserve, safetyMargin, ...counter && { counter } })
}

/**
 * Looks up a profile for `provider/model`: of the patterns that match, the one with the most literal characters, then the earlier one.
 * A window that it leaves out is the known one.
 */
export function profileFinder(profiles: Profiles = {}): (model: string, known?: number) => ModelProfile {
  const rules = Object.entries(profiles)
    .map(([pattern, input]) => ({ pattern, input, matches: matcher(pattern), literal: pattern.replaceAll('*', '').length, profile: toProfile(input, pattern) }))
    .sort((a, b) => b.literal - a.literal)
  const fallback = toProfile({})
  return (model, known) => {
    const { input = {}, pattern, profile = fallback } = rules.find(({ matches }) => matches(model)) ?? {}
    return input.window !== undefined || known === undefined ? profile : toProfile({ ...input, window: known }, pattern)
  }
}

function matcher(pattern: string): (model: string) => boolean {
  const expression = new RegExp(`^${pattern.split(/\*+/).map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&')).join('.*')}$`, 's')
  return (model) => expression.test(model)
}
