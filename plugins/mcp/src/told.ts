import type { JsonObject } from '@headrace/message'
import { messageOf, toWellFormed } from '@headrace/message'
import { cutAfter, oneLine, quoted } from '@headrace/files'
import { checkInputSchema } from './input-schema.ts'

/** A tool's hints about itself: claims of the server, not facts. */
export interface ToolHints {
  readonly title?: string
  /** It changes nothing. */
  readonly readOnlyHint?: boolean
  /** It may delete or overwrite. */
  readonly destructiveHint?: boolean
  /** Repeating the call changes nothing more. */
  readonly idempotentHint?: boolean
  /** It reaches systems outside the server. */
  readonly openWorldHint?: boolean
}

/** A tool as a server told it. */
export interface ToldTool {
  /** The server's own name. */
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
  readonly hints: ToolHints
}

/** A prompt as a server told it. */
export interface ToldPrompt {
  readonly name: string
  readonly description?: string
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
}

/** A server's lists, as of the last connection or change. */
export interface Told {
  readonly tools: readonly ToldTool[]
  readonly prompts: readonly ToldPrompt[]
  /** Whether it has resources. */
  readonly resources: boolean
  readonly instructions?: string
}

/** Longest name of a tool or prompt that is accepted. */
const MAX_NAME = 200

/** Tools of a list, each checked by itself: an error in one is reported, and the others are used. */
export function readTools(
  items: readonly unknown[], limits: { readonly maxTools: number; readonly maxDescription: number }, warn: (problem: string) => void,
): readonly ToldTool[] {
  const tools = new Map<string, ToldTool>()
  for (const item of items) {
    if (tools.size >= limits.maxTools) {
      warn(`it has more than ${limits.maxTools} tools; the others are left out`)
      break
    }
    const { name, description, inputSchema, annotations } = fieldsOf(item)
    if (typeof name !== 'string' || name === '' || name.length > MAX_NAME) {
      warn(`it has a tool without a name of 1 to ${MAX_NAME} characters; it is left out`)
      continue
    }
    const wrong = (problem: string): void => warn(`its tool ${quoted(name)} is left out: ${problem}`)
    if (tools.has(name)) {
      wrong('there is one of that name in front of it')
      continue
    }
    try {
      const text = typeof description === 'string' ? toWellFormed(description, 'description') : ''
      tools.set(name, { name, description: bounded(text, limits.maxDescription), schema: checkInputSchema(inputSchema ?? { type: 'object' }), hints: readHints(annotations) })
    } catch (error) {
      wrong(oneLine(messageOf(error)).slice(0, 300))
    }
  }
  return [...tools.values()]
}

/** Prompts of a list; invalid ones are left out. */
export function readPrompts(items: readonly unknown[]): readonly ToldPrompt[] {
  return items.flatMap((item) => {
    const { name, description, arguments: args } = fieldsOf(item)
    if (typeof name !== 'string' || name === '' || name.length > MAX_NAME) return []
    const fields = (Array.isArray(args) ? args as readonly unknown[] : []).map(fieldsOf)
    return [{
      name,
      ...(typeof description === 'string' && { description: oneLine(description) }),
      arguments: fields.flatMap((field) => (typeof field.name === 'string' ? [{ name: field.name, required: field.required === true }] : [])),
    }]
  })
}

/** A text, cut with a note where it is too long. */
export function bounded(text: string, max: number): string {
  return text.length <= max ? text : `${cutAfter(text, max - 1)}…`
}

function readHints(given: unknown): ToolHints {
  const { title, ...hints } = fieldsOf(given)
  const known = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'].filter((key) => typeof hints[key] === 'boolean')
  return Object.freeze({ ...(typeof title === 'string' && { title: oneLine(title) }), ...Object.fromEntries(known.map((key) => [key, hints[key]])) })
}

/** The fields of what should be an object. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Readonly<Record<string, unknown>> : {}
}
