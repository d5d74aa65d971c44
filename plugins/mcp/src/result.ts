import type { Agent, McpContent, McpResult } from '@headrace/agent'
import { type ContentBlock, toWellFormed } from '@headrace/message'
import { bounded, fieldsOf } from './told.ts'

/** Bytes of an image from a reference or a prompt. */
const MAX_IMAGE = 5_000_000
/** Parts of the content of a reference or a prompt. */
const MAX_PARTS = 50

/** The result of `tools/call`, marked so that the loop reads it as MCP's, whatever its parts are. */
export function resultOf(given: unknown): McpResult {
  const { content, structuredContent, toolResult, isError } = fieldsOf(given)
  const parts = Array.isArray(content) ? content as readonly unknown[] : []
  // In the oldest protocol a result had this instead.
  const data = structuredContent ?? toolResult
  return { content: parts.map(partOf), isError: isError === true, ...(data !== undefined && { structuredContent: data }) }
}

function partOf(part: unknown): McpContent {
  return typeof fieldsOf(part).type === 'string' ? part as McpContent : { type: 'text', text: '[a part that is none]' } as McpContent
}

/** Parts as blocks of a contribution: texts, with a common limit, and images; a text says what cannot be shown. */
export async function blocksOf(parts: readonly unknown[], agent: Agent, limit: number): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = []
  let left = limit
  for (const part of parts.slice(0, MAX_PARTS)) {
    const block = await blockOf(fieldsOf(part), agent)
    if (block.type !== 'text') {
      blocks.push(block)
      continue
    }
    if (left <= 0) break
    const text = bounded(toWellFormed(block.text, 'text'), left)
    left -= text.length
    blocks.push({ type: 'text', text })
  }
  return blocks
}

async function blockOf(part: Readonly<Record<string, unknown>>, agent: Agent): Promise<ContentBlock> {
  const { type, text, data, mimeType, uri } = part
  if (typeof text === 'string') return { type: 'text', text }
  if (type === 'resource') return blockOf(fieldsOf(part.resource), agent)
  const bytes = data ?? part.blob
  const isImage = typeof mimeType === 'string' && /^image\/(png|jpeg|gif|webp)$/.test(mimeType)
  if (isImage && typeof bytes === 'string' && bytes.length > 0 && bytes.length * 0.75 <= MAX_IMAGE) {
    return agent.putImage(new Uint8Array(Buffer.from(bytes, 'base64')), mimeType)
  }
  return { type: 'text', text: `[${[mimeType ?? type ?? 'a part', uri].filter((word) => typeof word === 'string').join(' · ').slice(0, 500)}, which cannot be shown here]` }
}
