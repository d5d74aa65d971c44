import type { Chunk, JsonObject, ToolSchema, Usage } from '@headrace/message'
import { argumentsText } from '../arguments.ts'
import { type AnswerReader, Told, countField, fieldsOf, pieceField, textField } from '../family.ts'
import { finishOf } from '../finish.ts'
import { ownName } from '../ids.ts'

interface Item { sent: boolean; readonly index: number; summaries: number; done?: true }

/** Reads the events of a response, or a whole one. */
export class ResponsesReader implements AnswerReader {
  private readonly tools: readonly ToolSchema[]
  /** What was read of each item so far, by output index. */
  private readonly items = new Map<unknown, Item>()
  private calls = 0
  private refused = false
  private head: Chunk | undefined
  private word: string | undefined
  over = false

  constructor(tools: readonly ToolSchema[]) {
    this.tools = tools
  }

  get finished(): boolean {
    return this.word !== undefined
  }

  read(data: JsonObject): readonly Chunk[] {
    const type = textField(data['type']) ?? ''
    switch (type) {
      case 'response.created': case 'response.in_progress': return this.headOf(fieldsOf(data['response']))
      case 'response.output_item.added': return this.added(data, fieldsOf(data['item']))
      case 'response.output_text.delta': return this.text(data, 'text')
      case 'response.refusal.delta':
        this.refused = true
        return this.text(data, 'text')
      case 'response.reasoning_summary_part.added': return this.part(data)
      case 'response.reasoning_summary_text.delta': case 'response.reasoning_text.delta': return this.text(data, 'reasoning')
      case 'response.function_call_arguments.delta': return this.argumentsOf(data)
      case 'response.output_text.done': return this.late(data, 'text')
      case 'response.function_call_arguments.done': return this.lateArguments(data)
      case 'response.output_item.done': return this.done(data, fieldsOf(data['item']))
      case 'response.completed': case 'response.incomplete': return this.ended(fieldsOf(data['response']))
      case 'response.failed': throw new Told(fieldsOf(data['response'])['error'] ?? data)
      case 'error': throw new Told(data['error'] ?? data)
      default: return data['object'] === 'response' || (type === '' && Array.isArray(data['output'])) ? this.whole(data) : this.unknown(data)
    }
  }

  end(): readonly Chunk[] {
    if (this.word === undefined) return []
    const reason = this.refused ? 'refusal' : finishOf(this.word, this.calls > 0)
    if (reason === undefined) throw new Told({ error: { message: `it stopped with ${JSON.stringify(this.word)} instead of an answer` } })
    return [{ type: 'finish', reason }]
  }

  private unknown({ error }: JsonObject): Chunk[] {
    if (error !== undefined && error !== null) throw new Told({ error })
    return []
  }

  /** An answer that was not streamed. */
  private whole(response: JsonObject): Chunk[] {
    if (response['status'] === 'failed') throw new Told(response['error'] ?? response)
    return [...this.headOf(response), ...this.ended(response)]
  }

  private headOf(response: JsonObject): Chunk[] {
    const [id, model] = [textField(response['id']), textField(response['model'])]
    if (this.head || (id === undefined && model === undefined)) return []
    this.head = { type: 'response', ...(id !== undefined && { id }), ...(model !== undefined && { model }) }
    return [this.head]
  }

  private itemAt(key: unknown): Item {
    let item = this.items.get(key)
    if (!item) this.items.set(key, item = { sent: false, index: -1, summaries: 0 })
    return item
  }

  private added(data: JsonObject, item: JsonObject): Chunk[] {
    if (item['type'] !== 'function_call') return []
    const key = data['output_index']
    if (this.items.has(key)) return []
    const index = this.calls++
    this.items.set(key, { sent: false, index, summaries: 0 })
    const [id, name] = [textField(item['call_id']) ?? textField(item['id']), textField(item['name'])]
    return [{ type: 'tool-call', index, ...(id !== undefined && { id }), ...(name !== undefined && { name: ownName(name, this.tools) }) }]
  }

  private text({ output_index: key, delta }: JsonObject, type: 'text' | 'reasoning'): Chunk[] {
    const text = pieceField(delta)
    if (text === undefined) return []
    this.itemAt(key).sent = true
    return [{ type, text }]
  }

