import { type AdapterRecord, type AssistantMessage, type Chunk, type Digest, type FinishReason, type JsonObject, type OnRepair, type ReasoningBlock, type TextBlock, type ToolCallBlock, type Usage, copyJson, defined, toWellFormed } from '@headrace/message'
import type { AnswerPiece } from '@headrace/session'
import { ModelError } from '../contract/error.ts'
import { toChunk } from './chunk.ts'

type Draft<B> = { -readonly [K in keyof B]: B[K] }
type DraftBlock = Draft<TextBlock> | Draft<ReasoningBlock> | Draft<ToolCallBlock>

/** What an answer had besides its message. */
interface Told {
  readonly usage?: Usage
  readonly wire?: Digest
  readonly finish?: FinishReason
  readonly adapter?: AdapterRecord
  readonly response?: { readonly id?: string; readonly model?: string }
}

/** Collects the chunks of one answer. */
export class AnswerDraft {
  usage: Usage | undefined
  wire: Digest | undefined
  finish: FinishReason | undefined
  adapter: AdapterRecord | undefined
  response: { readonly id?: string; readonly model?: string } | undefined
  private readonly blocks: DraftBlock[] = []
  private readonly calls = new Map<number, Draft<ToolCallBlock>>()
  /** Indexes into the message's content, in the order in which the blocks began. */
  private readonly places = new Map<DraftBlock, number>()
  private said: AnswerPiece | undefined
  private readonly dispatch: number
  private size = 0
  private readonly limit: number

  /**
   * @param dispatch the seq of its `request/dispatch`
   * @param limit UTF-16 units of an answer; more is a failure
   */
  constructor(dispatch: number, limit: number) {
    this.dispatch = dispatch
    this.limit = limit
  }

  /**
   * Takes what a stream gave; returns our copy of it, or `undefined` where it is of a type that nobody knows.
   *
   * @throws TypeError, JsonError for what is no chunk; ModelError where the answer grows beyond the limit
   */
  add(given: unknown): Chunk | undefined {
    const chunk = toChunk(given)
    this.said = undefined
    switch (chunk?.type) {
      case 'text':
      case 'reasoning': this.addText(chunk.type, chunk.text, chunk.metadata); break
      case 'tool-call': this.addCall(chunk); break
      case 'usage': this.usage = chunk.usage; break
      case 'wire':
        this.wire = chunk.digest
        this.adapter = chunk.adapter
        break
      case 'response': {
        const { type: _type, ...response } = chunk
        this.response = response
        break
      }
      case 'finish': this.finish = chunk.reason; break
    }
    return chunk
  }

  /** What the last chunk added to the text of a block. */
  get piece(): AnswerPiece | undefined {
    return this.said
  }

  private addText(type: 'text' | 'reasoning', text: string, metadata?: JsonObject): void {
    this.grow(text)
    const last = this.blocks.at(-1)
    // A block's metadata comes at its end: what follows is another block, with a signature of its own.
    if (last?.type === type && !last.metadata) last.text += text
    else this.blocks.push({ type, text })
    const block = this.blocks.at(-1) as Draft<TextBlock> | Draft<ReasoningBlock>
    if (metadata) Object.assign(block, { metadata })
    if (block.text === '' && !metadata) return
    const place = this.placeOf(block)
    if (text !== '') this.said = Object.freeze({ type, dispatch: this.dispatch, block: place, at: block.text.length - text.length, text })
  }

  private placeOf(block: DraftBlock): number {
    let place = this.places.get(block)
    if (place === undefined) this.places.set(block, (place = this.places.size))
    return place
  }

  private addCall(chunk: Extract<Chunk, { type: 'tool-call' }>): void {
    let call = this.calls.get(chunk.index)
    if (!call) {
      call = { type: 'tool-call', id: '', name: '', arguments: '' }
      this.calls.set(chunk.index, call)
      this.blocks.push(call)
    }
    this.grow(`${chunk.id ?? ''}${chunk.name ?? ''}${chunk.arguments ?? ''}`)
    if (chunk.id) call.id = chunk.id
    const isNamed = call.name === '' && chunk.name !== undefined && chunk.name !== ''
    if (chunk.name) call.name = chunk.name
    if (chunk.arguments) call.arguments += chunk.arguments
    if (chunk.metadata) call.metadata = chunk.metadata
    if (call.name === '') return
    const text = isNamed ? call.arguments : (chunk.arguments ?? '')
    // Told by its name before it has any arguments.
    if (isNamed || text !== '') this.said = Object.freeze({ type: 'arguments', dispatch: this.dispatch, block: this.placeOf(call), at: call.arguments.length - text.length, text, name: call.name })
  }

  private grow(text: string): void {
    this.size += text.length
    if (this.size > this.limit) throw new ModelError({ kind: 'invalid', message: `the answer is longer than ${this.limit} characters; it was cut off (limits.answer)` })
  }

  /**
   * The message so far: empty text and calls without a name are left out, lone surrogates replaced, ids that are missing or repeat
   * made anew from the place of the call.
   */
  message(boundary: number, onRepair: OnRepair): AssistantMessage {
    const ids = new Set<string>()
    const fix = (text: string): string => toWellFormed(text, 'the answer', onRepair)
    // A call whose name comes late stands where its pieces do: behind what was told before it had one.
    const placed = [...this.blocks.entries()].sort(([, a], [, b]) => (this.places.get(a) ?? 0) - (this.places.get(b) ?? 0))
    const content = placed.flatMap(([index, block]): (TextBlock | ReasoningBlock | ToolCallBlock)[] => {
      if (block.type !== 'tool-call') return block.text === '' && !block.metadata ? [] : [{ ...block, text: fix(block.text) }]
      if (block.name === '') return []
      let id = fix(block.id)
      for (let place = index; id === '' || ids.has(id); place++) id = `call_${boundary}_${place}`
      ids.add(id)
      return [{ ...block, id, name: fix(block.name), arguments: fix(block.arguments) }]
    })
    return copyJson<AssistantMessage>({ role: 'assistant', content }, 'the answer')
  }

  /** What `request/end` tells of it. */
  get told(): Told {
    const { usage, wire, finish, adapter, response } = this
    return defined({ usage, wire, finish, adapter, response: response && Object.keys(response).length > 0 ? response : undefined })
  }
}
