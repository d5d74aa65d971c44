/** A schema of schemastery's, as far as it is read here. */
export interface Schema {
  readonly type: string
  readonly dict?: Readonly<Record<string, Schema>>
  readonly inner?: Schema
  readonly list?: readonly Schema[]
  readonly value?: unknown
  readonly meta?: { readonly min?: number; readonly max?: number; readonly step?: number }
}

/** What a value must be: constants and ranges of the schema are no secret. */
export function wordsFor(schema: Schema): string | undefined {
  const { type, list = [], meta: { min, max, step } = {}, value, inner } = schema
  if (type === 'number') return `a ${step === 1 ? 'whole ' : ''}number${rangeOf(step === 1 && min === 0 ? undefined : min, max)}`
  if (type === 'union') return list.map((part) => wordsFor(part) ?? part.type).join(' or ')
  if (type === 'const') return JSON.stringify(value)
  if (type === 'transform') return inner && wordsFor(inner)
  return KINDS[type]
}

function rangeOf(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`
  if (min !== undefined) return ` of at least ${min}`
  return max === undefined ? '' : ` of at most ${max}`
}

/** Types of schemas, in words. */
export const KINDS: Readonly<Record<string, string>> = {
  string: 'a text', number: 'a number', boolean: 'true or false', array: 'a list', tuple: 'a list', dict: 'a map', object: 'a map', function: 'a function, given in code',
}

/** The type of a value in words. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  const kinds: Readonly<Record<string, string>> = { string: 'a text', object: 'a map', boolean: 'true or false' }
  return kinds[typeof value] ?? `a ${typeof value}`
}

/** For those who wrote a truth as YAML 1.1 has it. */
export function truthHint(value: unknown): string {
  return typeof value === 'string' && /^(?:yes|no|on|off)$/i.test(value) ? '; in YAML 1.2 yes, no, on and off are texts' : ''
}
