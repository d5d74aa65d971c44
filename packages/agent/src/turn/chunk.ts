import { type AdapterRecord, type Chunk, type FinishReason, type Usage, copyJson, defined } from '@headrace/message'
import { describe } from '../seams/decision-rule.ts'
import { isObject } from '../seams/guards.ts'

const REASONS: readonly string[] = ['stop', 'tool-calls', 'length', 'refusal', 'other'] satisfies readonly FinishReason[]

/**
 * Copies a chunk: the adapter or a listener that produced it may modify it later. A chunk of an unknown
 * type gives `undefined`.
 *
 * @throws TypeError that names what is wrong; JsonError
 */
export function toChunk(given: unknown): Chunk | undefined {
  if (!isObject(given)) throw new TypeError(`the stream gave ${describe(given)}, not a chunk`)
  const { type } = given
  switch (type) {
    case 'text':
    case 'reasoning': {
      const { text, metadata } = given
      if (typeof text !== 'string') throw wrong(type, 'text', text)
      return Object.freeze(isGiven(metadata) ? { type, text, metadata: copyJson(metadata as never, `metadata of a ${type} chunk`) } : { type, text })
    }
    case 'tool-call': return toCall(given)
    case 'usage': return Object.freeze({ type, usage: Object.freeze(toUsage(given.usage)) })
    case 'wire': return isDigest(given.digest) ? Object.freeze(defined({ type, digest: given.digest as string, adapter: toAdapter(given.adapter) } as const)) : undefined
    case 'response': return Object.freeze(defined({ type, id: textOf(given.id), model: textOf(given.model) } as const))
    case 'finish': {
      const { reason } = given
      if (typeof reason !== 'string') throw wrong(type, 'reason', reason)
      return Object.freeze({ type, reason: REASONS.includes(reason) ? reason as FinishReason : 'other' })
    }
    default:
      if (typeof type !== 'string') throw new TypeError(`the stream gave a chunk whose type is ${describe(type)}, not a text`)
      return undefined
  }
}

function toCall(given: Record<string, unknown>): Chunk {
  const { index, metadata } = given
  if (typeof index !== 'number') throw wrong('tool-call', 'index', index)
  const text = (field: 'id' | 'name' | 'arguments'): string | undefined => {
    const value = given[field]
    if (!isGiven(value)) return undefined
    if (typeof value !== 'string') throw wrong('tool-call', field, value)
    return value
  }
  return Object.freeze(defined({
    type: 'tool-call', index, id: text('id'), name: text('name'), arguments: text('arguments'),
    metadata: isGiven(metadata) ? copyJson(metadata as never, 'metadata of a tool-call chunk') : undefined,
  } as const))
}

/** A usage field that is missing or not a number is 0: a paid answer must not be lost over it. */
function toUsage(given: unknown): Usage {
  const { input, cached, written, output, reasoning } = isObject(given) ? given : {}
  const count = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0)
  return {
    input: count(input),
    cached: count(cached),
    written: count(written),
    output: count(output),
    ...(reasoning !== undefined && { reasoning: count(reasoning) }),
  }
}

/** An invalid wire digest is dropped; the answer stands. */
function isDigest(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}

/** Which adapter made the body; dropped where it has no name. */
function toAdapter(given: unknown): AdapterRecord | undefined {
  if (!isObject(given)) return undefined
  const [name, version] = [textOf(given.name), textOf(given.version)]
  return name === undefined || version === undefined
    ? undefined
    : Object.freeze(
        defined({ name, version, options: isDigest(given.options) ? (given.options as string) : undefined }),
      )
}

/** A provider's identifier, bounded in length. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.toWellFormed().slice(0, 200).toWellFormed() : undefined
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function wrong(type: string, field: string, value: unknown): TypeError {
  return new TypeError(`the stream gave a ${type} chunk whose ${field} is ${describe(value)}`)
}
