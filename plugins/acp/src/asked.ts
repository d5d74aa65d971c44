import type { CreateElicitationRequest, PermissionOption, ToolCallUpdate } from '@agentclientprotocol/sdk'
import { shownQuestion, writtenLine } from '@headrace/consent'
import type { Json, JsonObject } from '@headrace/message'
import type { QuestionOption } from '@headrace/session'
import { type CallView, text } from './call-view.ts'
import { fenced } from './markdown.ts'

/** A question, whichever session's log it stands in. */
export interface Asked {
  readonly kind: 'permission' | 'input'
  readonly question: string
  readonly options?: readonly QuestionOption[]
  readonly schema?: JsonObject
  /** The call that it is about. */
  readonly call?: { readonly name: string; readonly input: JsonObject }
  /** Who asks, where it is not the session that the client has open. */
  readonly whose?: string
}

/** An answer, and what it is remembered as. */
export interface Chosen {
  readonly answer: Json
  readonly remember?: Json
}

/** An option of the client's dialog, and what it answers. */
export interface Choice {
  readonly option: PermissionOption
  readonly chosen: Chosen
}

/** What a permission's dialog offers: yes and no, and what the question offers to remember. */
export function choicesOf({ kind, options = [] }: Asked): readonly Choice[] {
  if (kind === 'input') {
    return [
      ...options.map(({ answer, label, remember }, index) => choice(`option-${index}`, label ?? JSON.stringify(answer), 'allow_once', answer, remember)),
      choice('decline', 'Decline', 'reject_once', null),
    ]
  }
  const kept = options.flatMap(({ answer, label, remember }, index) => {
    if (remember === undefined || (answer !== 'allow' && answer !== 'deny')) return []
    const isAllowing = answer === 'allow'
    return [choice(`option-${index}`, label ?? answer, isAllowing ? 'allow_always' : 'reject_always', answer, remember)]
  })
  return [choice('allow', 'Allow', 'allow_once', 'allow'), ...kept, choice('deny', 'Reject', 'reject_once', 'deny')]
}

function choice(optionId: string, name: string, kind: PermissionOption['kind'], answer: Json, remember?: Json): Choice {
  return { option: { optionId, name: writtenLine(name), kind }, chosen: { answer, ...(remember !== undefined && { remember }) } }
}

/**
 * The call as the dialog shows it, with all of what is asked: nothing of it is left out, drives what shows it, or is seen as something
 * else.
 *
 * @param view what the client has of the call; what it changes stays beside the question
 */
export function askedCall(toolCallId: string, asked: Asked, view: Partial<CallView>): ToolCallUpdate {
  const { call, whose } = asked
  const { whole } = shownQuestion(asked.question, call)
  const lines = whose === undefined ? whole : [`asked by ${writtenLine(whose)}`, ...whole]
  const { content = [], ...rest } = view
  const changes = content.filter(({ type }) => type === 'diff')
  return {
    toolCallId,
    ...rest,
    ...(call && { rawInput: call.input }),
    status: 'pending',
    content: [text(fenced(lines.join('\n'))), ...changes],
  }
}

/** Types of fields that a client's form can have. */
const FIELDS: readonly unknown[] = ['string', 'number', 'integer', 'boolean']

/** The form of a question that wants an answer of its own; `undefined` where no form can ask it. */
export function formOf(sessionId: string, toolCallId: string, asked: Asked): CreateElicitationRequest | undefined {
  const fields = fieldsOf(asked)
  if (!fields) return undefined
  const { whole } = shownQuestion(asked.question, asked.call)
  const required = (asked.schema?.['required'] ?? (isObject(asked.schema) ? [] : ['answer'])) as string[]
  return {
    mode: 'form', sessionId, toolCallId, message: whole.join('\n'),
    requestedSchema: { type: 'object', properties: fields, required },
  }
}

/** What was filled in, as the question wants it. */
export function answerOf(asked: Asked, content: Readonly<Record<string, unknown>> | null | undefined): Json {
  const given = (content ?? {}) as JsonObject
  return isObject(asked.schema) ? given : given['answer'] ?? null
}

type Fields = NonNullable<Extract<CreateElicitationRequest, { mode: 'form' }>['requestedSchema']>['properties']

function fieldsOf({ schema }: Asked): NonNullable<Fields> | undefined {
  const given = isObject(schema) ? Object.entries(schema!['properties'] as Record<string, JsonObject>) : [['answer', schema ?? { type: 'string' }] as const]
  const fields = given.map(([name, field]) => {
    const type = field['type'] ?? 'string'
    if (!FIELDS.includes(type)) return undefined
    const { description, title, enum: values } = field
    const shown = { ...(typeof title === 'string' && { title }), ...(typeof description === 'string' && { description }) }
    const options = Array.isArray(values) && values.every((value) => typeof value === 'string') ? { enum: values } : {}
    return [name, { type, ...shown, ...options }] as const
  })
  return fields.every((field) => field !== undefined) ? Object.fromEntries(fields) as NonNullable<Fields> : undefined
}

function isObject(schema: JsonObject | undefined): boolean {
  const { properties } = schema ?? {}
  return typeof properties === 'object' && properties !== null && Object.keys(properties).length > 0
}
