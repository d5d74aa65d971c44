/** `text`: as the model wrote it, so that a provider's cache knows its own answer again; `object`: parsed. */
export type ArgumentsForm = 'text' | 'object'

/** Names that the AI SDK refuses to parse, also written with escapes. */
const SUSPECT = /__proto__|constructor|\\u00[5-7]/i

/**
 * The arguments of an earlier call as a provider takes them: a JSON object, whatever the model wrote. What is none, such as a
 * call cut off by the output limit, becomes `{ "unparsed": "…" }`, so that the model still sees what it wrote.
 */
export function toInput(text: string, form: ArgumentsForm): unknown {
  if (text.trim() === '') return {}
  const value = parsed(text)
  if (value === undefined) return { unparsed: text }
  return form === 'text' && !SUSPECT.test(text) ? text : value
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
