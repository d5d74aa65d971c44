import type { Chunk, JsonObject } from '@headrace/message'
import type { Mapping, Taking } from './conversation.ts'

/** The provider cannot do what was asked; thrown before anything is sent. */
export class CannotAsk extends Error {}

/** A body and what was left out of it. */
export interface Mapped {
  readonly body: JsonObject
  /** What the config asks for and the protocol does not support. */
  readonly unsaid: readonly string[]
}

/** Reads the events of one answer. Each event's data is JSON already. */
export interface AnswerReader {
  /** @throws Told for an error that the provider reports */
  read(data: JsonObject): readonly Chunk[]
  /** The remaining chunks, when the stream is over. */
  end(): readonly Chunk[]
  /** True once the provider gave a stop reason: the answer is complete. */
  readonly finished: boolean
  /** True once the protocol's last event came; the connection may stay open. */
  readonly over: boolean
}

/** An error that a provider reports inside an answer. */
export class Told extends Error {
  readonly report: unknown

  constructor(report: unknown) {
    super('the provider reported an error')
    this.report = report
  }
}

/**
 * A protocol that several providers speak: pure, except for the reader's state. `Traits` describes what one provider of
 * it supports.
 */
export interface Family<Traits> {
  readonly name: string
  /** The path after the base URL. */
  path(model: string): string
  /** Query parameters of its own. */
  readonly query?: Readonly<Record<string, string>>
  /** Headers of a request, with the key where there is one. */
  headers(key: string | undefined): Readonly<Record<string, string>>
  /** What a model of a provider supports. */
  taking(traits: Traits, model: string): Taking
  /** @throws CannotAsk */
  body(mapping: Mapping, traits: Traits): Mapped
  /** Reads the answer to a request that was mapped so. */
  reader(mapping: Mapping): AnswerReader
}

/** A body with the fields that the config adds as they are: objects on both sides are merged, one level deep. */
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

/** The fields of a value; none where it is not an object. */
export function fieldsOf(value: unknown): JsonObject {
  return isRecord(value) ? value : {}
}

/** A text that is not empty. */
export function textField(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.toWellFormed() : undefined
}

/** The same, as a piece of a longer text: it may begin or end within a character (see `Halves`). */
export function pieceField(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A number of tokens, in any form that servers send. */
export function countField(...values: readonly unknown[]): number | undefined {
  const numbers = values.map((value) => (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value))
  const number = numbers.find((value) => typeof value === 'number' && Number.isFinite(value)) as number | undefined
  return number === undefined ? undefined : Math.max(0, Math.round(number))
}

/** A part of a provider's answer as well-formed JSON. */
export function plain(value: unknown): JsonObject[string] {
  return JSON.parse(JSON.stringify(value), (_, item: unknown) => typeof item === 'string' ? item.toWellFormed() : item) as JsonObject[string]
}
