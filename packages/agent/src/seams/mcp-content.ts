import { type ContentBlock, type OnRepair, toWellFormed } from '@headrace/message'
import type { McpContent } from '../contract/tool.ts'
import { isList, isObject } from './guards.ts'

/** Keeps bytes beside the log; gives their digest. */
export type PutBlob = (bytes: Uint8Array) => Promise<string>

/** Bytes of an image that providers take; a larger one would be refused with each request from there on. */
const MAX_IMAGE = 5_000_000
/** Bytes of one part that are kept. */
const MAX_BLOB = 20_000_000
/** Most parts of one result. */
export const MAX_PARTS = 200
/** What providers take as an image. */
const IMAGES: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** True for a part that only MCP has: bytes in base64, a resource, or a link to one. */
export function isMcpPart(part: unknown): part is McpContent {
  if (!isObject(part)) return false
  if (part.type === 'image' || part.type === 'audio') return typeof part.data === 'string'
  if (part.type === 'resource') return isObject(part.resource)
  return part.type === 'resource_link' && typeof part.uri === 'string'
}

/** True for the whole of a result of MCP's shape, and not of ours. */
export function isMcpResult(value: Record<string, unknown>): boolean {
  if (value.content !== undefined && !(isList(value.content) && value.content.every((part) => isObject(part) && typeof part.type === 'string'))) return false
  if (value.content === undefined && value.structuredContent === undefined) return false
  return typeof value.isError === 'boolean' || isObject(value.structuredContent) || isObject(value._meta) ||
    (isList(value.content) && value.content.some(isMcpPart))
}

/** The parts of a result as blocks. What no block is for is told in words. */
export async function toBlocks(parts: readonly unknown[], putBlob: PutBlob, at: string, onRepair?: OnRepair): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = []
  for (const part of parts) blocks.push(...(await toBlock(isObject(part) ? part : {}, putBlob)))
  return blocks.map((block) => (block.type === 'text' ? { type: 'text', text: toWellFormed(block.text, at, onRepair) } : block))
}

async function toBlock(part: Record<string, unknown>, putBlob: PutBlob): Promise<ContentBlock[]> {
  switch (part.type) {
    case 'text': return textOf(words(part.text))
    case 'image':
    case 'audio': return keep(part.data, part.mimeType, undefined, putBlob)
    case 'resource': return resource(isObject(part.resource) ? part.resource : {}, putBlob)
    case 'resource_link': return textOf(`[${['resource', words(part.title ?? part.name), words(part.uri), words(part.mimeType), words(part.description)].filter((word) => word !== '').join(' · ')}]`)
    default: return textOf(`[a part of the kind ${JSON.stringify(part.type)}, which cannot be shown]`)
  }
}

async function resource({ uri, mimeType, text, blob }: Record<string, unknown>, putBlob: PutBlob): Promise<ContentBlock[]> {
  const called = textOf(`[resource · ${words(uri)}]`)
  if (typeof text === 'string') return textOf(`[resource · ${words(uri)}]\n${text}`)
  return [...called, ...(await keep(blob, mimeType, words(uri), putBlob))]
}

async function keep(data: unknown, type: unknown, name: string | undefined, putBlob: PutBlob): Promise<ContentBlock[]> {
  const mediaType = typeof type === 'string' && /^[\w.+-]+\/[\w.+-]+/.test(type) ? type.toWellFormed() : 'application/octet-stream'
  if (typeof data !== 'string' || !/^[A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(data)) return textOf(`[${mediaType}, whose bytes are not base64]`)
  if (data.length > MAX_BLOB * 4 / 3) return textOf(`[${mediaType} of ${Math.floor(data.length * 3 / 4)} bytes; at most ${MAX_BLOB} are kept]`)
  const bytes = new Uint8Array(Buffer.from(data, 'base64'))
  if (bytes.length === 0) return textOf(`[${mediaType} without bytes]`)
  const digest = await putBlob(bytes)
  if (IMAGES.has(mediaType) && bytes.length <= MAX_IMAGE) return [{ type: 'image', digest, mediaType }]
  return [{ type: 'file', digest, mediaType, ...(name !== undefined && name !== '' && { name: name.toWellFormed() }) }]
}

function textOf(text: string): ContentBlock[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function words(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
