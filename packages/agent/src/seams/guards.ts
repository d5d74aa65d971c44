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

/** The first key of an object that nobody reads; what a misspelt one was to say must not be lost. */
export function strayKey(value: object, ...known: readonly string[]): string | undefined {
  return Object.keys(value).find((key) => !known.includes(key))
}

/** A list without holes: one with them may say that it is four thousand million long, and must not be walked. */
export function isList(value: unknown): value is unknown[] {
  return Array.isArray(value) && Object.keys(value).length === value.length
}

/** An object whose only own keys are these, where each that is there is a string. */
export function hasString<K extends string>(value: unknown, key: K): value is Record<K, string> {
  return isObject(value) && typeof value[key] === 'string'
}

/** A promise where none belongs is refused by its type; that it is rejected later must not end the process. */
export function disown(value: unknown): void {
  if (isA(value, Promise)) value.catch(() => undefined)
}
