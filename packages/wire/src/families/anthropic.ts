import { type AssistantMessage, type JsonObject, defined } from '@headrace/message'
import { toInput } from '../arguments.ts'
import { type Line, type Mapping, type Part, type SaidBlock, type SentResult, type Taking, askedLines, isBlankText, linesOf } from '../conversation.ts'
import { CannotAsk, type Family, type Mapped, fieldsOf, withOptions } from '../family.ts'
import { COMMON_IDS, toolName } from '../ids.ts'
import type { Kinship } from '../target.ts'
import { AnthropicReader } from './anthropic-reader.ts'

/** What one provider of Anthropic's Messages API supports. */
export interface AnthropicTraits {
  readonly family: 'anthropic'
  /** `max_tokens` is required: this value is sent where the config has none. */
  readonly limit?: number
}

const TAKING: Taking = { ids: COMMON_IDS, system: 'front', images: true, files: true }
const VERSION = '2023-06-01'
const DEFAULT_LIMIT = 8_192
/** Breakpoints in one request: "You can define up to 4 cache breakpoints". */
const MAX_BREAKPOINTS = 4

/** `POST …/messages`. */
export const anthropic: Family<AnthropicTraits> = {
  name: 'anthropic',
  path: () => '/messages',
  headers: (key) => ({ 'anthropic-version': VERSION, ...(key !== undefined && { 'x-api-key': key }) }),
  taking: () => TAKING,
  body: bodyOf,
  reader: ({ request }) => new AnthropicReader(request.tools ?? []),
}

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: Record<string, JsonObject[string]>[]
}

function bodyOf(mapping: Mapping, { limit }: AnthropicTraits): Mapped {
  const { request: { config, system, tools }, target: { model } } = mapping
  const { messages, ends } = messagesOf(mapping)
  const thinking = thinkingOf(config.reasoningEffort, model, messages, config.maxOutputTokens)
  const most = config.maxOutputTokens ?? Math.max(limit ?? DEFAULT_LIMIT, thinking.budget * 2)
  const fixed = {
    tools: tools?.map(({ name, description, parameters }): Record<string, JsonObject[string]> => {
      return { name: toolName(name), description, input_schema: inputSchema(parameters) }
    }),
    system: system === undefined || isBlankText(system) ? undefined : [{ type: 'text', text: system } as Record<string, JsonObject[string]>],
  }
  mark([fixed.system?.at(-1) ?? fixed.tools?.at(-1), ...breakpoints(mapping, messages, ends)])
  const body = defined({
    model,
    max_tokens: most,
    system: fixed.system,
    tools: fixed.tools,
    messages,
    temperature: config.temperature,
    top_p: config.topP,
    stop_sequences: config.stop?.filter((text) => !isBlankText(text)),
    thinking: thinking.thinking,
    output_config: outputOf(config.output, thinking.effort, model),
    stream: true,
  }) as unknown as JsonObject
  return { body: withOptions(body, config.providerOptions), unsaid: [] }
}

/** "tools.0.custom.input_schema.type: Field required" */
function inputSchema(parameters: JsonObject): JsonObject {
  return parameters['type'] === undefined ? { type: 'object', ...parameters } : parameters
}

/** Models that take a thinking budget; later ones take an effort. */
const BUDGETED = /claude-(3|2|instant)|claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|@|-v\d|$|-latest)/
/** Models without structured outputs. */
const UNSTRUCTURED = /claude-(3|2|instant)|claude-(opus|sonnet)-4(-0)?(-\d{8}|@|-v\d|$|-latest)/
const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}

interface Thinking {
  readonly thinking?: JsonObject
  readonly effort?: string
  readonly budget: number
}

/**
 * With a thinking budget, calls without results yet must have thinking in front of them: where another model made them,
 * thinking is turned off for this request.
 */
function thinkingOf(effort: string | undefined, model: string, messages: readonly Message[], most = Infinity): Thinking {
  if (effort === undefined) return { budget: 0 }
  if (!BUDGETED.test(model)) return effort === 'none' ? { budget: 0 } : { thinking: { type: 'adaptive' }, effort, budget: 0 }
  // "max_tokens must be greater than thinking.budget_tokens", which is 1,024 at least.
  const budget = Math.min(BUDGETS[effort] ?? BUDGETS['medium']!, Math.floor(most / 2))
  const isOpen = messages.at(-1)!.content.some(({ type }) => type === 'tool_result')
  const [first] = messages.findLast(({ role }) => role === 'assistant')?.content ?? []
  if (budget < 1_024 || (isOpen && first && !isThinking(first))) return { budget: 0 }
  return { thinking: { type: 'enabled', budget_tokens: budget }, budget }
}

