import { copyJson } from './json.ts'
import { type AssistantMessage, type Message, MessageError, type OnRepair, type ToolMessage, toContent, toContribution } from './message.ts'

/** A message of any role as people write it: content may be a string. */
export type MessageInput = Message | { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }

/**
 * A message of any role in its one representation, frozen: for histories that come from elsewhere.
 *
 * @throws MessageError, JsonError
 */
export function toMessage(input: unknown, at: string, onRepair?: OnRepair): Message {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw new MessageError(at, 'must be a message: { role, content }')
  const { role, content } = input as { role?: unknown; content?: unknown }
  if (role === 'assistant') {
    const blocks = typeof content === 'string' ? toContent(content, at, onRepair) : content
    if (!Array.isArray(blocks)) throw new MessageError(`${at}.content`, 'must be a string or a list of blocks')
    return copyJson<AssistantMessage>({ role, content: blocks as AssistantMessage['content'] }, at)
  }
  if (role === 'tool') return copyJson<ToolMessage>({ role, content: content as ToolMessage['content'] }, at)
  return toContribution(input, at, onRepair)
}
