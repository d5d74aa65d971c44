import { NO_USAGE, type Message } from '@headrace/message'
import { LogError } from './error.ts'
import { DEEP, deepPlace, textProblem } from './well-formed.ts'

export type Fields = Record<string, unknown>

const USAGE_FIELDS = Object.keys(NO_USAGE)
const ROLES: ReadonlySet<unknown> = new Set<Message['role']>(['system', 'user', 'assistant', 'tool'])
const BLOCKS: ReadonlySet<unknown> = new Set(['text', 'reasoning', 'tool-call', 'tool-result', 'image', 'file'])
const DIGEST = /^[0-9a-f]{64}$/

/** Checks the fields of one event; a failure names its seq and field. */
export class FieldCheck {
  readonly seq: number

  constructor(seq: number) {
    this.seq = seq
  }

  /** The event is not what an event can be. */
  fail(field: string, problem: string): never {
    throw new LogError(`${field} ${problem}`, this.seq)
  }

  /** The event may be as it should; who reads it is older than who wrote it. */
  tooNew(what: string): never {
    throw new LogError(`${what}, which is unknown here: the log was made by a newer headrace; use that, or a newer one`, this.seq, 'LOG_UNKNOWN_REQUIRED')
  }

  string(data: Fields, field: string): void {
    if (typeof data[field] !== 'string') this.fail(field, 'must be a string')
  }

  all(data: Fields, ...fields: readonly string[]): void {
    for (const field of fields) this.string(data, field)
  }

  /** Strings that may be absent. */
  strings(data: Fields, ...fields: readonly string[]): void {
    for (const field of fields) if (data[field] !== undefined) this.string(data, field)
  }

  number(data: Fields, field: string): void {
    if (!Number.isFinite(data[field])) this.fail(field, 'must be a number')
  }

  count(data: Fields, field: string): void {
    if (!Number.isSafeInteger(data[field]) || (data[field] as number) < 0) this.fail(field, 'must be a whole number')
  }

  /** The texts and the nesting of every field of an event. */
  texts(event: Fields): void {
    for (const field in event) {
      const value = event[field]
      if (typeof value === 'number' || value === true) continue
      if (!field.isWellFormed()) this.fail('a field', 'has half a character in its name')
      const problem = textProblem(value, 2)
      if (problem !== undefined) this.fail(problem === DEEP ? field + deepPlace(value, 2) : field, problem)
    }
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

  /** A list of objects that may be absent, each looked at. */
  items(data: Fields, field: string, look: (item: Fields) => void): void {
    if (data[field] === undefined) return
    this.list(data, field).forEach((item, index) => look(this.asObject(item, `${field}[${index}]`)))
  }

  names(data: Fields, field: string): void {
    if (!this.list(data, field).every((name) => typeof name === 'string')) this.fail(field, 'must be names')
  }

  /** SHA-256 as 64 lower-case hex digits, of each of a list that may be absent. */
  digests(data: Fields, field: string): void {
    if (data[field] === undefined) return
    for (const digest of this.list(data, field)) if (typeof digest !== 'string' || !DIGEST.test(digest)) this.fail(field, 'must be SHA-256 digests')
  }

  usage(data: Fields): void {
    if (data.usage === undefined) return
    const usage = this.object(data, 'usage')
    for (const field of USAGE_FIELDS) this.number(usage, field)
    if (usage.reasoning !== undefined) this.number(usage, 'reasoning')
  }

  call(data: Fields): void {
    this.count(data, 'assistant')
    this.count(data, 'index')
  }

  signed(data: Fields, ...roles: readonly Message['role'][]): void {
    this.string(data, 'owner')
    this.message(data, 'message', ...roles)
  }

  messages(data: Fields, field: string): void {
    for (const message of this.list(data, field)) this.asMessage(message, field)
  }

  message(data: Fields, field: string, ...roles: readonly Message['role'][]): void {
    this.asMessage(data[field], field, ...roles)
  }

  private asMessage(value: unknown, field: string, ...roles: readonly Message['role'][]): void {
    const message = this.asObject(value, field)
    const role = message.role as Message['role']
    if (typeof role === 'string' && !ROLES.has(role)) this.tooNew(`${field} has the role ${JSON.stringify(role)}`)
    if (roles.length > 0 ? !roles.includes(role) : !ROLES.has(role)) this.fail(`${field}.role`, `must be ${(roles.length > 0 ? roles : [...ROLES]).join(' or ')}`)
    const content = this.list(message, 'content')
    for (const block of content) this.block(this.asObject(block, `${field}.content`), role)
    if (role === 'tool' && content.length !== 1) this.fail(`${field}.content`, 'must be one tool-result block')
  }

  private block(block: Fields, role: Message['role']): void {
    const { type } = block
    if (type === 'text' && role !== 'tool') return this.string(block, 'text')
    if ((type === 'image' || type === 'file') && (role === 'user' || role === 'system')) {
      this.string(block, 'digest')
      return this.strings(block, 'mediaType', 'name')
    }
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
    if (typeof type === 'string' && !BLOCKS.has(type)) this.tooNew(`it has a block of type ${JSON.stringify(type)}`)
    this.fail('content', `has a block of type ${JSON.stringify(type)}, which a ${role} message cannot have`)
  }
}
