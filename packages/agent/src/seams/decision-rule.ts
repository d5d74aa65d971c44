import { isA, toConfigPatch } from '@headrace/message'
import type { ErrorDecision } from '../contract/events.ts'
import { isList, isObject, isPlainObject, strayKey } from './guards.ts'
import type { SeamRule } from './dispatch.ts'

/** A seam whose outermost listener decides; not calling `next()` is a decision too. */
export function decisionRule<T>(expected: string, check: (value: unknown) => value is T): SeamRule<T> {
  return {
    accept(returned) {
      if (!check(returned)) throw new TypeError(`returned ${describe(returned)}, not ${expected}`)
      return wellFormed(returned)
    },
  }
}

/** A decision with well-formed texts, so that it can be logged; each field is read once. */
function wellFormed<T>(decision: T): T {
  if (typeof decision !== 'object' || decision === null) return decision
  return Object.freeze(Object.fromEntries(Object.entries(decision).map(([key, value]: [string, unknown]) => [key, typeof value === 'string' ? value.toWellFormed() : value]))) as T
}

/** `agent/request-error`. */
export const errorRule: SeamRule<ErrorDecision> = {
  accept(returned) {
    if (returned === 'fail' || returned === 'retry' || returned === 'restep') return returned
    const isRetry = isPlainObject(returned) && isPlainObject(returned.retry) && strayKey(returned, 'retry') === undefined && strayKey(returned.retry, 'config') === undefined
    if (!isRetry) throw new TypeError(`returned ${describe(returned)}, not 'fail', 'retry', 'restep' or { retry: { config? } }`)
    const { config } = returned.retry as { readonly config?: unknown }
    return config === undefined ? 'retry' : { retry: { config: toConfigPatch(config, 'retry.config') } }
  },
}

/** Describes a value for an error message, without its contents. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return isList(value) ? 'a list' : 'a list with holes'
  if (isA(value, Promise)) return 'a promise'
  if (!isObject(value)) return typeof value === 'undefined' ? 'nothing' : `a ${typeof value}`
  const keys = Object.keys(value).slice(0, 5)
  return keys.length === 0 ? 'an empty object' : `an object with ${keys.join(', ')}`
}
