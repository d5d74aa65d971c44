import type { Chunk, FinishReason, JsonObject, ToolSchema, Usage } from '@headrace/message'
import { argumentsText } from '../arguments.ts'
import { type AnswerReader, Told, countField, fieldsOf, isRecord, pieceField, plain, textField } from '../family.ts'
import { finishOf } from '../finish.ts'
import { CalledName } from '../called-name.ts'

interface Call {
  readonly index: number
  readonly id: string
  readonly name: CalledName
  /** Whether a piece of its arguments came. */
  begun: boolean
}

/**
 * Reads the chunks of a chat completion, whatever a server leaves out or adds. In an answer that came as one JSON,
 * `message` takes the place of `delta`.
 */
export class ChatReader implements AnswerReader {
  private readonly tools: readonly ToolSchema[]
  /** The newest call of each index, as the server numbers them. */
  private readonly calls = new Map<number, Call>()
  private readonly all: Call[] = []
  private count = 0
  private last: number | undefined
  private field: 'reasoning' | undefined
  private details: JsonObject[] = []
  private refused = false
  private word: string | undefined
  /** The stream ends by itself. */
  readonly over = false
  private told: Chunk | undefined

  constructor(tools: readonly ToolSchema[]) {
    this.tools = tools
  }

  get finished(): boolean {
    return this.word !== undefined
  }

  read(data: JsonObject): readonly Chunk[] {
    const { error } = data
    if (saysError(error)) throw new Told(data)
    const choice = choiceOf(data['choices'])
    // Servers of the older completions API send a text.
    const delta = fieldsOf(choice['delta'] ?? choice['message'] ?? { content: choice['text'] })
    const thought = this.reasoning(delta)
    const said = [...this.content(delta), ...this.callsOf(delta)]
    const chunks = [...this.head(data), ...thought, ...(said.length > 0 ? this.close() : []), ...said]
    const word = textField(choice['finish_reason'])
    // Some templates write "none" as a text.
    if (word !== undefined && !/^(null|none)$/i.test(word)) this.word = word
    const usage = chatUsage(data['usage'] ?? choice['usage'] ?? fieldsOf(data['x_groq'])['usage'])
    return usage ? [...chunks, { type: 'usage', usage }] : chunks
  }

  end(): readonly Chunk[] {
    if (this.word === undefined) return []
    const reason: FinishReason | undefined = this.refused ? 'refusal' : finishOf(this.word, this.count > 0)
    if (reason === undefined) throw new Told({ error: { message: `it stopped with ${JSON.stringify(this.word)} instead of an answer` } })
    return [...this.names(), ...this.opaque(), { type: 'finish', reason }]
  }

  /** Reported once: the provider's id and model of the answer. */
  private head(data: JsonObject): Chunk[] {
    if (this.told) return []
    const [id, model] = [textField(data['id']), textField(data['model'])]
    if (id === undefined && model === undefined) return []
    this.told = { type: 'response', ...(id !== undefined && { id }), ...(model !== undefined && { model }) }
    return [this.told]
  }

  private reasoning(delta: JsonObject): Chunk[] {
    const { reasoning_content: content, reasoning, reasoning_details: details } = delta
    if (Array.isArray(details)) for (const detail of details) if (isRecord(detail)) this.keep(detail)
    const text = pieceField(content) ?? pieceField(reasoning) ?? pieceField(delta['thinking'])
    if (text === undefined) return []
    if (pieceField(content) === undefined && pieceField(reasoning) !== undefined) this.field = 'reasoning'
    return [{ type: 'reasoning', text }]
  }

  /** Merges the pieces of one detail, in the order they came. */
  private keep(detail: JsonObject): void {
    const last = this.details.at(-1)
    if (!last || last['type'] !== detail['type'] || last['index'] !== detail['index'] || detail['index'] === undefined) return void this.details.push(detail)
    const merged: Record<string, JsonObject[string]> = { ...last }
    for (const [key, value] of Object.entries(detail)) {
      const own = merged[key]
      const grows = (key === 'text' || key === 'summary' || key === 'data') && typeof own === 'string' && typeof value === 'string'
      if (grows) merged[key] = own + value
      else if (value !== null || own === undefined) merged[key] = value
    }
    this.details[this.details.length - 1] = merged
  }

  /** Closes the block of reasoning, with the field's name that it came under. */
  private close(): Chunk[] {
    const { field } = this
    this.field = undefined
    return field === undefined || this.details.length > 0 ? [] : [{ type: 'reasoning', text: '', metadata: { chat: { field } } }]
  }

  /** Details may come until the end, and with calls; there may be details without any text. */
  private opaque(): Chunk[] {
    return this.details.length > 0 ? [{ type: 'reasoning', text: '', metadata: { chat: { reasoning_details: plain(this.details) } } }] : this.close()
  }

  private content({ content, refusal }: JsonObject): Chunk[] {
    const said = pieceField(refusal)
    if (said !== undefined) this.refused = true
    const refusals: Chunk[] = said === undefined ? [] : [{ type: 'text', text: said }]
    if (!Array.isArray(content) && !isRecord(content)) return [...refusals, ...texts('text', content)]
    return [...refusals, ...(Array.isArray(content) ? content : [content]).flatMap((part): Chunk[] => {
      const { type, text, thinking } = fieldsOf(part)
      if (type !== 'thinking') return texts('text', text)
      return Array.isArray(thinking) ? thinking.flatMap((item) => texts('reasoning', fieldsOf(item)['text'])) : texts('reasoning', thinking)
    })]
  }

