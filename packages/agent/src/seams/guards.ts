import { isA, isPlain } from '@headrace/message'
import { RunContext } from '@headrace/run-context'

export function isRunContext(value: unknown): value is RunContext {
  return isA(value, RunContext)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A promise, a date or an instance of a class has none of the fields that a seam looks for, and would be taken for one
 * that says nothing.
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isObject(value) && isPlain(value)
}

/** The first unknown key of an object: a misspelt key must be an error, not silently ignored. */
export function strayKey(value: object, ...known: readonly string[]): string | undefined {
  return Object.keys(value).find((key) => !known.includes(key))
}

/** A list without holes: a sparse array may claim a length of 2³² and must not be iterated. */
export function isList(value: unknown): value is unknown[] {
  return Array.isArray(value) && Object.keys(value).length === value.length
}

/** An object whose only own keys are these, where each that is there is a string. */
export function hasString<K extends string>(value: unknown, key: K): value is Record<K, string> {
  return isObject(value) && typeof value[key] === 'string'
}

/** Handles the rejection of a promise that is refused by its type: it must not end the process later. */
export function disown(value: unknown): void {
  if (isA(value, Promise)) value.catch(() => undefined)
}
