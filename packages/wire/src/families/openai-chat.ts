import { type AssistantMessage, type JsonObject, type TextBlock, defined } from '@headrace/message'
import { toInputText } from '../arguments.ts'
import { type Line, type Mapping, type Part, type SaidBlock, type SentCall, type Taking, GO_ON, askedLines, isBlankText, joined, linesOf, mediaLabel } from '../conversation.ts'
import { CannotAsk, type Family, type Mapped, fieldsOf, withOptions } from '../family.ts'
import { COMMON_IDS, type IdRule, toolName } from '../ids.ts'
import type { Kinship } from '../target.ts'
import { ChatReader } from './openai-chat-reader.ts'

/** How earlier reasoning is sent back to a provider. `as-it-came`: in the field that it came in. */
export type ReasoningField = 'reasoning_content' | 'reasoning' | 'thinking' | 'as-it-came' | 'none'

/** What one provider of OpenAI's chat completions supports. What is absent holds for most. */
export interface ChatTraits {
  readonly family: 'openai-chat'
  /**
   * System messages in mid-conversation are sent as such. Most open models' templates raise an error on a second one.
   */
  readonly system?: 'anywhere'
  /** Default: `as-it-came`. */
  readonly reasoning?: ReasoningField
  /** The field is required on each answer with calls, empty where another model wrote it. */
  readonly reasoningDemanded?: true
  /** Content as a text only, so no images either. */
  readonly textOnly?: true
  /** Its model cannot see. */
  readonly images?: false
  /** Takes PDF as `file`. */
  readonly files?: true
  /** Two user messages in a row stay two; else they are merged, for templates that require alternating roles. */
  readonly usersApart?: true
  /** Refuses a user message right after a tool's result. */
  readonly answerBehindResults?: true
  readonly ids?: IdRule
  readonly maxTokens?: 'max_completion_tokens'
  /** `none`: refuses `stream_options`, and sends usage anyway. */
  readonly streamOptions?: 'none'
  /** `none`: does not support a JSON Schema for answers. */
  readonly output?: 'none'
  /** The field for the reasoning effort. Default: `reasoning_effort`. */
  readonly effort?: 'reasoning.effort'
  /** Takes a key that says which requests share a prompt cache. */
  readonly cacheKey?: true
}

/** `POST …/chat/completions`, made by OpenAI and supported by most others. */
export const openaiChat: Family<ChatTraits> = {
  name: 'openai-chat',
  path: () => '/chat/completions',
  headers: (key) => key === undefined ? {} : { authorization: `Bearer ${key}` },
  taking: takingOf,
  body: bodyOf,
  reader: ({ request }) => new ChatReader(request.tools ?? []),
}

function takingOf({ system, textOnly, images, files, ids = COMMON_IDS }: ChatTraits): Taking {
  return { ids, system: system ?? 'front', images: textOnly !== true && images !== false, files: files === true }
}

function bodyOf(mapping: Mapping, traits: ChatTraits): Mapped {
  const { request: { config, system, tools, root }, target: { model, provider } } = mapping
  const limit = config.maxOutputTokens
  const { reasoningEffort: effort } = config
  const body: JsonObject = defined({
    model,
    messages: messagesOf(mapping, traits, system),
    tools: tools?.map(({ name, description, parameters }): JsonObject => ({ type: 'function', function: { name: toolName(name), description, parameters } })),
    temperature: config.temperature,
    top_p: config.topP,
    [traits.maxTokens ?? 'max_tokens']: limit,
    stop: config.stop,
    reasoning_effort: traits.effort === undefined ? effort : undefined,
    reasoning: traits.effort === undefined || effort === undefined ? undefined : { effort },
    response_format: outputOf(config.output, traits, provider),
    prompt_cache_key: traits.cacheKey ? root : undefined,
    stream: true,
    stream_options: traits.streamOptions === 'none' ? undefined : { include_usage: true },
  }) as JsonObject
  return { body: withOptions(body, config.providerOptions), unsaid: [] }
}

function outputOf(schema: JsonObject | undefined, { output }: ChatTraits, provider: string): JsonObject | undefined {
  if (schema === undefined) return undefined
  if (output === 'none') {
    throw new CannotAsk(`${provider} takes no JSON Schema for its answers; ask a model of openai, anthropic, google, openrouter, groq, cerebras, mistral or xai, or a local server`)
  }
  return { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } }
}

function messagesOf(mapping: Mapping, traits: ChatTraits, system: string | undefined): JsonObject[] {
  const lines = askedLines(linesOf(mapping, takingOf(traits), says))
  const messages: JsonObject[] = system === undefined ? [] : [{ role: 'system', content: system }]
  for (const [index, line] of lines.entries()) {
    const before = lines[index - 1]
    switch (line.role) {
      case 'system': messages.push({ role: 'system', content: joined(line.parts) }); break
      case 'user': {
        const media = before?.role === 'results' && mediaOf(before).length > 0
        if (before?.role === 'results' && traits.answerBehindResults && !media) messages.push({ role: 'assistant', content: GO_ON })
        pushUser(messages, line.parts, traits)
        break
      }
      case 'assistant': messages.push(toAssistant(line, traits)); break
      case 'results': {
        let number = 0
        for (const { id, parts } of line.results) {
          messages.push({ role: 'tool', tool_call_id: id, content: joined(parts.map((part) => part.type === 'text' ? part : { type: 'text', text: mediaLabel(++number) })) })
        }
        const media = mediaOf(line)
        if (media.length > 0 && traits.answerBehindResults) messages.push({ role: 'assistant', content: GO_ON })
        if (media.length > 0) pushUser(messages, media, traits)
      }
    }
  }
  return messages
}

