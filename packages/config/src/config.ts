import { nearest } from '@headrace/message'
import { KINDS, type Schema, kindOf, truthHint, wordsFor } from './words.ts'

/** The keys that lead to a value in a config. */
export type Path = readonly PropertyKey[]

/** What is wrong with a part of a config. It quotes no value: that may be a secret. */
export interface ConfigProblem {
  readonly path: Path
  readonly message: string
}

/** The part of a Standard Schema that is used here. */
interface StandardSchema {
  readonly '~standard': { validate(value: unknown): unknown }
}

interface Issue {
  readonly path?: readonly unknown[]
  /** Some vendors say what was expected. */
  readonly expected?: unknown
}

/** The problems of a config by its schema: all unknown keys, else the schema's first issue. None where `schema` is no schema. */
export function problemsOf(schema: unknown, config: unknown): readonly ConfigProblem[] {
  if (!isStandard(schema)) return []
  const found = schemaProblems(schema, config)
  return found.length > 0 || !isSchema(schema) ? found : checkedProblems(schema, config, [])
}

/** Its key on a schema: a check that schemas cannot state. For all copies of this package. */
const CHECK: unique symbol = Symbol.for('headrace.config.check') as never

/**
 * Adds a check of the values that fit a schema, for {@link problemsOf} only: what is refused where a file is read would be told only by
 * the plugin otherwise, without its line. Paths begin at the value. Returns the same schema.
 */
export function checked<T extends object>(schema: T, check: (value: unknown) => readonly ConfigProblem[]): T {
  return Object.defineProperty(schema, CHECK, { value: check, configurable: true })
}

function checkedProblems(schema: Schema, value: unknown, above: Path): readonly ConfigProblem[] {
  if (typeof value !== 'object' || value === null) return []
  const check = Reflect.get(schema, CHECK) as ((value: unknown) => readonly ConfigProblem[]) | undefined
  const own = check?.(value).map(({ path, message }) => ({ path: [...above, ...path], message })) ?? []
  const part = schema.type === 'union' ? partFor(schema, value) : schema.type === 'transform' ? schema.inner : undefined
  if (part) return [...own, ...checkedProblems(part, value, above)]
  const inner = Object.entries(value).flatMap(([key, item]) => {
    const of = schema.type === 'object' ? schema.dict?.[key] : schema.type === 'dict' ? schema.inner : undefined
    return of ? checkedProblems(of, item, [...above, key]) : []
  })
  return [...own, ...inner]
}

function schemaProblems(schema: unknown, config: unknown): readonly ConfigProblem[] {
  if (!isStandard(schema)) return []
  const own = isSchema(schema) ? schema : undefined
  const unknown = own ? unknownKeys(own, config, []) : []
  if (unknown.length > 0) return unknown.map(({ path, known }) => ({ path, message: unknownWords(path, known) }))
  return issuesOf(schema, config).flatMap((issue) => {
    const path = (issue.path ?? []).map(segmentOf)
    const value = valueAt(config, path)
    const part = own && partAt(own, path)
    // A union only says that no member fits; the member for maps says why.
    const inner = part?.type === 'union' ? partFor(part, value) : undefined
    if (inner) return schemaProblems(inner, value).map((problem) => ({ ...problem, path: [...path, ...problem.path] }))
    const expected = part ? wordsFor(part) : typeof issue.expected === 'string' ? KINDS[issue.expected] : undefined
    return [{ path, message: wrongWords(expected, value) }]
  })
}

/**
 * Makes a schema reject what {@link problemsOf} finds by it, wherever Cordis validates a config: at `ctx.plugin()` and at an
 * update. Returns the same schema; later calls on it, such as `.default()`, return one that is not strict.
 */
export function strict<T extends object>(schema: T): T {
  const standard = rawStandard(schema as unknown as StandardSchema)
  const validate = (config: unknown): unknown => {
    const problems = schemaProblems(schema, config)
    if (problems.length === 0) return standard.validate(copyOf(config))
    return { issues: problems.map(({ path, message }) => ({ message: `${pathText(path)}: ${message}`, ...(path.length > 0 && { path }) })) }
  }
  return Object.defineProperty(schema, '~standard', { value: { ...standard, validate }, configurable: true })
}

