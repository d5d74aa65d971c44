import { type Line, type Mapping, type Part, type SaidBlock, type SentResult, type Taking, COMMON_IDS, askedLines, joined, linesOf, toInput } from '@headrace/wire'
import { withMetadata } from './metadata.ts'
import type { PromptMessage, PromptPart, Specification } from './specification.ts'

/** How messages are mapped. Each a pure function of the request. */
export interface PromptOptions {
  /** `user`: system messages in mid-conversation go framed, as the user's. Default: `system` for OpenAI's own models. */
  readonly systemMessages?: 'system' | 'user'
  /** Whether earlier reasoning is sent back, to the model that wrote it. Default: `keep`. */
  readonly reasoning?: 'keep' | 'drop'
}

/** What any model of the AI SDK supports; the package refuses what its provider does not. */
export function takingOf({ systemMessages }: PromptOptions, provider: string): Taking {
  const system = systemMessages ?? (/^(openai|azure)\b/.test(provider) ? 'system' : 'user')
  return { ids: COMMON_IDS, system: system === 'system' ? 'anywhere' : 'front', images: true, files: true }
}

/** A request's system text and messages as a specification has them; results of one step stand in one message. */
export function toPrompt(mapping: Mapping, taking: Taking, { reasoning = 'keep' }: PromptOptions, version: Specification): readonly PromptMessage[] {
  const { system } = mapping.request
  const prompt: PromptMessage[] = system === undefined ? [] : [{ role: 'system', content: system }]
  const says: Parameters<typeof linesOf>[2] = ({ content }) => content.some((block) => block.type === 'tool-call' || (block.type === 'text' && block.text.trim() !== ''))
  for (const line of askedLines(linesOf(mapping, taking, says))) {
    switch (line.role) {
      case 'system': prompt.push({ role: 'system', content: joined(line.parts) }); break
      case 'user': prompt.push({ role: 'user', content: line.parts.map((part) => toPart(part, version)) }); break
      case 'assistant': prompt.push({ role: 'assistant', content: toParts(line, reasoning) }); break
      case 'results': prompt.push({ role: 'tool', content: line.results.map((result) => toResult(result, version)) })
    }
  }
  return prompt
}

function toPart(part: Part, version: Specification): PromptPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  return { type: 'file', mediaType: part.mediaType, data: dataOf(part.data, version), ...(part.name !== undefined && { filename: part.name }) }
}

function dataOf(data: string, version: Specification): unknown {
  return version === 'v4' ? { type: 'data', data } : data
}

/** Reasoning at the end is left out: some providers refuse it. */
function toParts({ blocks, kinship }: Extract<Line, { role: 'assistant' }>, reasoning: 'keep' | 'drop'): readonly PromptPart[] {
  const parts = blocks.flatMap((block): PromptPart[] => toAssistantPart(block, kinship === 'self' ? block.metadata : undefined, reasoning === 'keep' && kinship === 'self'))
  return parts.slice(0, parts.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

function toAssistantPart(block: SaidBlock, metadata: SaidBlock['metadata'], keep: boolean): PromptPart[] {
  switch (block.type) {
    case 'text': return block.text.trim() === '' ? [] : [withMetadata({ type: 'text', text: block.text }, metadata)]
    case 'reasoning': return keep ? [withMetadata({ type: 'reasoning', text: block.text }, metadata)] : []
    case 'tool-call': return [withMetadata({ type: 'tool-call', toolCallId: block.id, toolName: block.name, input: toInput(block.arguments) }, metadata)]
  }
}

function toResult({ id, name, parts, error }: SentResult, version: Specification): PromptPart {
  const isText = parts.every(({ type }) => type === 'text')
  const output = isText ? { type: error ? 'error-text' : 'text', value: joined(parts) } : { type: 'content', value: parts.map((part) => toOutputPart(part, version)) }
  return { type: 'tool-result', toolCallId: id, toolName: name, output }
}

/** Each of the three specifications has another type for an image in a result. */
function toOutputPart(part: Part, version: Specification): PromptPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { mediaType, data } = part
  if (version === 'v4') return { type: 'file', mediaType, data: dataOf(data, version) }
  return { type: version === 'v2' ? 'media' : part.kind === 'image' ? 'image-data' : 'file-data', data, mediaType }
}
