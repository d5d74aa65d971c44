import type { Chunk, JsonObject } from '@headrace/message'
import type { Mapping, Taking } from './conversation.ts'

/** What was asked of a provider that it cannot do; said before anything is sent. */
export class CannotAsk extends Error {}

/** A body and what was left out of it. */
export interface Mapped {
  readonly body: JsonObject
  /** What the config asks for and the provider has no word for. */
  readonly unsaid: readonly string[]
}

/** Reads the events of one answer. Each event's data is JSON already. */
export interface AnswerReader {
  /** @throws Told for an error that the provider reports */
  read(data: JsonObject): readonly Chunk[]
  /** What is left to say when the stream is over. */
  end(): readonly Chunk[]
  /** The model said in its own word why it stopped, so that this is a whole answer. */
  readonly finished: boolean
  /** The protocol has nothing more to say, though the connection may stay open. */
  readonly over: boolean
}

/** An error that a provider reports inside of an answer. */
export class Told extends Error {
  readonly report: unknown

  constructor(report: unknown) {
    super('the provider reported an error')
    this.report = report
  }
}

/** A protocol that several providers speak: pure, but for the reader's own state. `Traits` is what one provider of it takes. */
export interface Family<Traits> {
  readonly name: string
  /** What stands behind the base URL. */
  path(model: string): string
  /** Query parameters of its own. */
  readonly query?: Readonly<Record<string, string>>
  /** Headers of a request, with the key where there is one. */
  headers(key: string | undefined): Readonly<Record<string, string>>
  /** What a model of a provider takes. */
  taking(traits: Traits, model: string): Taking
  /** @throws CannotAsk */
  body(mapping: Mapping, traits: Traits): Mapped
  /** Reads the answer to a request that was mapped so. */
  reader(mapping: Mapping): AnswerReader
}

/** A body with what the config adds to it as it is: a field that is an object on both sides is merged, one level deep. */
export function withOptions(body: JsonObject, options: JsonObject | undefined): JsonObject {
  if (options === undefined) return body
  const result: Record<string, JsonObject[string]> = { ...body }
  for (const [key, value] of Object.entries(options)) {
    const own = result[key]
    result[key] = isRecord(own) && isRecord(value) ? { ...own, ...value } : value
  }
  return result
}

export function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The fields of whatever stands there; none where it is no object. */
export function fieldsOf(value: unknown): JsonObject {
  return isRecord(value) ? value : {}
}

/** A text that is not empty. */
export function textField(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.toWellFormed() : undefined
}

/** A number of tokens, as servers write it. */
export function countField(...values: readonly unknown[]): number | undefined {
  const numbers = values.map((value) => (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value))
  const number = numbers.find((value) => typeof value === 'number' && Number.isFinite(value)) as number | undefined
  return number === undefined ? undefined : Math.max(0, Math.round(number))
}

/** Well-formed JSON of ours from a part of a provider's answer. */
export function plain(value: unknown): JsonObject[string] {
  return JSON.parse(JSON.stringify(value), (_, item: unknown) => typeof item === 'string' ? item.toWellFormed() : item) as JsonObject[string]
}
