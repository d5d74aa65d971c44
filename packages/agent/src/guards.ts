import { RunContext } from '@headrace/run-context'

export function isRunContext(value: unknown): value is RunContext {
  return value instanceof RunContext
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object whose only own keys are these, where each that is there is a string. */
export function hasString<K extends string>(value: unknown, key: K): value is Record<K, string> {
  return isObject(value) && typeof value[key] === 'string'
}

/** A promise where none belongs is refused by its type; that it is rejected later must not end the process. */
export function disown(value: unknown): void {
  if (value instanceof Promise) value.catch(() => undefined)
}
