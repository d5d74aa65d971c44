import type { Chunk, JsonObject, ToolSchema, Usage } from '@headrace/message'
import { argumentsText } from '../arguments.ts'
import { type AnswerReader, Told, countField, fieldsOf, isRecord, pieceField, textField } from '../family.ts'
import { finishOf } from '../finish.ts'
import { ownName } from '../ids.ts'

/** Reads the stream of responses that make up one answer. */
export class GoogleReader implements AnswerReader {
  private readonly tools: readonly ToolSchema[]
  private calls = 0
  private head = false
  private word: string | undefined
  /** The stream ends by itself. */
  readonly over = false

  constructor(tools: readonly ToolSchema[]) {
    this.tools = tools
  }

  get finished(): boolean {
    return this.word !== undefined
  }

  read(data: JsonObject): readonly Chunk[] {
    if (isRecord(data['error'])) throw new Told(data)
    const candidate = Array.isArray(data['candidates']) ? fieldsOf(data['candidates'][0]) : {}
    const parts = fieldsOf(candidate['content'])['parts']
    const said = (Array.isArray(parts) ? parts : []).flatMap((part) => this.part(fieldsOf(part)))
    // A blocked prompt has no candidates, but this reason.
    const word = textField(candidate['finishReason']) ?? (textField(fieldsOf(data['promptFeedback'])['blockReason']) && 'blocked')
    if (word !== undefined && word !== 'FINISH_REASON_UNSPECIFIED') this.word = word
    const usage = googleUsage(data['usageMetadata'])
    return [...this.response(data), ...said, ...(usage ? [{ type: 'usage', usage } as const] : [])]
  }

  end(): readonly Chunk[] {
    if (this.word === undefined) return []
    const reason = finishOf(this.word, this.calls > 0)
    if (reason === undefined) throw new Told({ error: { message: `it stopped with ${JSON.stringify(this.word)} instead of an answer` } })
    return [{ type: 'finish', reason }]
  }

  private response(data: JsonObject): Chunk[] {
    const [id, model] = [textField(data['responseId']), textField(data['modelVersion'])]
    if (this.head || (id === undefined && model === undefined)) return []
    this.head = true
    return [{ type: 'response', ...(id !== undefined && { id }), ...(model !== undefined && { model }) }]
  }

  private part(part: JsonObject): Chunk[] {
    const signature = textField(part['thoughtSignature']) ?? textField(part['thought_signature'])
    const call = part['functionCall'] ?? part['function_call']
    if (isRecord(call)) return this.call(call, signature)
    const text = pieceField(part['text'])
    const type = part['thought'] === true ? 'reasoning' : 'text'
    if (signature !== undefined) return [{ type, text: text ?? '', metadata: { google: { thoughtSignature: signature } } }]
    return text === undefined ? [] : [{ type, text }]
  }

  private call(call: JsonObject, signature: string | undefined): Chunk[] {
    const [id, name] = [textField(call['id']), textField(call['name'])]
    const google = { ...(id !== undefined && { id }), ...(signature !== undefined && { thoughtSignature: signature }) }
    return [{
      type: 'tool-call', index: this.calls++, ...(id !== undefined && { id }), ...(name !== undefined && { name: ownName(name, this.tools) }),
      arguments: argumentsText(call['args']) || '{}', ...(Object.keys(google).length > 0 && { metadata: { google } }),
    }]
  }
}

/** Gemini counts thoughts apart from candidates; ours counts the whole answer. */
function googleUsage(given: unknown): Usage | undefined {
  if (!isRecord(given)) return undefined
  const input = countField(given['promptTokenCount'])
  const output = countField(given['candidatesTokenCount'])
  const reasoning = countField(given['thoughtsTokenCount'])
  if (input === undefined && output === undefined) return undefined
  const whole = (input ?? 0) + (countField(given['toolUsePromptTokenCount']) ?? 0)
  return {
    input: whole, cached: Math.min(whole, countField(given['cachedContentTokenCount']) ?? 0), written: 0,
    output: (output ?? 0) + (reasoning ?? 0), ...(reasoning !== undefined && { reasoning }),
  }
}
