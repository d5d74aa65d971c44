import { type AdapterTools, ModelError } from '@headrace/agent'
import type { Digest, Message, Request } from '@headrace/message'
import type { Mapping, Taking } from './conversation.ts'

/** Loads the blobs that a request's messages name, as far as they will be sent. */
export async function mappingOf(request: Request, tools: AdapterTools, taking: Pick<Taking, 'images' | 'files'>): Promise<Mapping> {
  const blobs = new Map<Digest, string>()
  for (const digest of new Set(request.messages.flatMap((message) => mediaIn(message, taking)))) {
    const bytes = await tools.blob(digest)
    if (!bytes) throw new ModelError({ kind: 'invalid', message: `the attachment ${digest} is not in the session's store, though the log names it` })
    blobs.set(digest, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'))
  }
  return { request, target: { provider: tools.provider, model: tools.model }, blobs }
}

function mediaIn(message: Message, { images, files }: Pick<Taking, 'images' | 'files'>): Digest[] {
  const content = message.role === 'tool' ? message.content[0].content : message.content
  return content.flatMap((block) => (block.type === 'image' && images) || (block.type === 'file' && files) ? [block.digest] : [])
}
