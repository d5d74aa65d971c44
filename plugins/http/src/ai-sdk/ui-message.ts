import type { Json, JsonObject } from '@headrace/message'
import type { UiChunk } from './chunk.ts'
import type { UiMessage } from './messages.ts'

type Part = { -readonly [K in string]: Json }

/** A message of the AI SDK, as its client makes it of chunks. */
export class UiMessageFold {
  readonly parts: Part[] = []
  private id = ''
  private metadata: JsonObject = {}
  private readonly byId = new Map<string, Part>()

  get message(): UiMessage {
    return { id: this.id, role: 'assistant', metadata: this.metadata, parts: this.parts }
  }

  take(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'start':
        this.id = chunk.messageId
        this.metadata = chunk.messageMetadata ?? {}
        return
      case 'message-metadata': {
        const { headrace } = chunk.messageMetadata
        this.metadata = { headrace: { ...this.metadata.headrace as JsonObject, ...headrace as JsonObject } }
        return
      }
      case 'start-step': return void this.parts.push({ type: 'step-start' })
      case 'text-start':
      case 'reasoning-start': {
        const type = chunk.type === 'text-start' ? 'text' : 'reasoning'
        return this.add(chunk.id, { type, ...(type === 'reasoning' && { id: chunk.id }), text: '', state: 'streaming', ...(chunk.providerMetadata && { providerMetadata: chunk.providerMetadata }) })
      }
      case 'text-delta':
      case 'reasoning-delta': return this.change(chunk.id, (part) => ({ text: `${part.text as string}${chunk.delta}` }))
      case 'text-end':
      case 'reasoning-end': return this.change(chunk.id, () => ({ state: 'done' }))
      case 'tool-input-start':
      case 'tool-input-available': return this.input(chunk)
      case 'tool-approval-request': return this.change(chunk.toolCallId, () => ({ state: 'approval-requested', approval: { id: chunk.approvalId } }))
      case 'tool-output-available': return this.change(chunk.toolCallId, () => ({ state: 'output-available', output: chunk.output, ...(chunk.preliminary && { preliminary: true }) }))
      case 'tool-output-error':
      case 'tool-input-error': return this.change(chunk.toolCallId, () => ({ state: 'output-error', errorText: chunk.errorText }))
      case 'tool-output-denied': return this.change(chunk.toolCallId, () => ({ state: 'output-denied' }))
      case 'tool-input-delta':
      case 'finish-step':
      case 'finish':
      case 'abort':
      case 'error': return undefined
      default: return this.data(chunk)
    }
  }

  private input(chunk: UiChunk & { readonly type: 'tool-input-start' | 'tool-input-available' }): void {
    const { toolCallId, toolName } = chunk
    const state = chunk.type === 'tool-input-start' ? { state: 'input-streaming' } : { state: 'input-available', input: chunk.input }
    const meta = 'providerMetadata' in chunk && chunk.providerMetadata ? { callProviderMetadata: chunk.providerMetadata } : {}
    if (this.byId.has(toolCallId)) this.change(toolCallId, () => ({ ...state, ...meta }))
    else this.add(toolCallId, { type: 'dynamic-tool', toolName, toolCallId, ...state, ...meta })
  }

  /** One of the same id takes its place. */
  private data(chunk: UiChunk & { readonly type: `data-headrace-${string}` }): void {
    if (chunk.transient) return
    const key = `${chunk.type} ${chunk.id ?? ''}`
    const { type, id, data } = chunk
    if (id !== undefined && this.byId.has(key)) this.change(key, () => ({ data }))
    else this.add(key, { type, ...(id !== undefined && { id }), data })
  }

  private add(id: string, part: Part): void {
    this.byId.set(id, part)
    this.parts.push(part)
  }

  private change(id: string, change: (part: Part) => Part): void {
    const part = this.byId.get(id)
    if (part) Object.assign(part, change(part))
  }
}
