import { types } from 'node:util'

/** What a value is called in an error: `a number`, `an array`, `a Date`, `a String object`, `a plain object`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  if (Array.isArray(value)) return 'an array'
  if (read(value, Symbol.asyncIterator) !== undefined) return 'an async iterable'
  const name = className(value)
  if (name === undefined || name === 'Object') return 'a plain object'
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}${types.isBoxedPrimitive(value) ? ' object' : ''}`
}

/** True for a promise, of any realm, and for whatever else is awaited like one. */
export function isPromise(value: unknown): boolean {
  return typeof read(value, 'then') === 'function'
}

function className(value: object): string | undefined {
  const name = read(read(value, 'constructor'), 'name')
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** Reads a property of any value. A getter or proxy may throw, which must not replace the error being written. */
function read(value: unknown, key: string | symbol): unknown {
  try {
    return (value as Record<string | symbol, unknown> | null | undefined)?.[key]
  } catch {
    return undefined
  }
}
