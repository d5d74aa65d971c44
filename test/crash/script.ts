import type { ChatMessage, Script } from '@headrace/model-server'
import { PROMPTS, TITLE } from './work.ts'

/**
 * What the model says: calls of every tool to a prompt, a text once they are answered. The second prompt's first request of a session
 * fails once.
 */
export function script(): Script {
  const failed = new Set<string>()
  return ({ model, messages }) => {
    if (messages.some((message) => textOf(message) === TITLE)) return 'A title'
    const asked = messages.findLastIndex((message) => message.role === 'user' && PROMPTS.some((prompt) => textOf(message) === prompt))
    const called = messages.slice(asked).some((message) => message.role === 'assistant' && message.tool_calls)
    if (called) return { text: 'That is all there is to see.', chunkSize: 4 }
    if (textOf(messages[asked]!) === PROMPTS[1] && !failed.has(model)) {
      failed.add(model)
      return { error: { status: 500, message: 'overloaded' } }
    }
    return { text: 'I look around.', chunkSize: 4, toolCalls: ['left', 'right', 'alone'].map((name) => ({ name, arguments: {} })) }
  }
}

function textOf({ content }: ChatMessage): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('')
}
