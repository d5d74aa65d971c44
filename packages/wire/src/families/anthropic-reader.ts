import type { Chunk, JsonObject, ToolSchema, Usage } from '@headrace/message'
import { argumentsText } from '../arguments.ts'
import { type AnswerReader, Told, countField, fieldsOf, isRecord, pieceField, textField } from '../family.ts'
import { finishOf } from '../finish.ts'
import { ownName } from '../ids.ts'

interface Open {
  readonly type: string
  readonly call: number
  /** The input that a call's first event had, used where no delta follows. */
  readonly input: string
  sent: boolean
  signature: string
}

/** Reads the events of a streamed message, or a whole message. */
export class AnthropicReader implements AnswerReader {
  private readonly tools: readonly ToolSchema[]
  private readonly open = new Map<unknown, Open>()
  private calls = 0
  private usage: JsonObject = {}
  private word: string | undefined
  over = false

  constructor(tools: readonly ToolSchema[]) {
    this.tools = tools
  }

  get finished(): boolean {
    return this.word !== undefined
  }

  read(data: JsonObject): readonly Chunk[] {
    switch (data['type']) {
      case 'message_start': return this.start(fieldsOf(data['message']))
      case 'content_block_start': return this.begin(data['index'], fieldsOf(data['content_block']))
      case 'content_block_delta': return this.delta(data['index'], fieldsOf(data['delta']))
      case 'content_block_stop': return this.stop(data['index'])
      case 'message_delta': return this.ended(fieldsOf(data['delta'])['stop_reason'], data['usage'])
      case 'message_stop':
        this.over = true
        return []
      case 'message': return this.whole(data)
      case 'error': throw new Told(data['error'] ?? data)
      default:
        if (isRecord(data['error'])) throw new Told(data)
        return []
    }
  }

  end(): readonly Chunk[] {
    if (this.word === undefined) return []
    const reason = finishOf(this.word, this.calls > 0)
    if (reason === undefined) throw new Told({ error: { message: `it stopped with ${JSON.stringify(this.word)} instead of an answer` } })
    return [{ type: 'finish', reason }]
  }

  private whole(message: JsonObject): Chunk[] {
    const blocks = Array.isArray(message['content']) ? message['content'] : []
    const said = blocks.flatMap((block, index) => [...this.begin(index, fieldsOf(block)), ...this.stop(index)])
    return [...this.start(message), ...said, ...this.ended(message['stop_reason'], undefined)]
  }

  private start({ id, model, usage }: JsonObject): Chunk[] {
    this.usage = fieldsOf(usage)
    const [answer, used] = [textField(id), textField(model)]
    return answer === undefined && used === undefined ? [] : [{ type: 'response', ...(answer !== undefined && { id: answer }), ...(used !== undefined && { model: used }) }]
  }

  private begin(index: unknown, block: JsonObject): Chunk[] {
    const type = textField(block['type']) ?? ''
    const open: Open = { type, call: type === 'tool_use' ? this.calls++ : -1, input: argumentsText(block['input']), sent: false, signature: textField(block['signature']) ?? '' }
    this.open.set(index, open)
    const [id, name, text, thought, data] = ['id', 'name', 'text', 'thinking', 'data'].map((field) => pieceField(block[field]))
    switch (type) {
      case 'tool_use': return [{ type: 'tool-call', index: open.call, ...(id !== undefined && { id }), ...(name !== undefined && { name: ownName(name, this.tools) }) }]
      case 'text': return text === undefined ? [] : [{ type: 'text', text }]
      case 'thinking': return thought === undefined ? [] : [{ type: 'reasoning', text: thought }]
      case 'redacted_thinking': return data === undefined ? [] : [{ type: 'reasoning', text: '', metadata: { anthropic: { redactedData: data } } }]
      default: return []
    }
  }

  private delta(index: unknown, delta: JsonObject): Chunk[] {
    const [text, thought, signature] = [pieceField(delta['text']), pieceField(delta['thinking']), textField(delta['signature'])]
    switch (delta['type']) {
      case 'text_delta': return text === undefined ? [] : [{ type: 'text', text }]
      case 'thinking_delta': return thought === undefined ? [] : [{ type: 'reasoning', text: thought }]
      case 'signature_delta': {
        const open = this.open.get(index)
        if (open && signature !== undefined) open.signature += signature
        return []
      }
      case 'input_json_delta': {
        const open = this.open.get(index)
        const piece = argumentsText(delta['partial_json'])
        if (!open || open.call < 0 || piece === '') return []
        open.sent = true
        return [{ type: 'tool-call', index: open.call, arguments: piece }]
      }
      default: return []
    }
  }

  private stop(index: unknown): Chunk[] {
    const open = this.open.get(index)
    if (!open) return []
    this.open.delete(index)
    if (open.call >= 0 && !open.sent && open.input !== '') return [{ type: 'tool-call', index: open.call, arguments: open.input }]
    return open.type === 'thinking' && open.signature !== '' ? [{ type: 'reasoning', text: '', metadata: { anthropic: { signature: open.signature } } }] : []
  }

  private ended(word: unknown, usage: unknown): Chunk[] {
    this.word = textField(word) ?? this.word
    this.usage = { ...this.usage, ...Object.fromEntries(Object.entries(fieldsOf(usage)).filter(([, value]) => value !== null)) }
    const bill = anthropicUsage(this.usage)
    return bill ? [{ type: 'usage', usage: bill }] : []
  }
}

/** Anthropic's `input_tokens` leaves out cache reads and writes; ours counts the whole prompt. */
function anthropicUsage(usage: JsonObject): Usage | undefined {
  const [input, output] = [countField(usage['input_tokens']), countField(usage['output_tokens'])]
  if (input === undefined && output === undefined) return undefined
  const cached = countField(usage['cache_read_input_tokens']) ?? 0
  const written = countField(usage['cache_creation_input_tokens']) ?? 0
  return { input: (input ?? 0) + cached + written, cached, written, output: output ?? 0 }
}
