import { type Message, NO_USAGE } from '@headrace/message'
import { checkHeader, checkHeaderDelta, checkModel } from './check-header.ts'
import { LogError } from './error.ts'
import type { SessionEvent } from './event.ts'
import { textProblem } from './well-formed.ts'

/**
 * Checks that a parsed value has the shape of an event. A hand-written switch, for speed: a log is read far more often than it is
 * wrong. Contents that only a provider or a plugin can judge pass.
 *
 * @throws LogError that names the field
 */
export function checkEvent(value: unknown): SessionEvent {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new LogError('a record that is not an object')
  const event = value as Fields
  const seq = Number.isSafeInteger(event.seq) && (event.seq as number) >= 0 ? (event.seq as number) : undefined
  if (seq === undefined) throw new LogError('an event without a seq')
  const check = new Check(seq)
  for (const key in event) if (!EVENT_FIELDS.has(key)) check.fail(key, 'is not a field of an event')
  check.number(event, 'time')
  check.string(event, 'type')
  if (event.required !== undefined && event.required !== true) check.fail('required', 'must be true or absent')
  check.data(event.type as string, check.object(event, 'data'), event.required === true)
  for (const field of ['type', 'data']) check.text(event[field], field)
  return value as SessionEvent
}

export type Fields = Record<string, unknown>

const EVENT_FIELDS = new Set(['seq', 'time', 'type', 'data', 'required'])
const USAGE_FIELDS = Object.keys(NO_USAGE)
const ROLES = new Set(['system', 'user', 'assistant', 'tool'])

/** The rules of one event; a failure names its seq and field. */
export class Check {
  private readonly seq: number

  constructor(seq: number) {
    this.seq = seq
  }

  data(type: string, data: Fields, required: boolean): void {
    switch (type) {
      case 'session/open':
        this.count(data, 'version')
        this.string(data, 'id')
        if (data.cwd !== undefined) this.string(data, 'cwd')
        if (data.config !== undefined) checkModel(this, data)
        return data.seed === undefined ? undefined : this.messages(data, 'seed')
      case 'prompt/queued':
        this.string(data, 'owner')
        return this.message(data, 'input', 'user')
      case 'prompt/withdrawn':
        this.string(data, 'reason')
        return this.count(data, 'prompt')
      case 'turn/start': return this.count(data, 'turn')
      case 'turn/end':
        this.count(data, 'turn')
        this.string(data, 'reason')
        return this.number(data, 'settled')
      case 'step/start':
        this.count(data, 'turn')
        return this.count(data, 'step')
      case 'step/end':
        this.count(data, 'turn')
        this.count(data, 'step')
        this.string(data, 'reason')
        return this.string(data, 'digest')
      case 'user/message':
        this.count(data, 'prompt')
        return this.signed(data, 'user')
      case 'context/message': return this.signed(data, 'system', 'user')
      case 'run/context': return
      case 'request/header': return checkHeader(this, data)
      case 'request/header-delta': return checkHeaderDelta(this, data)
      case 'request/dispatch': return this.dispatch(data)
      case 'request/end': return this.requestEnd(data)
      case 'assistant/message':
        this.count(data, 'dispatch')
        return this.message(data, 'message', 'assistant')
      case 'tool/start': return this.call(data)
      case 'tool/result':
        this.call(data)
        this.string(data, 'outcome')
        this.message(data, 'message', 'tool')
        if (data.owner !== undefined) this.string(data, 'owner')
        if (data.additionalContext === undefined) return
        return this.list(data, 'additionalContext').forEach((item, index) => this.signed(this.asObject(item, `additionalContext[${index}]`), 'system', 'user'))
      case 'surface/replace':
        for (const field of ['first', 'last', 'owner', 'reason']) this.string(data, field)
        return this.list(data, 'messages').forEach((item, index) => this.signed(this.asObject(item, `messages[${index}]`)))
      case 'surface/rewind':
        // Else another reader would pass over it, and rebuild something else (L1).
        if (!required) this.fail('required', `must be true for a ${type}`)
        this.count(data, 'turn')
        return ['owner', 'reason'].forEach((field) => this.string(data, field))
      default:
        if (required) throw new LogError(`its type ${JSON.stringify(type)} is required to read this log, and unknown here; use a newer headrace`, this.seq, 'LOG_UNKNOWN_REQUIRED')
    }
  }

