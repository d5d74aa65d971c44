import type { Digest, Message } from '@headrace/message'
import type { Signed, SessionEvent } from './event.ts'

/**
 * Digests of the blobs that an event names, in order: of the image and file blocks of its messages, and of `blobs` in its data. What is no
 * message is anybody's JSON (`details`, `metadata`, the data of a plugin's event), and names none whatever it looks like.
 */
export function blobsOf(event: SessionEvent): ReadonlySet<Digest> {
  const digests = new Set<Digest>()
  for (const message of messagesOf(event)) if (message) look(message.content, digests)
  const { blobs } = event.data as { readonly blobs?: readonly Digest[] }
  for (const digest of blobs ?? []) digests.add(digest)
  return digests
}

function messagesOf({ type, data }: SessionEvent): readonly (Message | undefined)[] {
  switch (type) {
    case 'session/open': return data.seed ?? []
    case 'prompt/queued': return [data.input]
    case 'user/message':
    case 'context/message':
    case 'assistant/message': return [data.message]
    case 'tool/result': return [data.message, ...messagesIn(data.additionalContext)]
    case 'request/header': return [...listed(data.header.prefix), ...listed(data.header.before), ...listed(data.header.after)]
    case 'request/header-delta': return [...listed(data.delta.before), ...listed(data.delta.after)]
    case 'request/dispatch': return messagesIn(data.messages)
    case 'request/end': return [data.answer]
    case 'surface/replace': return messagesIn(data.messages)
    default: return []
  }
}

function messagesIn(signed: readonly Signed[] = []): readonly Message[] {
  return signed.map(({ message }) => message)
}

/** The messages of a header's field that is no reference. */
function listed(field: readonly Message[] | object | undefined): readonly Message[] {
  return Array.isArray(field) ? field as readonly Message[] : []
}

function look(content: Message['content'], digests: Set<Digest>): void {
  for (const block of content) {
    if (block.type === 'image' || block.type === 'file') digests.add(block.digest)
    else if (block.type === 'tool-result') look(block.content, digests)
  }
}
