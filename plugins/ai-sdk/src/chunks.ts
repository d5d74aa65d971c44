import type { Chunk, FinishReason, JsonObject, ToolSchema, Usage } from '@headrace/message'
import { Told, finishOf, ownName } from '@headrace/wire'
import { mergeMetadata } from './metadata.ts'
import type { StreamPart } from './specification.ts'

interface Call {
  readonly index: number
  /** Characters of its arguments that were passed on. */
  sent: number
  /** Its deltas are a raw text, which `tool-call` repeats as JSON. */
  readonly raw: boolean
  readonly metadata: JsonObject | undefined
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Turns the parts of one answer into chunks, keeping no text. The metadata of a text or reasoning block comes in an empty chunk
 * of its own at the block's end: a chunk with metadata closes its block.
 */
export class ChunkReader {
  private readonly tools: readonly ToolSchema[]
  private readonly warn: (message: string) => void
  private readonly calls = new Map<string, Call>()
  /** Calls that the provider runs itself; not ours. */
  private readonly foreign = new Set<string>()
  private readonly metadata = new Map<string, JsonObject>()
  private isFinished = false

  constructor(tools: readonly ToolSchema[], warn: (message: string) => void) {
    this.tools = tools
    this.warn = warn
  }

  /** Whether the provider gave a stop reason. */
  get finished(): boolean {
    return this.isFinished
  }

  /** @throws Told */
  read(part: StreamPart): readonly Chunk[] {
    switch (part.type) {
      case 'text-start': case 'text-delta': case 'text-end': return this.block('text', part)
      case 'reasoning-start': case 'reasoning-delta': case 'reasoning-end': return this.block('reasoning', part)
      case 'tool-input-start': return this.start(part)
      case 'tool-input-delta': return this.delta(part)
      case 'tool-call': return this.call(part)
      case 'finish': return this.finish(part)
      case 'error': throw part['error'] instanceof Error ? part['error'] : new Told(part['error'])
      case 'response-metadata': return [{ type: 'response', ...textAs('id', part['id']), ...textAs('model', part['modelId']) }]
      case 'stream-start':
        for (const warning of part['warnings'] as readonly Fields[] ?? []) this.warn(wordsOf(warning))
        return []
      case 'file':
        this.warn(`the model sent a file of type ${String(part['mediaType'])}, which was left out`)
        return []
      default: return []
    }
  }

  private block(type: 'text' | 'reasoning', part: StreamPart): Chunk[] {
    const key = `${type} ${String(part['id'])}`
    const metadata = mergeMetadata(this.metadata.get(key), part['providerMetadata'])
    if (part.type.endsWith('-end')) {
      this.metadata.delete(key)
      return metadata === undefined ? [] : [{ type, text: '', metadata }]
    }
    if (metadata !== undefined) this.metadata.set(key, metadata)
    const { delta } = part
    return typeof delta === 'string' && delta !== '' ? [{ type, text: delta }] : []
  }

  private start(part: StreamPart): Chunk[] {
    const id = String(part['id'])
    if (part['providerExecuted'] === true) {
      this.foreign.add(id)
      return []
    }
    return [this.open(id, String(part['toolName']), part['providerMetadata'], part['inputEncoding'] === 'text')]
  }

  private open(id: string, name: string, metadata: unknown, raw: boolean): Chunk {
    const call = { index: this.calls.size, sent: 0, raw, metadata: mergeMetadata(undefined, metadata) }
    this.calls.set(id, call)
    return { type: 'tool-call', index: call.index, id, name: ownName(name, this.tools), ...call.metadata === undefined ? {} : { metadata: call.metadata } }
  }

  private delta(part: StreamPart): Chunk[] {
    const call = this.calls.get(String(part['id']))
    const { delta } = part
    if (!call || call.raw || typeof delta !== 'string' || delta === '') return []
    call.sent += delta.length
    return [{ type: 'tool-call', index: call.index, arguments: delta }]
  }

  /** Repeats what the deltas had, or has it for the first time. */
  private call(part: StreamPart): Chunk[] {
    const id = String(part['toolCallId'])
    if (part['providerExecuted'] === true || this.foreign.has(id)) return []
    const input = typeof part['input'] === 'string' ? part['input'] : JSON.stringify(part['input'] ?? {})
    const chunks: Chunk[] = this.calls.has(id) ? [] : [this.open(id, String(part['toolName']), undefined, false)]
    const call = this.calls.get(id)!
    const metadata = part['providerMetadata'] === undefined ? undefined : mergeMetadata(call.metadata, part['providerMetadata'])
    const rest = call.sent === 0 && input !== '' ? { arguments: input } : {}
    call.sent += input.length
    if (metadata === undefined && !('arguments' in rest)) return chunks
    return [...chunks, { type: 'tool-call', index: call.index, ...rest, ...metadata === undefined ? {} : { metadata } }]
  }

  private finish({ finishReason, usage }: StreamPart): Chunk[] {
    const { unified, raw } = (typeof finishReason === 'string' ? { unified: finishReason === 'unknown' ? 'other' : finishReason, raw: finishReason === 'unknown' ? undefined : finishReason } : finishReason ?? {}) as { unified?: string; raw?: string }
    // The package's own reason for a stream that ended before the provider gave one.
    const isCut = unified === undefined || unified === 'interrupted' || (unified === 'other' && (raw === undefined || raw === ''))
    if (isCut) return []
    const called = this.calls.size > 0
    const reason: FinishReason | undefined = unified === 'error' ? undefined : unified === 'content-filter' ? 'refusal' : finishOf(unified === 'other' ? raw! : unified, called)
    if (reason === undefined) throw new Told({ error: { message: `it stopped with ${JSON.stringify(raw ?? 'error')} instead of an answer` } })
    this.isFinished = true
    const bill = toUsage(usage)
    return [...bill ? [{ type: 'usage' as const, usage: bill }] : [], { type: 'finish', reason }]
  }
}

/** The usage, flat (v2) or in parts; `undefined` where the provider sent none. */
function toUsage(usage: unknown): Usage | undefined {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = (usage ?? {}) as Fields
  const input = (typeof inputTokens === 'object' ? inputTokens ?? {} : { total: inputTokens, cacheRead: cachedInputTokens }) as Fields
  const output = (typeof outputTokens === 'object' ? outputTokens ?? {} : { total: outputTokens, reasoning: reasoningTokens }) as Fields
  if (input['total'] === undefined && input['noCache'] === undefined && output['total'] === undefined) return undefined
  const [cached, written] = [count(input['cacheRead']), count(input['cacheWrite'])]
  return {
    input: input['total'] === undefined ? count(input['noCache']) + cached + written : count(input['total']), cached, written, output: count(output['total']),
    ...(typeof output['reasoning'] === 'number' && { reasoning: count(output['reasoning']) }),
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0
}

function textAs<K extends string>(key: K, value: unknown): { readonly [P in K]?: string } {
  return (typeof value === 'string' && value !== '' ? { [key]: value } : {}) as { readonly [P in K]?: string }
}

function wordsOf(warning: Fields): string {
  const { type, feature, setting, details, message } = warning
  if (typeof message === 'string') return message
  const text = (value: unknown): string => typeof value === 'string' ? value : JSON.stringify(value)
  return `${text(type)}: ${text(feature ?? setting ?? 'something')}${details === undefined ? '' : ` (${text(details)})`}`
}