  fail(field: string, problem: string): never {
    throw new LogError(`${field} ${problem}`, this.seq)
  }

  string(data: Fields, field: string): void {
    if (typeof data[field] !== 'string') this.fail(field, 'must be a string')
  }

  number(data: Fields, field: string): void {
    if (!Number.isFinite(data[field])) this.fail(field, 'must be a number')
  }

  text(value: unknown, field: string): void {
    const problem = textProblem(value)
    if (problem !== undefined) this.fail(field, problem)
  }

  object(data: Fields, field: string): Fields {
    return this.asObject(data[field], field)
  }

  asObject(value: unknown, field: string): Fields {
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : this.fail(field, 'must be an object')
  }

  list(data: Fields, field: string): readonly unknown[] {
    const value = data[field]
    return Array.isArray(value) ? value : this.fail(field, 'must be a list')
  }

  count(data: Fields, field: string): void {
    if (!Number.isSafeInteger(data[field]) || (data[field] as number) < 0) this.fail(field, 'must be a whole number')
  }

  private dispatch(data: Fields): void {
    this.count(data, 'boundary')
    this.string(data, 'history')
    this.string(data, 'digest')
    for (const field of ['turn', 'step', 'attempt']) if (data[field] !== undefined) this.count(data, field)
    if (data.purpose !== undefined) this.string(data, 'purpose')
    if (data.config !== undefined) checkModel(this, data)
    if (data.tools !== undefined && data.tools !== 'none') this.fail('tools', 'must be "none" or absent')
    if (data.messages === undefined) return
    this.list(data, 'messages').forEach((item, index) => this.signed(this.asObject(item, `messages[${index}]`)))
  }

  private requestEnd(data: Fields): void {
    this.count(data, 'dispatch')
    this.string(data, 'outcome')
    if (data.usage !== undefined) for (const field of USAGE_FIELDS) this.number(this.object(data, 'usage'), field)
    if (data.answer !== undefined) this.message(data, 'answer', 'assistant')
  }

  private call(data: Fields): void {
    this.count(data, 'assistant')
    this.count(data, 'index')
  }

  private signed(data: Fields, ...roles: readonly Message['role'][]): void {
    this.string(data, 'owner')
    this.message(data, 'message', ...roles)
  }

  messages(data: Fields, field: string): void {
    for (const message of this.list(data, field)) this.asMessage(message, field)
  }

  private message(data: Fields, field: string, ...roles: readonly Message['role'][]): void {
    this.asMessage(data[field], field, ...roles)
  }

  private asMessage(value: unknown, field: string, ...roles: readonly Message['role'][]): void {
    const message = this.asObject(value, field)
    const role = message.role as Message['role']
    if (roles.length > 0 ? !roles.includes(role) : !ROLES.has(role)) this.fail(`${field}.role`, `must be ${(roles.length > 0 ? roles : [...ROLES]).join(' or ')}`)
    const content = this.list(message, 'content')
    for (const block of content) this.block(this.asObject(block, `${field}.content`), role)
    if (role === 'tool' && content.length !== 1) this.fail(`${field}.content`, 'must be one tool-result block')
  }

  private block(block: Fields, role: Message['role']): void {
    const { type } = block
    if (type === 'text' && role !== 'tool') return this.string(block, 'text')
    if (type === 'image' && (role === 'user' || role === 'system')) return this.string(block, 'digest')
    if (type === 'reasoning' && role === 'assistant') return this.string(block, 'text')
    if (type === 'tool-call' && role === 'assistant') {
      this.string(block, 'id')
      this.string(block, 'name')
      return this.string(block, 'arguments')
    }
    if (type === 'tool-result' && role === 'tool') {
      this.string(block, 'id')
      this.string(block, 'name')
      for (const part of this.list(block, 'content')) this.block(this.asObject(part, 'content'), 'user')
      return
    }
    this.fail('content', `has a block of type ${JSON.stringify(type)}, which a ${role} message cannot have`)
  }
}
