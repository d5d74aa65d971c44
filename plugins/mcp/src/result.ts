import type { Agent, ToolOutput } from '@headrace/agent'
import { type ContentBlock, toWellFormed } from '@headrace/message'
import { oneLine } from '@headrace/files'
import { fieldsOf } from './told.ts'

/** Bytes of an image or a file; a larger one is named, not kept. */
const MAX_BYTES = 10_000_000
/** Blocks of one result. */
const MAX_BLOCKS = 200

/** What `tools/call` gave, as a tool's output. Texts are bounded by the loop. */
export async function outputOf(result: unknown, agent: Agent): Promise<ToolOutput> {
  const { content, structuredContent, isError, toolResult } = fieldsOf(result)
  const items = Array.isArray(content) ? content as readonly unknown[] : []
  const blocks = await blocksOf(items, agent)
  // By the protocol it stands in a text, too; where it does not, it is all there is.
  const data = structuredContent ?? toolResult
  if (data !== undefined && !items.some((item) => fieldsOf(item).type === 'text')) blocks.push(textBlock(JSON.stringify(data)))
  if (isError !== true) return blocks.length > 0 ? blocks : undefined
  return { error: true, content: blocks.length > 0 ? blocks : 'The tool failed, and does not say why.' }
}

/** Content of MCP as blocks: images and files are kept beside the log. */
export async function blocksOf(items: readonly unknown[], agent: Agent): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = []
  for (const item of items.slice(0, MAX_BLOCKS)) {
    const block = await blockOf(fieldsOf(item), agent)
    if (block) blocks.push(block)
  }
  if (items.length > MAX_BLOCKS) blocks.push(textBlock(`[${items.length - MAX_BLOCKS} more parts were left out.]`))
  return blocks
}

async function blockOf(item: Readonly<Record<string, unknown>>, agent: Agent): Promise<ContentBlock | undefined> {
  const { type, text, data, mimeType, uri } = item
  switch (type) {
    case 'text': return typeof text === 'string' && text !== '' ? textBlock(text) : undefined
    case 'image':
    case 'audio': return kept(data, mimeType, type, agent)
    case 'resource_link': return textBlock(linkText(item))
    case 'resource': return resourceBlock(fieldsOf(item.resource), agent)
    default: return textBlock(`[a part of the type ${oneLine(String(type)).slice(0, 40)}${typeof uri === 'string' ? `: ${oneLine(uri)}` : ''}]`)
  }
}

/** Contents of a resource, as `resources/read` gives them and results embed them. */
export async function resourceBlock(resource: Readonly<Record<string, unknown>>, agent: Agent): Promise<ContentBlock> {
  const { uri, text, blob, mimeType } = resource
  if (typeof text === 'string') return textBlock(text)
  if (typeof blob === 'string') return kept(blob, mimeType, 'file', agent, typeof uri === 'string' ? nameOf(uri) : undefined)
  return textBlock('[a resource without contents]')
}

/** One line that names a resource. */
export function linkText({ uri, name, title, mimeType, size, description }: Readonly<Record<string, unknown>>): string {
  const label = [title, name].find((text): text is string => typeof text === 'string' && text.trim() !== '')
  const facts = [mimeType, typeof size === 'number' ? `${size} bytes` : undefined].filter((text) => typeof text === 'string').join(', ')
  return oneLine(`${String(uri)}${label === undefined ? '' : ` ${label}`}${facts && ` (${facts})`}${typeof description === 'string' ? `: ${description}` : ''}`).slice(0, 1_000)
}

async function kept(data: unknown, mimeType: unknown, kind: 'image' | 'audio' | 'file', agent: Agent, name?: string): Promise<ContentBlock> {
  const type = typeof mimeType === 'string' && /^[^/\s]+\/[^/\s]+$/.test(mimeType) ? mimeType.toWellFormed() : undefined
  if (typeof data !== 'string') return textBlock(`[an ${kind} without data]`)
  if (data.length * 0.75 > MAX_BYTES) return textBlock(`[${kind === 'file' ? 'a file' : `an ${kind}`} of about ${Math.round(data.length * 0.75)} bytes was left out: it is too large]`)
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length === 0) return textBlock(`[an empty ${kind}]`)
  if (type?.startsWith('image/')) return agent.putImage(bytes, type)
  return agent.putFile(bytes, type ?? 'application/octet-stream', name)
}

function nameOf(uri: string): string {
  return oneLine(uri).split(/[?#]/, 1)[0]!.split('/').at(-1)!.slice(0, 200) || 'file'
}

function textBlock(text: string): ContentBlock {
  return { type: 'text', text: toWellFormed(text, 'text') }
}
