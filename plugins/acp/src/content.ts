import type { ContentBlock as ClientBlock } from '@agentclientprotocol/sdk'
import type { ContentBlock } from '@headrace/message'
import { AcpError } from './error.ts'
import { fenced } from './markdown.ts'

/** Where the digest of an image stands until its bytes are read. */
export const DIGEST = 'headrace/digest'

/** Bytes that a prompt brings, kept beside the log before it is sent. */
export interface Attachments {
  put(bytes: Uint8Array): Promise<string>
}

/** A block as a client is shown it. The bytes of an image are filled in where it is sent: {@link DIGEST}. */
export function toClient(block: ContentBlock): ClientBlock {
  switch (block.type) {
    case 'text': return { type: 'text', text: block.text }
    case 'image': return { type: 'image', data: '', mimeType: block.mediaType, _meta: { [DIGEST]: block.digest } }
    case 'file': return { type: 'text', text: `[${block.name ?? 'a file'}, ${block.mediaType}]` }
  }
}

/** The words of a prompt, as they count for commands. */
export function wordsOf(prompt: readonly ClientBlock[]): string {
  return prompt.map((block) => block.type === 'text' ? block.text : '').join('').trim()
}

/**
 * What a client sends as a prompt, as blocks of a user's message: links and embedded files as text that says where they are from.
 *
 * @throws AcpError for audio, and for bytes that no model takes
 */
export async function fromClient(prompt: readonly ClientBlock[], attachments: Attachments): Promise<readonly ContentBlock[]> {
  const blocks: ContentBlock[] = []
  for (const block of prompt) {
    switch (block.type) {
      case 'text': if (block.text !== '') blocks.push({ type: 'text', text: block.text.toWellFormed() }); break
      case 'image': blocks.push(await imageOf(block.data, block.mimeType, attachments)); break
      case 'resource_link': blocks.push({ type: 'text', text: `[${oneLine(block.title ?? block.name)}](${oneLine(placeOf(block.uri))})` }); break
      case 'resource': blocks.push(await resourceOf(block.resource, attachments)); break
      case 'audio': throw new AcpError('audio cannot be sent: no model here takes it')
    }
  }
  return blocks
}

type Resource = Extract<ClientBlock, { type: 'resource' }>['resource']

async function resourceOf(resource: Resource, attachments: Attachments): Promise<ContentBlock> {
  const where = oneLine(placeOf(resource.uri))
  if ('text' in resource) return { type: 'text', text: `${where}:\n${fenced(resource.text.toWellFormed())}` }
  const type = resource.mimeType ?? 'application/octet-stream'
  if (type.startsWith('image/')) return imageOf(resource.blob, type, attachments)
  if (type !== 'application/pdf') throw new AcpError(`${where} is of the type ${oneLine(type)}; only text, images and PDF can be sent`)
  return { type: 'file', digest: await attachments.put(bytesOf(resource.blob)), mediaType: type, name: where.split('/').at(-1)!.slice(0, 200) }
}

async function imageOf(data: string, mediaType: string, attachments: Attachments): Promise<ContentBlock> {
  if (!/^image\/[\w.+-]{1,60}$/.test(mediaType)) throw new AcpError(`${oneLine(mediaType)} is no type of an image`)
  return { type: 'image', digest: await attachments.put(bytesOf(data)), mediaType }
}

/** @throws AcpError for what is no base64 */
function bytesOf(data: string): Uint8Array {
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length === 0 || !/^[\w+/=\s-]*$/.test(data)) throw new AcpError('an image or file that is no base64 cannot be sent')
  return bytes
}

/** The path of a file, another URI as it is. */
function placeOf(uri: string): string {
  if (!uri.startsWith('file://')) return uri
  try {
    return decodeURIComponent(new URL(uri).pathname)
  } catch {
    return uri
  }
}

function oneLine(text: string): string {
  return text.toWellFormed().replace(/[\r\n]+/g, ' ').slice(0, 4_000)
}
