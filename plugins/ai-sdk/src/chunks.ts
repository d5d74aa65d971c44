import type { LanguageModelV3StreamPart, LanguageModelV3ToolCall, SharedV3ProviderMetadata, SharedV3Warning } from '@ai-sdk/provider'
import { ModelError } from '@headrace/agent'
import type { Chunk, JsonObject } from '@headrace/message'
import { toFinish } from './finish.ts'
import { mergeMetadata } from './metadata.ts'
import { toUsage } from './usage.ts'

type Part<Type extends LanguageModelV3StreamPart['type']> = Extract<LanguageModelV3StreamPart, { type: Type }>

interface Call {
  readonly index: number
  /** Characters of its arguments that were passed on. */
  sent: number
  /** Its deltas are a raw text, which `tool-call` repeats as JSON. */
  readonly raw: boolean
  readonly metadata: JsonObject | undefined
}

/** An error part, to be told like any other failure. */
export class StreamFailure extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('the stream reported an error')
    this.reason = reason
  }
}

/**
 * Turns the parts of one answer into chunks, keeping no text. The metadata of a text or reasoning block comes in an empty chunk
 * of its own at the block's end: a chunk with metadata closes its block.
 */
export class ChunkReader {
  readonly #provider: string
  readonly #warn: (message: string) => void
  readonly #calls = new Map<string, Call>()
  /** Calls that the provider runs itself, which are none of ours. */
  readonly #foreign = new Set<string>()
  readonly #metadata = new Map<string, JsonObject>()
  #finished = false

  constructor(provider: string, warn: (message: string) => void) {
    this.#provider = provider
    this.#warn = warn
  }

  /** Whether the model has said that it is done. */
  get finished(): boolean {
    return this.#finished
  }

  /** @throws StreamFailure, ModelError */
  read(part: LanguageModelV3StreamPart): readonly Chunk[] {
    switch (part.type) {
      case 'text-start': case 'text-delta': case 'text-end': return this.#block('text', part)
      case 'reasoning-start': case 'reasoning-delta': case 'reasoning-end': return this.#block('reasoning', part)
      case 'tool-input-start': return this.#start(part)
      case 'tool-input-delta': return this.#delta(part)
      case 'tool-call': return this.#call(part)
      case 'finish': return this.#finish(part)
      case 'error': throw new StreamFailure(part.error)
      case 'stream-start':
        for (const warning of part.warnings) this.#warn(wordsOf(warning))
        return []
      case 'file':
        this.#warn(`the model sent a file of type ${part.mediaType}, which was left out`)
        return []
      default: return []
    }
  }

  #block(type: 'text' | 'reasoning', part: Part<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>): Chunk[] {
    const key = `${type} ${part.id}`
    const metadata = mergeMetadata(this.#metadata.get(key), part.providerMetadata)
    if (part.type === 'text-end' || part.type === 'reasoning-end') {
      this.#metadata.delete(key)
      return metadata === undefined ? [] : [{ type, text: '', metadata }]
    }
    if (metadata !== undefined) this.#metadata.set(key, metadata)
    return 'delta' in part && part.delta !== '' ? [{ type, text: part.delta }] : []
  }

  #start({ id, toolName, providerExecuted, inputEncoding, providerMetadata }: Part<'tool-input-start'>): Chunk[] {
    if (providerExecuted) {
      this.#foreign.add(id)
      return []
    }
    return [this.#open(id, toolName, providerMetadata, inputEncoding === 'text')]
  }

  #open(id: string, name: string, metadata: SharedV3ProviderMetadata | undefined, raw: boolean): Chunk {
    const call = { index: this.#calls.size, sent: 0, raw, metadata: mergeMetadata(undefined, metadata) }
    this.#calls.set(id, call)
    return { type: 'tool-call', index: call.index, id, name, ...call.metadata === undefined ? {} : { metadata: call.metadata } }
  }

  #delta({ id, delta }: Part<'tool-input-delta'>): Chunk[] {
    const call = this.#calls.get(id)
    if (!call || call.raw || delta === '') return []
    call.sent += delta.length
    return [{ type: 'tool-call', index: call.index, arguments: delta }]
  }

  /** Repeats what the deltas said, or says it for the first time. */
  #call({ toolCallId: id, toolName, input, providerExecuted, providerMetadata }: LanguageModelV3ToolCall): Chunk[] {
    if (providerExecuted || this.#foreign.has(id)) return []
    const chunks: Chunk[] = this.#calls.has(id) ? [] : [this.#open(id, toolName, undefined, false)]
    const call = this.#calls.get(id)!
    const metadata = providerMetadata && mergeMetadata(call.metadata, providerMetadata)
    const rest = call.sent === 0 && input !== '' ? { arguments: input } : {}
    call.sent += input.length
    if (metadata === undefined && !('arguments' in rest)) return chunks
    return [...chunks, { type: 'tool-call', index: call.index, ...rest, ...metadata === undefined ? {} : { metadata } }]
  }

  #finish({ finishReason, usage }: Part<'finish'>): Chunk[] {
    const reason = toFinish(finishReason, this.#calls.size > 0)
    if (reason === undefined) {
      const word = JSON.stringify(finishReason.raw ?? 'error')
      throw new ModelError({ kind: 'server', message: `${this.#provider} stopped with ${word} instead of an answer` })
    }
    this.#finished = true
    const bill = toUsage(usage)
    return [...bill ? [{ type: 'usage' as const, usage: bill }] : [], { type: 'finish', reason }]
  }
}

function wordsOf(warning: SharedV3Warning): string {
  if (warning.type === 'other') return warning.message
  return `${warning.type}: ${warning.feature}${warning.details === undefined ? '' : ` (${warning.details})`}`
}
