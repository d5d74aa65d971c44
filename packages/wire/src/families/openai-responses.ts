import { type AssistantMessage, type JsonObject, defined } from '@headrace/message'
import { toInputText } from '../arguments.ts'
import { type Line, type Mapping, type Part, type SaidBlock, type Taking, askedLines, isBlankText, joined, linesOf } from '../conversation.ts'
import { type Family, type Mapped, fieldsOf, withOptions } from '../family.ts'
import { COMMON_IDS, toolName } from '../ids.ts'
import type { Kinship } from '../target.ts'
import { ResponsesReader } from './openai-responses-reader.ts'

/** What one provider of OpenAI's Responses API supports. */
export interface ResponsesTraits {
  readonly family: 'openai-responses'
  /** Whether it is a reasoning model: only those give encrypted reasoning; others answer 400 when asked for it. */
  readonly thinks?: (model: string) => boolean
}

const TAKING: Taking = { ids: COMMON_IDS, system: 'anywhere', images: true, files: true }

/**
 * `POST …/responses`, with `store: false` and encrypted reasoning: all that the model sees is in the body, and so in
 * the log (L1); nothing is stored at the provider.
 */
export const openaiResponses: Family<ResponsesTraits> = {
  name: 'openai-responses',
  path: () => '/responses',
  headers: (key) => key === undefined ? {} : { authorization: `Bearer ${key}` },
  taking: () => TAKING,
  body: bodyOf,
  reader: ({ request }) => new ResponsesReader(request.tools ?? []),
}

/** OpenAI's models without reasoning: those before o1, and later ones named `chat`. */
const UNTHINKING = /^(gpt-[34]|chatgpt|gpt-5(\.\d)?-chat|davinci|babbage)/

function bodyOf(mapping: Mapping, { thinks = (model) => !UNTHINKING.test(model) }: ResponsesTraits): Mapped {
  const { request: { config, system, tools, root }, target: { model } } = mapping
  const { reasoningEffort: effort, output } = config
  const body: JsonObject = defined({
    model,
    instructions: system,
    input: inputOf(mapping),
    tools: tools?.map(({ name, description, parameters }): JsonObject => ({ type: 'function', name: toolName(name), description, parameters, strict: false })),
    temperature: config.temperature,
    top_p: config.topP,
    max_output_tokens: config.maxOutputTokens,
    reasoning: effort === undefined ? undefined : { effort },
    text: output === undefined ? undefined : { format: { type: 'json_schema', name: 'output', schema: output, strict: true } },
    include: thinks(model) ? ['reasoning.encrypted_content'] : undefined,
    prompt_cache_key: root,
    store: false,
    stream: true,
  })
  return { body: withOptions(body, config.providerOptions), unsaid: config.stop === undefined ? [] : ['stop'] }
}

function inputOf(mapping: Mapping): JsonObject[] {
  return askedLines(linesOf(mapping, TAKING, says)).flatMap((line): JsonObject[] => {
    switch (line.role) {
      case 'system': return [{ role: 'developer', content: joined(line.parts) }]
      case 'user': return [{ role: 'user', content: line.parts.map(toPart) }]
      case 'assistant': return toItems(line)
      case 'results': return line.results.map(({ id, parts }): JsonObject => {
        return { type: 'function_call_output', call_id: id, output: parts.every(({ type }) => type === 'text') ? joined(parts) : parts.map(toPart) }
      })
    }
  })
}

function toPart(part: Part): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const url = `data:${part.mediaType};base64,${part.data}`
  return part.kind === 'image' ? { type: 'input_image', image_url: url } : { type: 'input_file', filename: part.name ?? 'file.pdf', file_data: url }
}

/** A reasoning item must be followed by the item it led to: alone it cannot be sent. */
function says({ content }: AssistantMessage): boolean {
  return content.some((block) => block.type === 'tool-call' || (block.type === 'text' && !isBlankText(block.text)))
}

function toItems({ blocks, kinship }: Extract<Line, { role: 'assistant' }>): JsonObject[] {
  const items = blocks.flatMap((block) => toItem(block, kinship))
  const end = items.findLastIndex((item) => item['type'] !== 'reasoning')
  return items.slice(0, end + 1)
}

function toItem(block: SaidBlock, kinship: Kinship): JsonObject[] {
  const opaque = kinship === 'self' ? fieldsOf(block.metadata?.['openai']) : {}
  switch (block.type) {
    // Ids of messages and calls are left out: with them the API expects the reasoning items that are not sent, and
    // nothing is stored under them.
    case 'text': {
      if (isBlankText(block.text)) return []
      const phase = opaque['phase']
      return [{ role: 'assistant', content: [{ type: 'output_text', text: block.text }], ...(phase !== undefined && { phase }) }]
    }
    case 'tool-call': return [{ type: 'function_call', call_id: block.id, name: block.name, arguments: toInputText(block.arguments) }]
    case 'reasoning': {
      const { itemId, reasoningEncryptedContent: content } = opaque
      if (typeof content !== 'string' || typeof itemId !== 'string') return []
      return [{ type: 'reasoning', id: itemId, summary: isBlankText(block.text) ? [] : [{ type: 'summary_text', text: block.text }], encrypted_content: content }]
    }
  }
}
