import { type Item, itemFold } from '@headrace/desk'
import { type JsonObject, textOf } from '@headrace/message'
import type { SessionStore } from '@headrace/session'
import { messageIdOf } from './prompts.ts'
import { TurnChunks } from './turn-chunks.ts'
import { UiMessageFold } from './ui-message.ts'

/** A message as `useChat` has it. */
export interface UiMessage {
  readonly id: string
  readonly role: 'user' | 'assistant' | 'system'
  readonly metadata?: JsonObject
  readonly parts: readonly JsonObject[]
}

/**
 * A session's messages, for a chat that begins with them: what the streams of its turns gave, but for what was discarded. Of a turn that
 * runs what its log has; the rest comes by its stream, under the same id. Reads the log.
 */
export async function uiMessagesOf(store: SessionStore, id: string): Promise<readonly UiMessage[]> {
  const fold = itemFold()
  const keys = new Map<string, string>()
  for await (const batch of store.load(id)) {
    fold.append(batch)
    for (const { seq, type, data } of batch) if (type === 'prompt/queued' && data.key !== undefined) keys.set(`${seq}`, messageIdOf(data.key))
  }
  return groupsOf(fold.items).flatMap((group): readonly UiMessage[] => {
    if (group.prompt) return [{ id: keys.get(group.prompt.id) ?? group.prompt.id, role: 'user', parts: userParts(group.prompt) }]
    const chunks = new TurnChunks(id, group.turn)
    const told = [chunks.start(), ...chunks.takeAll(group.items)]
    const message = new UiMessageFold()
    for (const chunk of told) message.take(chunk)
    return message.parts.length === 0 ? [] : [message.message]
  })
}

type Group = { readonly prompt: Item & { readonly kind: 'message' } } | { readonly prompt?: undefined; readonly turn: number; readonly items: Item[] }

/** Prompts, and what else a turn has, in the order of the list. */
function groupsOf(items: readonly Item[]): readonly Group[] {
  const groups: Group[] = []
  for (const item of items) {
    if (item.kind === 'message' && item.role === 'user' && !item.context && !item.steer) {
      groups.push({ prompt: item })
      continue
    }
    if (item.turn === undefined) continue
    const last = groups.findLast((group) => !group.prompt)
    if (last && !last.prompt && last.turn === item.turn) last.items.push(item)
    else groups.push({ turn: item.turn, items: [item] })
  }
  return groups
}

function userParts({ content }: Item & { readonly kind: 'message' }): readonly JsonObject[] {
  return content.map((block) => block.type === 'text'
    ? { type: 'text', text: textOf({ content: [block] }) }
    : { type: 'data-headrace-file', data: { digest: block.digest, mediaType: block.mediaType } })
}
