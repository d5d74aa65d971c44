import { HeadraceError, messageOf } from './error.ts'

/** A value that JSON holds without loss. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
/** An object that JSON holds without loss. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** A value that would not come back from `JSON.parse(JSON.stringify(value))` as it was. `path` says where, as in `$.a[1]`. */
export class JsonError extends HeadraceError {
  readonly path: string

  constructor(path: string, problem: string) {
    super('JSON_LOSSY', `${path} ${problem}`)
    this.path = path
  }
}

/**
 * Deeper nesting than this is refused: nothing a model reads needs it, and a hostile value must not overflow the stack. A list or an object
 * is one level, each inside of it another. An event of a log counts as a whole, from its own braces.
 */
export const MAX_DEPTH = 128

/**
 * What we copied and froze ourselves, and how deep it is nested. `Object.isFrozen` says nothing about the inside, nor about who else holds
 * it (L11).
 */
const ours = new WeakMap<object, number>()

/** True for a value that {@link copyJson} or {@link adoptJson} returned: deep-frozen, plain, held by nobody who could change it. */
export function isOurs(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ours.has(value)
}

/** How deep a value that is ours is nested; undefined for any other. */
export function depthOfOurs(value: object): number | undefined {
  return ours.get(value)
}

/**
 * Copies a value into plain, deep-frozen JSON (L11). What is already ours is returned as it is, without a walk.
 *
 * @param at how the value is called in an error, e.g. `prompt.input`
 * @throws JsonError for `undefined`, `NaN`, `-0`, lone surrogates, cycles, accessors, symbols, class instances, sparse arrays, and for
 *   what throws when it is read
 */
export function copyJson<T>(value: T, at = '$'): T {
  if (isOurs(value)) return value
  const copier = new Copier(at)
  try {
    const result = copier.copy(value)
    if (typeof result === 'object' && result !== null) ours.set(result, copier.deepest)
    return result as T
  } catch (error) {
    // A proxy's trap; or a proxy that was revoked.
    throw error instanceof JsonError ? error : copier.refuse(`cannot be read: ${messageOf(error)}`)
  }
}

/** One walk of {@link copyJson}: where it is, and what it is inside of. */
class Copier {
  private readonly at: string
  private readonly trail: (string | number)[] = []
  private readonly ancestors: object[] = []
  /** How deep what it has copied so far is nested. */
  deepest = 0

  constructor(at: string) {
    this.at = at
  }

  refuse(problem: string): never {
    throw new JsonError(this.trail.reduce<string>((path, key) => path + (typeof key === 'number' ? `[${key}]` : dotted(key)), this.at), problem)
  }

  copy(source: unknown): unknown {
    switch (typeof source) {
      case 'string': return source.isWellFormed() ? source : this.refuse('has a lone surrogate')
      case 'boolean': return source
      case 'number':
        if (!Number.isFinite(source)) this.refuse(`is ${source}`)
        return Object.is(source, -0) ? this.refuse('is -0') : source
      case 'object':
        if (source === null) return source
        return ours.has(source) ? this.reach(source, ours.get(source)!) : Object.freeze(this.copyInside(source))
      default: return this.refuse(`is ${typeof source === 'undefined' ? 'undefined' : `a ${typeof source}`}`)
    }
  }

  private copyInside(source: object): object {
    const { ancestors } = this
    if (ancestors.includes(source)) this.refuse('is a cycle')
    this.reach(source, 1)
    ancestors.push(source)
    const copy = Array.isArray(source) ? this.copyArray(source) : this.copyObject(source)
    ancestors.pop()
    return copy
  }

  /** What stands here is nested so deep, counted from itself. */
  private reach(source: object, depth: number): object {
    const deepest = this.ancestors.length + depth
    if (deepest > MAX_DEPTH) this.refuse(`is nested deeper than ${MAX_DEPTH}`)
    if (deepest > this.deepest) this.deepest = deepest
    return source
  }

  private copyArray(source: readonly unknown[]): unknown[] {
    if (!isPlainArray(source)) this.refuse('is an instance of a class')
    const { length } = source
    // A proxy may call an object its length.
    if (typeof length !== 'number' || Reflect.ownKeys(source).length !== length + 1) this.refuse('is a sparse array, or has named properties')
    const result = new Array<unknown>(length)
    for (let index = 0; index < length; index++) result[index] = this.copyProperty(source, index)
    return result
  }

  private copyObject(source: object): object {
    if (!isPlain(source)) this.refuse('is an instance of a class')
    const result: Record<string, unknown> = {}
    for (const key of Reflect.ownKeys(source)) {
      if (typeof key === 'symbol') this.refuse(`has the symbol ${String(key)} as a key`)
      if (!key.isWellFormed()) this.refuse('has a key with a lone surrogate')
      put(result, key, this.copyProperty(source, key))
    }
    return result
  }

  private copyProperty(source: object, key: string | number): unknown {
    this.trail.push(key)
    const property = Reflect.getOwnPropertyDescriptor(source, key)
    if (!property) this.refuse('is missing')
    if (!('value' in property)) this.refuse('is an accessor')
    if (!property.enumerable) this.refuse('is not enumerable')
    const value = this.copy(property.value)
    this.trail.pop()
    return value
  }
}

/** A list each of whose items is ours by itself, so that its digest is computed once wherever it stands. */
export function copyList<T>(list: readonly T[], at = '$'): readonly T[] {
  if (isOurs(list)) return list
  return list.length === 0 ? EMPTY : copyJson(list.map((item, index) => copyJson(item, `${at}[${index}]`)), at)
}

const EMPTY: readonly never[] = adoptJson([])

/** Freezes a value that only we hold and that is JSON already, such as what `JSON.parse` just returned. */
export function adoptJson<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !ours.has(value)) ours.set(value, adopt(value))
  return value
}

/** Returns how deep it is nested. */
function adopt(value: object): number {
  const known = ours.get(value)
  if (known !== undefined) return known
  let inside = 0
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key]
    if (typeof item === 'object' && item !== null) inside = Math.max(inside, adopt(item))
  }
  Object.freeze(value)
  return inside + 1
}

/** Equal as JSON text, the order of keys included: what the model would see is the same. Of values that are JSON. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false
  const [names, others] = [Object.keys(a), Object.keys(b)]
  return names.length === others.length && names.every((name, index) => {
    return name === others[index] && sameJson((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name])
  })
}

/** An object as `{}` makes it, of this realm or another: no promise, no date, no instance of a class. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || isObjectPrototype(prototype)
}

function isPlainArray(value: readonly unknown[]): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Another realm's Array.prototype: an array itself, right above that realm's Object.prototype.
  return prototype === Array.prototype || (Array.isArray(prototype) && isObjectPrototype(Object.getPrototypeOf(prototype)))
}

function isObjectPrototype(value: unknown): boolean {
  if (value === Object.prototype) return true
  // Another realm's: at the end of its chain, with what every Object.prototype has.
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null && Object.hasOwn(value, 'isPrototypeOf')
}

function put(target: Record<string, unknown>, key: string, value: unknown): void {
  // `target['__proto__'] = …` would set the prototype instead.
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

function dotted(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

/** `T` without the `undefined` in its optional fields. */
export type Defined<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> }

/** Drops fields that are `undefined`: absent has one spelling (L10). */
export function defined<T extends object>(value: T): Defined<T> {
  const result: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const field = (value as Record<string, unknown>)[key]
    if (field !== undefined) put(result, key, field)
  }
  return result as Defined<T>
}
