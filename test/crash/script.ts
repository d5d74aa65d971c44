import type { ChatMessage, Script } from '@headrace/model-server'
import { PROMPTS, TITLE } from './work.ts'

/**
 * What the model says: calls of every tool to a prompt, a text once they are answered. The second prompt's first request of a session
 * fails once. The wire may put several messages of the user into one.
 */
export function script(): Script {
  const failed = new Set<string>()
  return ({ model, messages }) => {
    if (messages.some((message) => says(message, TITLE))) return 'A title'
    const asked = messages.findLastIndex((message) => message.role === 'user' && PROMPTS.some((prompt) => says(message, prompt)))
    const called = messages.slice(asked).some((message) => message.role === 'assistant' && message.tool_calls)
    if (called) return { text: 'That is all there is to see.', chunkSize: 4 }
    if (says(messages[asked]!, PROMPTS[1]) && !failed.has(model)) {
      failed.add(model)
      return { error: { status: 500, message: 'overloaded' } }
    }
    return { text: 'I look around.', chunkSize: 4, toolCalls: ['left', 'right', 'alone'].map((name) => ({ name, arguments: {} })) }
  }
}

function says({ content }: ChatMessage, said: string): boolean {
  return typeof content === 'string' ? content === said : (content ?? []).some(({ text }) => text === said)
}
