import type { ToolRun } from '@headrace/agent'
import { type Json, type JsonObject, copyJson } from '@headrace/message'
import { quoted } from '@headrace/files'
import { bounded, fieldsOf } from './told.ts'

/** Characters of what a server asks. */
const MAX_QUESTION = 2_000
/** Characters of the JSON of what it wants for an answer: a form that a person fills in. */
const MAX_FORM = 20_000

/** Answers a server's questions to the person. */
export interface Elicited {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Record<string, string | number | boolean | string[]>
}

/**
 * A server's question, put to the person as a question of the running call. By stdio the server does not say which
 * call: it is the newest, where only one agent has any.
 */
export async function elicit(server: string, params: unknown, running: readonly ToolRun[]): Promise<Elicited> {
  const { message, requestedSchema, mode } = fieldsOf(params)
  const run = running.at(-1)
  const isClear = run !== undefined && running.every(({ agent }) => agent.id === run.agent.id)
  if (!isClear || typeof message !== 'string' || (mode !== undefined && mode !== 'form')) return { action: 'decline' }
  let answer: Json
  try {
    const schema = withoutPatterns(copyJson(fieldsOf(requestedSchema) as JsonObject))
    if (JSON.stringify(schema).length > MAX_FORM) return { action: 'decline' }
    answer = await run.ask({ question: `The MCP server ${quoted(server)} asks: ${bounded(message.toWellFormed(), MAX_QUESTION)}`, schema })
  } catch {
    // Nobody to ask, or the call has ended.
    return { action: 'cancel' }
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return { action: 'decline' }
  return { action: 'accept', content: answer as NonNullable<Elicited['content']> }
}

/** The schema without its patterns: one of a server's making may run for ever on an answer; the server checks it itself. */
function withoutPatterns(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema, (key, value: unknown) => (
    key === 'patternProperties' || (key === 'pattern' && typeof value === 'string') ? undefined : value
  ))) as JsonObject
}
