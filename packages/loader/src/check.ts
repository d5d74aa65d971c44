import { nearest } from '@headrace/message'
import { type Path } from './document.ts'
import { type Entry, kindOf, truthHint } from './entry.ts'
import { pathText } from './interpolate.ts'
import type { Problem } from './problem.ts'

/** A Standard Schema, as far as it is used here. */
interface StandardSchema {
  readonly '~standard': { validate(value: unknown): unknown }
}

interface Issue {
  readonly path?: readonly unknown[]
  /** Some vendors say what they wanted. */
  readonly expected?: unknown
}

/** A schema of schemastery's: what can be told of its parts. */
interface Schema {
  readonly type: string
  readonly dict?: Readonly<Record<string, Schema>>
  readonly inner?: Schema
  readonly list?: readonly Schema[]
  readonly value?: unknown
  readonly meta?: { readonly min?: number; readonly max?: number; readonly step?: number }
}

/** What is wrong with a config, by the plugin's own `Config`. A message of the schema's may quote the value, so the words are ours. */
export function checkConfig(entry: Entry, schema: unknown, config: unknown): readonly Problem[] {
  if (!isStandard(schema)) return []
  const problem = (path: Path, message: string): Problem => entry.problem(`${pathText(path)}: ${message}`, { config: path })
  const own = isSchema(schema) ? schema : undefined
  const unknown = own ? unknownKeys(own, config, []).map(({ path, known }) => problem(path, unknownWords(path, known))) : []
  if (unknown.length > 0) return unknown
  return issuesOf(schema, config).map((issue) => {
    const path = (issue.path ?? []).map(segmentOf)
    return problem(path, wrongWords(wordsOf(own && partAt(own, path), issue), valueAt(config, path)))
  })
}

function unknownWords(path: Path, known: readonly string[]): string {
  return `there is no such key${nearest(String(path.at(-1)), known)}; there is ${known.join(', ') || 'none'}`
}

function wrongWords(expected: string | undefined, value: unknown): string {
  if (value === undefined) return `is missing${expected === undefined ? '' : `; it must be ${expected}`}`
  const kind = kindOf(value)
  if (expected === undefined) return `does not fit; it is ${kind}`
  // The right type and another value, which is not for printing.
  return `must be ${expected}, is ${expected.startsWith(kind) ? kind.replace(/^a /, 'another ') : kind}${expected === KINDS.boolean ? truthHint(value) : ''}`
}

/** Validates a copy: schemastery may change what it is given, and fails on what is frozen. */
function issuesOf(schema: StandardSchema, config: unknown): readonly Issue[] {
  try {
    const result = schema['~standard'].validate(structuredClone(config)) as { readonly issues?: readonly Issue[] } | Promise<unknown>
    return 'then' in result ? [] : (result.issues ?? [])
  } catch {
    return [{}]
  }
}

/** Keys of maps that the schema does not know, which it would keep in silence. */
function unknownKeys(schema: Schema, value: unknown, path: Path): readonly { readonly path: Path; readonly known: readonly string[] }[] {
  if (typeof value !== 'object' || value === null) return []
  const { type, dict, inner } = schema
  if (Array.isArray(value)) return type === 'array' && inner ? value.flatMap((item, index) => unknownKeys(inner, item, [...path, index])) : []
  if (type === 'transform' && inner) return unknownKeys(inner, value, path)
  return Object.entries(value).flatMap(([key, item]) => {
    const at = [...path, key]
    if (type === 'dict' && inner) return unknownKeys(inner, item, at)
    if (type !== 'object' || !dict) return []
    return Object.hasOwn(dict, key) ? unknownKeys(dict[key]!, item, at) : [{ path: at, known: Object.keys(dict) }]
  })
}

function partAt(schema: Schema, path: Path): Schema | undefined {
  let part: Schema | undefined = schema
  for (const segment of path) {
    while (part?.type === 'transform') part = part.inner
    part = part?.type === 'object' ? part.dict?.[String(segment)] : part?.type === 'tuple' ? part.list?.[Number(segment)] : part?.inner
  }
  return part
}

/** What a value must be, in words: the plugin's own constants and ranges are no secret. */
function wordsOf(schema: Schema | undefined, issue: Issue): string | undefined {
  if (!schema) return typeof issue.expected === 'string' ? KINDS[issue.expected] : undefined
  const { type, list = [], meta: { min, max, step } = {}, value, inner } = schema
  if (type === 'number') return `a ${step === 1 ? 'whole ' : ''}number${rangeOf(step === 1 && min === 0 ? undefined : min, max)}`
  if (type === 'union') return list.map((part) => wordsOf(part, {}) ?? part.type).join(' or ')
  if (type === 'const') return JSON.stringify(value)
  if (type === 'transform') return wordsOf(inner, {})
  return KINDS[type]
}

/** Types of schemas, in words. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'a text', number: 'a number', boolean: 'true or false', array: 'a list', tuple: 'a list', dict: 'a map', object: 'a map', function: 'a function, given in code',
}

function rangeOf(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`
  if (min !== undefined) return ` of at least ${min}`
  return max === undefined ? '' : ` of at most ${max}`
}

function segmentOf(segment: unknown): PropertyKey {
  return (typeof segment === 'object' && segment !== null && 'key' in segment ? segment.key : segment) as PropertyKey
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((part, segment) => (typeof part === 'object' && part !== null ? (part as Record<PropertyKey, unknown>)[segment] : undefined), value)
}

function isStandard(value: unknown): value is StandardSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value
}

function isSchema(value: object): value is Schema {
  return Reflect.get(value, Symbol.for('schemastery')) === true
}