  private callsOf({ tool_calls: list, function_call: old }: JsonObject): Chunk[] {
    const items = Array.isArray(list) ? list : isRecord(list) ? [list] : isRecord(old) ? [{ index: 0, function: old }] : []
    return items.flatMap((item) => isRecord(item) ? this.call(item) : [])
  }

  private call(item: JsonObject): Chunk[] {
    // Some servers leave out the function, and have its fields beside the id.
    const { name, arguments: given } = isRecord(item['function']) ? item['function'] : item
    const [id, named] = [textField(item['id']), pieceField(name)]
    const at = indexOf(item['index']) ?? this.placeOf(id, named)
    const known = this.calls.get(at)
    // Some servers give every call the index 0: a new id with a name begins another call. Others send a new id with
    // each piece, without a name.
    const isNew = !known || (named !== undefined && id !== undefined && known.id !== '' && known.id !== id && !continues(known, named))
    const call = isNew ? { index: this.count++, id: id ?? '', name: new CalledName(this.tools), begun: false } : known
    this.calls.set(at, call)
    if (isNew) this.all.push(call)
    this.last = at
    const extra = item['extra_content']
    const text = argumentsText(given)
    if (named !== undefined) call.name.add(named)
    call.begun ||= text !== ''
    const news = call.name.news(call.begun)
    const chunk: Chunk = {
      type: 'tool-call', index: call.index,
      ...(isNew && id !== undefined && { id }), ...(news !== undefined && { name: news }), ...(text !== '' && { arguments: text }),
      ...(isRecord(extra) && { metadata: { chat: { extra_content: plain(extra) as JsonObject } } }),
    }
    return Object.keys(chunk).length > 2 ? [chunk] : []
  }

  /** Names that waited for another piece. */
  private names(): Chunk[] {
    return this.all.flatMap(({ index, name }): Chunk[] => {
      const news = name.news(true)
      return news === undefined ? [] : [{ type: 'tool-call', index, name: news }]
    })
  }

  /**
   * Without an index: a new id, a name without an id, or another name under the same id begins another call; anything
   * else, and the next piece of a name, continues the last one.
   */
  private placeOf(id: string | undefined, name: string | undefined): number {
    const last = this.last === undefined ? undefined : this.calls.get(this.last)
    const goesOn = last !== undefined && name !== undefined && (id === undefined || id === last.id) && continues(last, name)
    if (goesOn) return this.last!
    if (id === undefined) return name === undefined ? this.last ?? 0 : this.calls.size
    for (const [at, call] of this.calls) if (call.id === id && (name === undefined || name === call.name.text)) return at
    return this.calls.size
  }
}

/** Whether a piece of a name can only belong to a call that is there already. */
function continues({ name, begun }: Call, piece: string): boolean {
  return !begun && name.goesOn(piece)
}

function texts(type: 'text' | 'reasoning', value: unknown): Chunk[] {
  const text = pieceField(value)
  return text === undefined ? [] : [{ type, text }]
}

/** The usage, with the cached tokens under whichever name a server gives them. */
export function chatUsage(given: unknown): Usage | undefined {
  if (!isRecord(given)) return undefined
  const prompt = fieldsOf(given['prompt_tokens_details'])
  const completion = fieldsOf(given['completion_tokens_details'])
  const input = countField(given['prompt_tokens'], given['input_tokens'])
  const output = countField(given['completion_tokens'], given['output_tokens'])
  if (input === undefined && output === undefined) return undefined
  // OpenAI, OpenRouter, vLLM · DeepSeek · Moonshot · routers in front of Anthropic
  const cached = countField(prompt['cached_tokens'], given['prompt_cache_hit_tokens'], given['cached_tokens'], given['cache_read_input_tokens']) ?? 0
  const written = countField(prompt['cache_write_tokens'], prompt['cache_creation_tokens'], given['cache_creation_input_tokens']) ?? 0
  const reasoning = countField(completion['reasoning_tokens'], given['reasoning_tokens'])
  return {
    input: input ?? 0,
    cached: Math.min(cached, input ?? 0),
    written,
    output: output ?? 0,
    ...(reasoning !== undefined && { reasoning }),
  }
}

/** The error, if any; some servers send an empty field in every chunk. */
function saysError(error: unknown): boolean {
  if (typeof error === 'object' && error !== null) return Object.keys(error).length > 0
  return error !== undefined && error !== null && error !== '' && error !== false && error !== 0
}

/** The first choice; some servers send an object in place of the list. */
function choiceOf(choices: unknown): JsonObject {
  if (!Array.isArray(choices)) return fieldsOf(choices)
  return fieldsOf(choices.find((item) => fieldsOf(item)['index'] === 0) ?? choices[0])
}

function indexOf(index: unknown): number | undefined {
  if (typeof index === 'string' && /^\d+$/.test(index)) return Number(index)
  return typeof index === 'number' ? index : undefined
}
