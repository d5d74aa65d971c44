import { type Script, lastUser, toolResults } from '@headrace/model-server'

/** Milliseconds before each piece of an answer, so that the streaming can be seen. */
const DELAY = 20

/**
 * A model that writes down what it is told: a function of the conversation, so that a host continues correctly after a
 * kill.
 */
export const script: Script = (body) => {
  const told = lastUser(body)
  const written = toolResults(body).filter(({ name }) => name === 'write').length
  const asked = body.messages.filter(({ role }) => role === 'user').length
  if (written < asked) return { reasoning: 'I write it down.', toolCalls: [{ name: 'write', arguments: { path: `note-${asked}.md`, content: `${told}\n` } }], delay: DELAY }
  return { text: `I wrote it down in note-${asked}.md: ${told}`, delay: DELAY }
}