/**
 * Images of tool results, labelled: tool messages accept texts only, so images follow in a user message after the last
 * result.
 */
function mediaOf({ results }: Extract<Line, { role: 'results' }>): readonly Part[] {
  return results.flatMap(({ parts }) => parts.filter(({ type }) => type === 'media')).flatMap((part, index) => [{ type: 'text', text: mediaLabel(index + 1) }, part])
}

/** Adds a user message; where roles must alternate, it is merged with the one before. */
function pushUser(messages: JsonObject[], parts: readonly Part[], { usersApart, textOnly }: ChatTraits): void {
  const last = messages.at(-1)
  const content = contentOf(parts, textOnly === true)
  if (last?.['role'] !== 'user' || usersApart || textOnly) return void messages.push({ role: 'user', content })
  messages[messages.length - 1] = { role: 'user', content: [...asParts(last['content']!), ...asParts(content)] }
}

function contentOf(parts: readonly Part[], textOnly: boolean): string | JsonObject[] {
  const [first] = parts
  if (parts.length === 1 && first!.type === 'text') return first!.text
  return textOnly ? joined(parts) : parts.map(toPart)
}

function asParts(content: JsonObject[string]): JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content as unknown as JsonObject[]
}

function toPart(part: Part): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const url = `data:${part.mediaType};base64,${part.data}`
  return part.kind === 'image' ? { type: 'image_url', image_url: { url } } : { type: 'file', file: { filename: part.name ?? 'file.pdf', file_data: url } }
}

/** A message of reasoning or white space alone cannot be sent. */
function says({ content }: AssistantMessage): boolean {
  return content.some((block) => block.type === 'tool-call' || (block.type === 'text' && !isBlankText(block.text)))
}

function toAssistant({ blocks, kinship }: Extract<Line, { role: 'assistant' }>, traits: ChatTraits): JsonObject {
  const calls = blocks.filter((block): block is SentCall => block.type === 'tool-call')
  const text = blocks.filter((block): block is TextBlock => block.type === 'text').map((block) => block.text).join('')
  const content = isBlankText(text) ? null : text
  const reasoning = kinship === 'other' ? undefined : reasoningOf(blocks)
  return defined({
    role: 'assistant',
    content: traits.reasoning === 'thinking' && reasoning !== undefined ? thinking(reasoning, content) : content,
    ...toReasoning(blocks, reasoning, calls.length > 0, kinship, traits),
    tool_calls: calls.length === 0 ? undefined : calls.map((call) => toCall(call, kinship)),
  } satisfies Record<string, unknown>)
}

function reasoningOf(blocks: readonly SaidBlock[]): string | undefined {
  const said = blocks.filter((block) => block.type === 'reasoning')
  return said.length === 0 ? undefined : said.map((block) => block.text).join('')
}

function toReasoning(
  blocks: readonly SaidBlock[],
  text: string | undefined,
  hasCalls: boolean,
  kinship: Kinship,
  traits: ChatTraits,
): JsonObject {
  const { reasoning = 'as-it-came', reasoningDemanded } = traits
  if (reasoning === 'none' || reasoning === 'thinking') return {}
  const came = fieldsOf(
    blocks.find((block) => block.type === 'reasoning' && block.metadata?.['chat'] !== undefined)?.metadata?.['chat'],
  )
  // Details with signatures are sent back whole, to the model that gave them; they already hold the text.
  if (kinship === 'self' && !reasoningDemanded && Array.isArray(came['reasoning_details']))
    return { reasoning_details: came['reasoning_details'] }
  const field =
    reasoning !== 'as-it-came' ? reasoning : came['field'] === 'reasoning' ? 'reasoning' : 'reasoning_content'
  if (text !== undefined && text !== '') return { [field]: text }
  return reasoningDemanded && hasCalls ? { [field]: '' } : {}
}

/** Mistral's: parts of the content. */
function thinking(text: string, content: string | null): JsonObject[] {
  const parts: JsonObject[] = [{ type: 'thinking', thinking: [{ type: 'text', text }] }]
  return content === null ? parts : [...parts, { type: 'text', text: content }]
}

function toCall({ id, name, arguments: text, metadata }: SentCall, kinship: Kinship): JsonObject {
  const extra = kinship === 'self' ? fieldsOf(metadata?.['chat'])['extra_content'] : undefined
  return { id, type: 'function', function: { name, arguments: toInputText(text) }, ...(extra !== undefined && { extra_content: extra }) }
}
