import type {
  LanguageModelV3FilePart, LanguageModelV3Message, LanguageModelV3Prompt, LanguageModelV3TextPart, LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider'
import { type AdapterTools, ModelError } from '@headrace/agent'
import type { AssistantMessage, ContentBlock, FileBlock, ImageBlock, Request, SystemMessage, ToolMessage, ToolResultBlock, UserMessage } from '@headrace/message'
import { type ArgumentsForm, toInput } from './arguments.ts'
import { withMetadata } from './metadata.ts'

/** How messages are mapped. Each a pure function of the request. */
export interface Mapping {
  /** `user`: every system message among the messages goes as the user's, for endpoints that take only one, at the front. */
  readonly systemMessages: 'system' | 'user'
  /** Whether earlier reasoning is sent back. */
  readonly reasoning: 'keep' | 'drop'
  /** `user`: images of tool results follow the results in a user message, for endpoints whose tool messages are text only. */
  readonly toolImages: 'result' | 'user'
  /** Arguments of earlier calls as the model's own text, or as the object it stands for. */
  readonly arguments: ArgumentsForm
}

type UserPart = LanguageModelV3TextPart | LanguageModelV3FilePart
type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number]
type Output = LanguageModelV3ToolResultPart['output']
/** What is kept as a blob. */
type Kept = ImageBlock | FileBlock
type Load = (block: Kept) => Promise<string>

/** A request's system text and messages as the AI SDK has them. */
export async function toPrompt(request: Request, mapping: Mapping, tools: AdapterTools): Promise<LanguageModelV3Prompt> {
  const load: Load = async ({ type, digest }) => {
    const bytes = await tools.blob(digest)
    if (!bytes) throw new ModelError({ kind: 'invalid', message: `the ${type} ${digest} is not in the session's store, though the log names it` })
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  }
  const prompt: LanguageModelV3Prompt = request.system === undefined ? [] : [{ role: 'system', content: request.system }]
  /** Images and files of the tool results that stand together. */
  let aside: Kept[] = []
  const flush = async () => {
    if (aside.length > 0) prompt.push({ role: 'user', content: await labelled(aside, load) })
    aside = []
  }
  for (const message of request.messages) {
    if (message.role !== 'tool') await flush()
    if (message.content.length === 0) continue
    switch (message.role) {
      case 'system': prompt.push(await toSystem(message, mapping, load)); break
      case 'user': prompt.push({ role: 'user', content: await toParts(message.content, load) }); break
      case 'assistant': prompt.push(...toAssistant(message, mapping)); break
      case 'tool': prompt.push(await toTool(message, mapping, load, aside)); break
    }
  }
  await flush()
  return prompt
}

/** The AI SDK's system message is a text: one with images goes as the user's, so that nothing is lost or moved. */
async function toSystem(message: SystemMessage, { systemMessages }: Mapping, load: Load): Promise<LanguageModelV3Message> {
  const asText = systemMessages === 'system' && message.content.every(({ type }) => type === 'text')
  return asText ? { role: 'system', content: joined(message.content) } : { role: 'user', content: await toParts(message.content, load) }
}

function toParts(content: UserMessage['content'], load: Load): Promise<UserPart[]> {
  return Promise.all(content.map(async (block): Promise<UserPart> => {
    return block.type === 'text' ? withMetadata({ type: 'text', text: block.text }, block.metadata) : toFile(block, load)
  }))
}

async function toFile(block: Kept, load: Load): Promise<LanguageModelV3FilePart> {
  const part = { type: 'file', mediaType: block.mediaType, data: await load(block) } as const
  return block.type === 'file' && block.name !== undefined ? { ...part, filename: block.name } : part
}

/** Nothing where nothing is left: providers refuse an empty message. */
function toAssistant(message: AssistantMessage, mapping: Mapping): LanguageModelV3Message[] {
  const content = message.content.flatMap((block): AssistantPart[] => {
    const { metadata } = block
    switch (block.type) {
      case 'text': return [withMetadata({ type: 'text', text: block.text }, metadata)]
      case 'reasoning': return mapping.reasoning === 'drop' ? [] : [withMetadata({ type: 'reasoning', text: block.text }, metadata)]
      case 'tool-call': {
        const input = toInput(block.arguments, mapping.arguments)
        return [withMetadata({ type: 'tool-call', toolCallId: block.id, toolName: block.name, input }, metadata)]
      }
    }
  })
  return content.length === 0 ? [] : [{ role: 'assistant', content }]
}

async function toTool(message: ToolMessage, mapping: Mapping, load: Load, aside: Kept[]): Promise<LanguageModelV3Message> {
  const [block] = message.content
  const output = await toOutput(block, mapping, load, aside)
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId: block.id, toolName: block.name, output }] }
}

async function toOutput(block: ToolResultBlock, { toolImages }: Mapping, load: Load, aside: Kept[]): Promise<Output> {
  if (toolImages === 'result' && block.content.some(({ type }) => type !== 'text')) {
    const value = await Promise.all(block.content.map(async (part) => part.type === 'text'
      ? { type: 'text' as const, text: part.text }
      : { type: part.type === 'image' ? 'image-data' as const : 'file-data' as const, data: await load(part), mediaType: part.mediaType }))
    return { type: 'content', value }
  }
  const value = joined(block.content.map((part) => part.type === 'text' ? part : { type: 'text', text: label(part, aside.push(part)) }))
  return { type: block.error ? 'error-text' : 'text', value }
}

async function labelled(images: readonly Kept[], load: Load): Promise<UserPart[]> {
  const parts = await Promise.all(images.map(async (image, index) => [{ type: 'text' as const, text: label(image, index + 1) }, await toFile(image, load)]))
  return parts.flat()
}

function label({ type }: Kept, number: number): string {
  return `[${type} ${number}]`
}

/** Blocks as one text, a line each at least, for places that take no blocks. */
function joined(content: readonly ContentBlock[]): string {
  return content.map((block) => block.type === 'text' ? block.text : '').join('\n')
}
