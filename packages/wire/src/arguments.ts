import type { JsonObject } from '@headrace/message'

/**
 * The arguments of an earlier call as a provider accepts them: a JSON object, whatever the model wrote. Anything else,
 * such as a call cut off by the output limit, becomes `{ "unparsed": "…" }`, so that the model still sees what it
 * wrote.
 */
export function toInput(text: string): JsonObject {
  if (text.trim() === '') return {}
  return parsed(text) ?? { unparsed: text }
}

/**
 * The same as a text: the model's own text, byte for byte, where it is an object, so that the provider's prompt cache
 * matches.
 */
export function toInputText(text: string): string {
  if (text.trim() === '') return '{}'
  return parsed(text) ? text : JSON.stringify({ unparsed: text })
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as JsonObject : undefined
  } catch {
    return undefined
  }
}

/**
 * The text of arguments, in whatever form a server streams them; an object as its JSON. A piece may end within a
 * character (see `Halves`).
 */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}