  /** The whole text, where no delta came. */
  private late({ output_index: key, text }: JsonObject, type: 'text'): Chunk[] {
    return this.items.get(key)?.sent === true ? [] : this.text({ output_index: key ?? null, delta: text ?? null }, type)
  }

  private lateArguments({ output_index: key, arguments: text }: JsonObject): Chunk[] {
    return this.items.get(key)?.sent === true ? [] : this.argumentsOf({ output_index: key ?? null, delta: text ?? null })
  }

  /** Summaries of one item are separated by a blank line. */
  private part({ output_index: key }: JsonObject): Chunk[] {
    const item = this.itemAt(key)
    return item.summaries++ > 0 && item.sent ? [{ type: 'reasoning', text: '\n\n' }] : []
  }

  private argumentsOf({ output_index: key, delta }: JsonObject): Chunk[] {
    const item = this.items.get(key)
    const text = argumentsText(delta)
    if (!item || item.index < 0 || text === '') return []
    item.sent = true
    return [{ type: 'tool-call', index: item.index, arguments: text }]
  }

  /** What the deltas left out, and what must be sent back. */
  private done(data: JsonObject, item: JsonObject): Chunk[] {
    const key = data['output_index']
    this.itemDone(key, item)
    switch (item['type']) {
      case 'function_call': {
        const begun = this.added(data, item)
        const call = this.items.get(key)!
        const text = argumentsText(item['arguments'])
        if (call.sent || text === '') return begun
        call.sent = true
        return [...begun, { type: 'tool-call', index: call.index, arguments: text }]
      }
      case 'message': {
        const said = this.itemAt(key).sent ? [] : listOf(item['content']).flatMap((part): Chunk[] => {
          const refusal = textField(part['refusal'])
          if (refusal !== undefined) this.refused = true
          const text = textField(part['text']) ?? refusal
          return text === undefined ? [] : [{ type: 'text', text }]
        })
        const phase = textField(item['phase'])
        this.itemAt(key).sent = true
        return phase === undefined ? said : [...said, { type: 'text', text: '', metadata: { openai: { phase } } }]
      }
      case 'reasoning': return this.thought(key, item)
      default: return []
    }
  }

  private itemDone(key: unknown, { type }: JsonObject): void {
    if (type === 'message' || type === 'reasoning') this.itemAt(key).done = true
  }

  private thought(key: unknown, item: JsonObject): Chunk[] {
    const texts = [...listOf(item['summary']), ...listOf(item['content'])].map((part) => textField(part['text'])).filter((text) => text !== undefined)
    const said: Chunk[] = this.itemAt(key).sent || texts.length === 0 ? [] : [{ type: 'reasoning', text: texts.join('\n\n') }]
    this.itemAt(key).sent = true
    const [itemId, content] = [textField(item['id']), textField(item['encrypted_content'])]
    if (itemId === undefined || content === undefined) return said
    return [...said, { type: 'reasoning', text: '', metadata: { openai: { itemId, reasoningEncryptedContent: content } } }]
  }

  /** Emits items that had no events of their own. */
  private ended(response: JsonObject): Chunk[] {
    const { status, incomplete_details: details } = response
    this.over = true
    this.word = status === 'incomplete' ? textField(fieldsOf(details)['reason']) ?? 'incomplete' : textField(status) ?? 'completed'
    // A server that sends no output index had its items stored under none.
    const isUnplaced = this.items.has(undefined) || this.items.has(null)
    const missed = isUnplaced ? [] : listOf(response['output']).flatMap((item, index) => this.items.get(index)?.done ? [] : this.done({ output_index: index }, item))
    const usage = responsesUsage(fieldsOf(response['usage']))
    return [...missed, ...(usage ? [{ type: 'usage', usage } as const] : [])]
  }
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

function responsesUsage(usage: JsonObject): Usage | undefined {
  const [input, output] = [countField(usage['input_tokens']), countField(usage['output_tokens'])]
  if (input === undefined && output === undefined) return undefined
  const reasoning = countField(fieldsOf(usage['output_tokens_details'])['reasoning_tokens'])
  const details = fieldsOf(usage['input_tokens_details'])
  return {
    input: input ?? 0, cached: Math.min(input ?? 0, countField(details['cached_tokens']) ?? 0), written: countField(details['cache_write_tokens']) ?? 0,
    output: output ?? 0, ...(reasoning !== undefined && { reasoning }),
  }
}
