import { types } from 'node:util'
import { copyJson } from '@headrace/message'
import { type Place, RunContextError } from './error.ts'
import { isPromise, kindOf } from './kind.ts'
import { isBlankText, stripTrailing } from './text.ts'

/** A fact or a section as it is kept. */
export type Pair = readonly [key: string, value: string]

/** A fact or a section as it is given; `undefined` and `null` mean: leave it out. */
export type PairInput = readonly [key: string, value: string | null | undefined]

/** Pairs in the order to render. What has a `size` is a Map or a Set, and no list. */
export interface PairList extends Iterable<PairInput> {
  readonly size?: never
}

/** What a RunContext is made of. */
export interface RunContextOptions {
  /** What changes often: date, branch, … Rendered as rows, always in the tail. */
  readonly facts?: PairList | undefined
  /** Texts in front of the conversation, rendered without their names. */
  readonly headSections?: PairList | undefined
  /** Texts behind the conversation, after the facts. */
  readonly tailSections?: PairList | undefined
}

const AWAIT = 'is a Promise: an await is missing'
const OPTIONS = ['facts', 'headSections', 'tailSections'] as const

/** The three lists of a context, checked, copied and frozen. */
export type Lists = { readonly [name in (typeof OPTIONS)[number]]: readonly Pair[] }

/** Checks options and then their lists, in the order facts, headSections, tailSections; the first failure wins. */
export function readOptions(options: unknown): Lists {
  const place = { argument: 'options' }
  const allowed = OPTIONS.join(', ')
  if (isPromise(options)) throw new RunContextError('CONTEXT_OPTIONS_INVALID', place, AWAIT)
  if (!isPlain(options)) throw new RunContextError('CONTEXT_OPTIONS_INVALID', place, `must be a plain object with ${allowed}, not ${kindOf(options)}`)
  const unknown = Reflect.ownKeys(options).find((key) => !(OPTIONS as readonly unknown[]).includes(key))
  if (unknown !== undefined) {
    throw new RunContextError('CONTEXT_OPTION_UNKNOWN', { argument: String(unknown) }, `is not an option of RunContext; it has ${allowed}`)
  }
  const { facts, headSections, tailSections } = options as Record<string, unknown>
  return {
    facts: readPairs('facts', facts),
    headSections: readPairs('headSections', headSections),
    tailSections: readPairs('tailSections', tailSections),
  }
}

/**
 * A list of pairs, checked, copied and frozen, without those whose value is `undefined` or `null`.
 *
 * @throws RunContextError
 */
export function readPairs(argument: string, list: unknown): readonly Pair[] {
  const pairs: Pair[] = []
  if (list !== undefined) {
    checkList(argument, list)
    let index = 0
    for (const entry of list) {
      const pair = readPair({ argument, index: index++ }, entry)
      if (pair !== undefined) pairs.push(pair)
    }
  }
  return copyJson(pairs, argument)
}

function checkList(argument: string, list: unknown): asserts list is Iterable<unknown> {
  const form = `${argument}: [['date', today], ['branch', branch]]`
  const refuse = (problem: string): never => {
    throw new RunContextError('CONTEXT_LIST_INVALID', { argument }, problem)
  }
  if (isPromise(list)) refuse(AWAIT)
  if (types.isMap(list) || types.isSet(list)) refuse(`is ${kindOf(list)}; the order is yours to say, in a list of pairs: ${form}`)
  if (typeof list !== 'object' || list === null || types.isStringObject(list)) refuse(`must be a list of pairs, not ${kindOf(list)}: ${form}`)
  if (typeof (list as Partial<Iterable<unknown>>)[Symbol.iterator] !== 'function') {
    refuse(`must be a list of pairs, not ${kindOf(list)}: the order is yours to say, and an object's is not it; write ${form}`)
  }
  if (isBarePair(list)) {
    const key = JSON.stringify(list[0])
    throw new RunContextError('CONTEXT_BARE_PAIR', { argument }, `is one bare pair, [${key}, …], where a list of pairs belongs: ${argument}: [[${key}, …]]`)
  }
}

/** True for a flat pair given in place of a list of pairs. */
function isBarePair(list: unknown): list is readonly [string, unknown] {
  return Array.isArray(list) && list.length === 2 && typeof list[0] === 'string' && !Array.isArray(list[1])
}

function readPair(place: Place, entry: unknown): Pair | undefined {
  if (!Array.isArray(entry) || entry.length !== 2) {
    const found = Array.isArray(entry) ? `an array of ${entry.length}` : kindOf(entry)
    throw new RunContextError('CONTEXT_ENTRY_INVALID', place, `must be a pair, [key, value], not ${found}`)
  }
  const [given, value] = entry as [unknown, unknown]
  const key = readKey(place, given)
  const text = readText({ ...place, key }, value)
  return text === undefined ? undefined : [key, text]
}

function readKey(place: Place, key: unknown): string {
  if (typeof key !== 'string') throw new RunContextError('CONTEXT_KEY_INVALID', place, `has a key that is ${kindOf(key)}; a key is a string`)
  if (isBlankText(key)) throw new RunContextError('CONTEXT_KEY_INVALID', { ...place, key }, 'has a blank key; a key has at least one character to read')
  return checkWellFormed({ ...place, key }, 'key', key)
}

/** A text without its trailing White_Space, or `undefined` where there is none to have. */
export function readText(place: Place, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return stripTrailing(checkWellFormed(place, 'value', value))
  const problem = `must be a string, undefined or null, not ${kindOf(value)}; write it as the model shall read it`
  throw new RunContextError('CONTEXT_VALUE_INVALID', place, isPromise(value) ? AWAIT : problem)
}

/** Digest, rendering and request must have the same bytes, and UTF-8 cannot encode half a surrogate pair. */
function checkWellFormed(place: Place, what: 'key' | 'value', text: string): string {
  if (text.isWellFormed()) return text
  throw new RunContextError('CONTEXT_NOT_WELL_FORMED', place, `has a lone surrogate in its ${what}: half a character, usually a string cut in the middle of one`)
}

/** An object literal, of any realm: nothing that could hide its fields in a prototype, or have none, as a Map. */
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf'))
}
