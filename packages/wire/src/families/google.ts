import { type AssistantMessage, type JsonObject, defined } from '@headrace/message'
import { toInput } from '../arguments.ts'
import { type Line, type Mapping, type Part, type SaidBlock, type SentResult, type Taking, askedLines, isBlankText, joined, linesOf, mediaLabel } from '../conversation.ts'
import { type Family, type Mapped, fieldsOf, withOptions } from '../family.ts'
import { COMMON_IDS, toolName } from '../ids.ts'
import type { Kinship } from '../target.ts'
import { GoogleReader } from './google-reader.ts'

/** What one provider of Gemini's API supports. */
export interface GoogleTraits {
  readonly family: 'google'
}

const TAKING: Taking = { ids: COMMON_IDS, system: 'front', images: true, files: true }

/** `POST …/models/<model>:streamGenerateContent?alt=sse`. */
export const google: Family<GoogleTraits> = {
  name: 'google',
  path: (model) => `/models/${model.replace(/^models\//, '')}:streamGenerateContent`,
  query: { alt: 'sse' },
  headers: (key) => key === undefined ? {} : { 'x-goog-api-key': key },
  taking: () => TAKING,
  body: bodyOf,
  reader: ({ request }) => new GoogleReader(request.tools ?? []),
}

interface Content {
  readonly role: 'user' | 'model'
  readonly parts: JsonObject[]
}

function bodyOf(mapping: Mapping): Mapped {
  const { request: { config, system, tools }, target: { model } } = mapping
  const { reasoningEffort: effort, output } = config
  const generationConfig = defined({
    temperature: config.temperature,
    topP: config.topP,
    maxOutputTokens: config.maxOutputTokens,
    stopSequences: config.stop,
    thinkingConfig: effort === undefined ? undefined : thinkingOf(effort, model),
    responseMimeType: output === undefined ? undefined : 'application/json',
    responseJsonSchema: output,
  })
  const body = defined({
    systemInstruction: system === undefined ? undefined : { parts: [{ text: system }] },
    contents: contentsOf(mapping),
    tools: tools && [
      {
        functionDeclarations: tools.map(({ name, description, parameters }) => ({
          name: toolName(name),
          description,
          parametersJsonSchema: parameters,
        })),
      },
    ],
    generationConfig: Object.keys(generationConfig).length === 0 ? undefined : generationConfig,
  }) as unknown as JsonObject
  return { body: withOptions(body, config.providerOptions), unsaid: [] }
}

/** Models before Gemini 3 take a budget, not a level, and do not require signatures. */
const OLD = /gemini-(1|2)|gemma/
const BUDGETS: Readonly<Record<string, number>> = { none: 0, minimal: 512, low: 2_048, medium: 8_192, high: 24_576 }

function thinkingOf(effort: string, model: string): JsonObject {
  if (!OLD.test(model)) return { includeThoughts: true, thinkingLevel: effort }
  const budget = BUDGETS[effort] ?? -1
  return { includeThoughts: budget !== 0, thinkingBudget: budget }
}

function contentsOf(mapping: Mapping): Content[] {
  const contents: Content[] = []
  for (const line of askedLines(linesOf(mapping, TAKING, says))) {
    switch (line.role) {
      case 'system':
      case 'user': pushUser(contents, line.parts.map(toPart)); break
      case 'assistant': contents.push({ role: 'model', parts: toModel(line, mapping.target.model) }); break
      case 'results': {
        // "the number of function response parts is equal to the number of function call parts": all results of a step
        // go into one content, with nothing else in it.
        let number = 0
        contents.push({ role: 'user', parts: line.results.map((result) => toResponse(result, () => ++number)) })
        const media = line.results.flatMap(({ parts }) => parts.filter(({ type }) => type === 'media'))
        if (media.length > 0) pushUser(contents, media.flatMap((part, index) => [{ text: mediaLabel(index + 1) }, toPart(part)]))
      }
    }
  }
  return contents
}

/** A user message is merged with one right before it, but never with results of calls. */
function pushUser(contents: Content[], parts: JsonObject[]): void {
  const last = contents.at(-1)
  if (last?.role === 'user' && !last.parts.some((part) => part['functionResponse'] !== undefined)) last.parts.push(...parts)
  else contents.push({ role: 'user', parts })
}

function says({ content }: AssistantMessage): boolean {
  return content.some((block) => block.type === 'tool-call' || (block.type === 'text' && !isBlankText(block.text)))
}

/**
 * Where there is no signature, as for calls of another model, Google's documented placeholder turns the check off
 * (Gemini 3, thought signatures).
 */
const UNSIGNED = 'skip_thought_signature_validator'

function toModel({ blocks, kinship }: Extract<Line, { role: 'assistant' }>, model: string): JsonObject[] {
  const parts = blocks.flatMap((block) => toModelPart(block, kinship))
  const first = parts.findIndex((part) => part['functionCall'] !== undefined)
  if (first >= 0 && parts[first]!['thoughtSignature'] === undefined && !OLD.test(model)) parts[first] = { ...parts[first]!, thoughtSignature: UNSIGNED }
  return parts
}

function toModelPart(block: SaidBlock, kinship: Kinship): JsonObject[] {
  const opaque = kinship === 'self' ? fieldsOf(block.metadata?.['google']) : {}
  const { thoughtSignature, id } = opaque
  const signed = typeof thoughtSignature === 'string' ? { thoughtSignature } : {}
  switch (block.type) {
    case 'text': return isBlankText(block.text) && !('thoughtSignature' in signed) ? [] : [{ text: block.text, ...signed }]
    case 'reasoning': return 'thoughtSignature' in signed ? [{ text: block.text, thought: true, ...signed }] : []
    case 'tool-call': return [{ functionCall: { ...(typeof id === 'string' && { id }), name: block.name, args: toInput(block.arguments) }, ...signed }]
  }
}

function toResponse({ name, parts, error, metadata }: SentResult, count: () => number): JsonObject {
  const text = joined(parts.map((part) => part.type === 'text' ? part : { type: 'text', text: mediaLabel(count()) }))
  const id = fieldsOf(metadata?.['google'])['id']
  return { functionResponse: { ...(typeof id === 'string' && { id }), name, response: error ? { error: text } : { output: text } } }
}

function toPart(part: Part): JsonObject {
  return part.type === 'text' ? { text: part.text } : { inlineData: { mimeType: part.mediaType, data: part.data } }
}