/** `config.providers.lab.baseURL`. */
export function pathText(path: Path): string {
  return `config${path.map((segment) => (typeof segment === 'number' ? `[${segment}]` : `.${String(segment)}`)).join('')}`
}

function unknownWords(path: Path, known: readonly string[]): string {
  return `there is no such key${nearest(String(path.at(-1)), known)}; there is ${known.join(', ') || 'none'}`
}

function wrongWords(expected: string | undefined, value: unknown): string {
  if (value === undefined) return `is missing${expected === undefined ? '' : `; it must be ${expected}`}`
  const kind = kindOf(value)
  if (expected === undefined) return `does not fit; it is ${kind}`
  // The type is right but the value is wrong, and must not be printed.
  return `must be ${expected}, is ${expected.startsWith(kind) ? kind.replace(/^a /, 'another ') : kind}${expected === KINDS.boolean ? truthHint(value) : ''}`
}

function issuesOf(schema: StandardSchema, config: unknown): readonly Issue[] {
  try {
    const result = rawStandard(schema).validate(copyOf(config)) as { readonly issues?: readonly Issue[] } | Promise<unknown>
    return 'then' in result ? [] : (result.issues ?? [])
  } catch {
    return [{}]
  }
}

/** What a schema says by itself, also where it was made strict. */
function rawStandard(schema: StandardSchema): StandardSchema['~standard'] {
  if (!isSchema(schema)) return schema['~standard']
  return Reflect.get(Object.getPrototypeOf(schema) as object, '~standard', schema) as StandardSchema['~standard']
}

/** Keys of maps that the schema does not know, which it would keep in silence. */
function unknownKeys(schema: Schema, value: unknown, path: Path): readonly { readonly path: Path; readonly known: readonly string[] }[] {
  if (typeof value !== 'object' || value === null) return []
  const { type, dict, inner } = schema
  if (type === 'transform' && inner) return unknownKeys(inner, value, path)
  if (type === 'union') {
    const part = partFor(schema, value)
    return part ? unknownKeys(part, value, path) : []
  }
  if (Array.isArray(value)) return type === 'array' && inner ? value.flatMap((item, index) => unknownKeys(inner, item, [...path, index])) : []
  return Object.entries(value).flatMap(([key, item]) => {
    const at = [...path, key]
    if (type === 'dict' && inner) return unknownKeys(inner, item, at)
    if (type !== 'object' || !dict) return []
    return Object.hasOwn(dict, key) ? unknownKeys(dict[key]!, item, at) : [{ path: at, known: Object.keys(dict) }]
  })
}

/** The one part of a union that is for maps, where the value is one. */
function partFor(union: Schema, value: unknown): Schema | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const parts = (union.list ?? []).filter(({ type }) => type === 'object' || type === 'dict')
  return parts.length === 1 ? parts[0] : undefined
}

function partAt(schema: Schema, path: Path): Schema | undefined {
  let part: Schema | undefined = schema
  for (const segment of path) {
    while (part?.type === 'transform') part = part.inner
    part = part?.type === 'object' ? part.dict?.[String(segment)] : part?.type === 'tuple' ? part.list?.[Number(segment)] : part?.inner
  }
  return part
}

function segmentOf(segment: unknown): PropertyKey {
  return (typeof segment === 'object' && segment !== null && 'key' in segment ? segment.key : segment) as PropertyKey
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((part, segment) => (typeof part === 'object' && part !== null ? (part as Record<PropertyKey, unknown>)[segment] : undefined), value)
}

/** Plain maps and lists anew, all else as it is: schemastery may change what it is given, and fails on what is frozen. */
function copyOf(value: unknown, above: readonly unknown[] = []): unknown {
  if (typeof value !== 'object' || value === null || above.includes(value)) return value
  if (Array.isArray(value)) return value.map((item) => copyOf(item, [...above, value]))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  // What has methods is somebody's object, and no part of a config.
  if (Object.values(value).some((item) => typeof item === 'function')) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item, [...above, value])]))
}

function isStandard(value: unknown): value is StandardSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value
}

function isSchema(value: object): value is Schema & StandardSchema {
  return Reflect.get(value, Symbol.for('schemastery')) === true
}
