import { readFileSync, statSync } from 'node:fs'
import { basename, extname } from 'node:path'
import type { Agent } from '@headrace/agent'
import type { ContentBlock } from '@headrace/message'
import { UsageError } from './error.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png', '.jpg': 'image/jpeg', '.jpeg': 'image/jpeg', '.gif': 'image/gif', '.webp': 'image/webp', '.pdf': 'application/pdf',
}
const MAX_BYTES = 20 * 1024 * 1024

/** A file that goes with a prompt. */
export interface Attachment {
  readonly name: string
  readonly mediaType: string
  readonly bytes: Uint8Array
}

/** An image or a PDF for a model. @throws UsageError for another, or none */
export function readAttachment(path: string): Attachment {
  const mediaType = TYPES[extname(path).toLowerCase()]
  if (mediaType === undefined) throw new UsageError(`${path} is no image or PDF by its name; give one of ${Object.keys(TYPES).join(', ')}`)
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile()) throw new UsageError(`there is no file ${path}`)
  if (stat.size > MAX_BYTES) throw new UsageError(`${path} has ${stat.size} bytes; at most ${MAX_BYTES} go with a prompt`)
  return { name: basename(path), mediaType, bytes: readFileSync(path) }
}

/** Keeps an attachment in the session's store, and names it for a prompt. */
export async function putAttachment(agent: Agent, { name, mediaType, bytes }: Attachment): Promise<ContentBlock> {
  return mediaType.startsWith('image/') ? agent.putImage(bytes, mediaType) : agent.putFile(bytes, mediaType, name)
}