function outputOf(schema: JsonObject | undefined, effort: string | undefined, model: string): JsonObject | undefined {
  if (schema !== undefined && UNSTRUCTURED.test(model)) throw new CannotAsk(`${model} takes no JSON Schema for its answers; Claude 4.5 and later do`)
  if (schema === undefined && effort === undefined) return undefined
  return { ...(effort !== undefined && { effort }), ...(schema !== undefined && { format: { type: 'json_schema', schema } }) }
}

/** The messages, and where each message of the request ends: the index of its last block's message, and the block's. */
function messagesOf(mapping: Mapping): { readonly messages: Message[]; readonly ends: ReadonlyMap<number, readonly [number, number]> } {
  const messages: Message[] = []
  const ends = new Map<number, readonly [number, number]>()
  for (const line of askedLines(linesOf(mapping, TAKING, says))) {
    const role = line.role === 'assistant' ? 'assistant' : 'user'
    const content = line.role === 'assistant' ? toBlocks(line)
      : line.role === 'results' ? line.results.map(toResult) : line.parts.map(toPart)
    // Roles must alternate: neighbours of one role are merged into one message, blocks in order.
    if (messages.at(-1)?.role === role) messages.at(-1)!.content.push(...content)
    else messages.push({ role, content })
    if (line.at !== undefined) ends.set(line.at, [messages.length - 1, messages.at(-1)!.content.length - 1])
  }
  return { messages, ends }
}

/** A message of thinking or white space alone cannot be sent. */
function says({ content }: AssistantMessage): boolean {
  return content.some((block) => block.type === 'tool-call' || (block.type === 'text' && !isBlankText(block.text)))
}

/** "The final block in an assistant message cannot be `thinking`": thinking at the end is left out. */
function toBlocks({ blocks, kinship }: Extract<Line, { role: 'assistant' }>): Message['content'] {
  const content = blocks.flatMap((block) => toBlock(block, kinship))
  return content.slice(0, content.findLastIndex((block) => !isThinking(block)) + 1)
}

function isThinking({ type }: Message['content'][number]): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

function toBlock(block: SaidBlock, kinship: Kinship): Record<string, JsonObject[string]>[] {
  switch (block.type) {
    case 'text': return isBlankText(block.text) ? [] : [{ type: 'text', text: block.text }]
    case 'tool-call': return [{ type: 'tool_use', id: block.id, name: block.name, input: toInput(block.arguments) }]
    case 'reasoning': {
      const { signature, redactedData } = kinship === 'self' ? fieldsOf(block.metadata?.['anthropic']) : {}
      if (typeof redactedData === 'string') return [{ type: 'redacted_thinking', data: redactedData }]
      return typeof signature === 'string' ? [{ type: 'thinking', thinking: block.text, signature }] : []
    }
  }
}

function toResult({ id, parts, error }: SentResult): Record<string, JsonObject[string]> {
  return { type: 'tool_result', tool_use_id: id, ...(parts.length > 0 && { content: parts.map(toPart) }), ...(error && { is_error: true }) }
}

function toPart(part: Part): Record<string, JsonObject[string]> {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const source = { type: 'base64', media_type: part.mediaType, data: part.data }
  return part.kind === 'image' ? { type: 'image', source } : { type: 'document', source, ...(part.name !== undefined && { title: part.name }) }
}

type Block = Record<string, JsonObject[string]> | undefined

type Ends = ReadonlyMap<number, readonly [number, number]>

/**
 * Breakpoints after the prefix, after the history, and before the last answer of the history, which is where the
 * request before this one ended. Never on `after`.
 */
function breakpoints({ request: { segments, messages: asked } }: Mapping, messages: readonly Message[], ends: Ends): Block[] {
  const { prefix, before, history } = segments
  const end = prefix + before + history
  let answer = end - 1
  while (answer >= prefix + before && asked[answer]!.role !== 'assistant') answer--
  const places = [...(prefix > 0 ? [prefix] : []), ...(answer > prefix + before ? [answer] : []), end]
  return places.map((place) => blockBefore(place, messages, ends))
}

/** The last block before a place that can carry a breakpoint: thinking cannot. */
function blockBefore(place: number, messages: readonly Message[], ends: ReadonlyMap<number, readonly [number, number]>): Block {
  for (let at = place - 1; at >= 0; at--) {
    const found = ends.get(at)
    if (!found) continue
    const [message, block] = found
    for (let index = block; index >= 0; index--) {
      const candidate = messages[message]!.content[index]!
      if (!isThinking(candidate)) return candidate
    }
  }
  return undefined
}

function mark(blocks: readonly Block[]): void {
  for (const block of new Set(blocks.filter((block) => block !== undefined).slice(0, MAX_BREAKPOINTS))) block['cache_control'] = { type: 'ephemeral' }
}
