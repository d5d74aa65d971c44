import { type Json, type OnRepair, copyJson, isPlain, toWellFormed } from '@headrace/message'

/** Deeper than any sensible value, and shallow enough for an event. */
const MAX_DEPTH = 64

/**
 * A value of a tool as JSON, in a copy of ours: what is `undefined` is left out of objects, lone surrogates are replaced.
 *
 * @throws TypeError for what is no JSON, which says where it is and what to give instead; JsonError
 */
export function toToolJson(value: unknown, at: string, onRepair?: OnRepair): Json {
  return copyJson(copyOf(value, { at, onRepair, inside: [] }, at) as Json, at)
}

interface Walk {
  readonly at: string
  readonly onRepair: OnRepair | undefined
  readonly inside: object[]
}

function copyOf(value: unknown, walk: Walk, path: string): unknown {
  if (typeof value === 'string') return toWellFormed(value, walk.at, walk.onRepair)
  // Everything else that is not JSON is rejected by the copy below.
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value
  const problem = notJson(value)
  if (problem !== undefined) throw new TypeError(`${path} is ${problem}`)
  if (walk.inside.includes(value)) throw new TypeError(`${path} is a cycle; JSON has none`)
  if (walk.inside.length >= MAX_DEPTH) throw new TypeError(`${path} is nested deeper than ${MAX_DEPTH}`)
  walk.inside.push(value)
  const copy = Array.isArray(value)
    ? Array.from(value, (item, index) => copyOf(item, walk, `${path}[${index}]`))
    : Object.fromEntries(fieldsOf(value, path).map(([key, item]) => [key.toWellFormed(), copyOf(item, walk, `${path}.${key}`)]))
  walk.inside.pop()
  return copy
}

/** Getters are refused: they may return another value at each read. */
function fieldsOf(value: object, path: string): [string, unknown][] {
  return Reflect.ownKeys(value).flatMap((key): [string, unknown][] => {
    if (typeof key === 'symbol') throw new TypeError(`${path} has the symbol ${String(key)} as a key`)
    const property = Reflect.getOwnPropertyDescriptor(value, key)
    if (!property || !('value' in property)) throw new TypeError(`${path}.${key} is an accessor`)
    return property.value === undefined ? [] : [[key, property.value]]
  })
}

/** Describes a value that is not JSON, with the way out. */
export function notJson(value: object): string | undefined {
  const name = nameOf(value)
  if (Array.isArray(value)) {
    return Object.keys(value).length === value.length ? undefined : 'a list with holes or named properties; give a list without'
  }
  if (value instanceof Date) return 'a Date; give value.toISOString()'
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `bytes (${name}); give [await run.agent.putImage(bytes, type)], putFile, or a text of them`
  if (value instanceof Map) return 'a Map; give Object.fromEntries(map)'
  if (value instanceof Set) return 'a Set; give [...set]'
  if (value instanceof Error) return `an ${name}; throw it, or give { content: error.message, error: true }`
  if (value instanceof Promise) return 'a promise; await it'
  if (Symbol.asyncIterator in value) return `an async iterable (${name}); read it to its end and give what it gave`
  if (Symbol.iterator in value) return `an iterable (${name}), such as a generator; give [...value], or make execute async * to yield progress`
  if (!isPlain(value)) return `an instance of ${name}; give a plain object, such as { ...value }`
  return undefined
}

function nameOf(value: object): string {
  const { constructor } = value as { readonly constructor?: unknown }
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class'
}
