import type { Digest } from './digest.ts'
import { HeadraceError } from './error.ts'
import { type JsonObject, copyJson } from './json.ts'

/** A text. */
export interface TextBlock {
  readonly type: 'text'
  readonly text: string
  /** What the provider wants to have back with the block, e.g. a signature. */
  readonly metadata?: JsonObject
}

/** What a model thought before it answered, where its provider tells it. */
export interface ReasoningBlock {
  readonly type: 'reasoning'
  readonly text: string
  readonly metadata?: JsonObject
}

/** A call that the model asks for. */
export interface ToolCallBlock {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  /** The model's own text, as it came; it may not be JSON. */
  readonly arguments: string
  readonly metadata?: JsonObject
}

/** An image, by the digest of its bytes. */
export interface ImageBlock {
  readonly type: 'image'
  /** SHA-256 of the bytes, which the session's store holds as a blob. */
  readonly digest: Digest
  /** e.g. `image/png` */
  readonly mediaType: string
}

/** A file, by the digest of its bytes. */
export interface FileBlock {
  readonly type: 'file'
  /** SHA-256 of the bytes, which the session's store holds as a blob. */
  readonly digest: Digest
  /** e.g. `application/pdf` */
  readonly mediaType: string
  readonly name?: string
}

/** What people, apps and tools say: everything but what a model writes. */
export type ContentBlock = TextBlock | ImageBlock | FileBlock

/** What a tool gave, or why it did not. */
export interface ToolResultBlock {
  readonly type: 'tool-result'
  /** `id` of the call it answers. */
  readonly id: string
  readonly name: string
  readonly content: readonly ContentBlock[]
  readonly error?: true
}

/** A part of a message. */
export type Block = TextBlock | ReasoningBlock | ToolCallBlock | ToolResultBlock | ImageBlock | FileBlock

/** Said by the app. */
export interface SystemMessage {
  readonly role: 'system'
  readonly content: readonly ContentBlock[]
}

/** Said by the user, or by a plugin on the user's side. */
export interface UserMessage {
  readonly role: 'user'
  readonly content: readonly ContentBlock[]
}

/** What the model said. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly (TextBlock | ReasoningBlock | ToolCallBlock)[]
}

/** The result of one call. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly content: readonly [ToolResultBlock]
}

/** A message of a request. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage
/** Who a message is from, in the words of the providers. */
export type Role = Message['role']

/** A message that a plugin may add: `system` or `user`, of text, image and file blocks. */
export type Contribution = SystemMessage | UserMessage

/** Content as people write it: a string is one text block. */
export type ContentInput = string | readonly (string | ContentBlock)[]
/**
 * A contribution as people write it: a text, or an object. Without a role it is a `system` message; with a key it is
 * signed `plugin/key`.
 */
export type ContributionInput = string | { readonly key?: string; readonly role?: 'system' | 'user'; readonly content: ContentInput }

/** A message of the wrong shape. */
export class MessageError extends HeadraceError {
  constructor(at: string, problem: string) {
    super('MESSAGE_INVALID', `${at} ${problem}`)
  }
}

/** Called with the place of a text that had a lone surrogate, after it was replaced by U+FFFD. */
export type OnRepair = (at: string) => void

/** Text, images and files in their one representation: an array of blocks, no empty text, keys in our order, well-formed, frozen. */
export function toContent(input: unknown, at: string, onRepair?: OnRepair): readonly ContentBlock[] {
  const items: readonly unknown[] = typeof input === 'string' ? [input] : Array.isArray(input) ? input : refuse(at, 'must be a string or a list of text, image and file blocks')
  // Before it is walked: a list with holes may say that it is four thousand million long.
  const keys = Object.keys(items)
  if (keys.length !== items.length) {
    const hole = keys.findIndex((key, index) => key !== `${index}`)
    refuse(`${at}[${hole < 0 ? keys.length : hole}]`, 'is a hole, or no element of the list')
  }
  // Not `map`, which passes over holes.
  const blocks = Array.from(items, (item, index) => toContentBlock(item, typeof input === 'string' ? at : `${at}[${index}]`, onRepair))
  return copyJson(blocks.filter((block) => block.type !== 'text' || block.text !== ''), at)
}

function toContentBlock(item: unknown, at: string, onRepair?: OnRepair): ContentBlock {
  if (typeof item === 'string') return { type: 'text', text: toWellFormed(item, at, onRepair) }
  const block = fields(item, at)
  if (block.type === 'text') {
    only(block, ['type', 'text', 'metadata'], at)
    const text = toWellFormed(string(block.text, `${at}.text`), at, onRepair)
    const { metadata } = block
    return metadata === undefined ? { type: 'text', text } : { type: 'text', text, metadata: copyJson(fields(metadata, `${at}.metadata`) as JsonObject, `${at}.metadata`) }
  }
  if (block.type === 'image') {
    only(block, ['type', 'digest', 'mediaType'], at)
    return { type: 'image', ...blobFields(block, at) }
  }
  if (block.type === 'file') {
    only(block, ['type', 'digest', 'mediaType', 'name'], at)
    const file = { type: 'file', ...blobFields(block, at) } as const
    return block.name === undefined ? file : { ...file, name: toWellFormed(string(block.name, `${at}.name`), at, onRepair) }
  }
  return refuse(at, `must be a text, an image or a file block, not ${shown(block.type)}`)
}

function blobFields(block: Record<string, unknown>, at: string): { readonly digest: Digest; readonly mediaType: string } {
  const digest = string(block.digest, `${at}.digest`)
  if (!/^[0-9a-f]{64}$/.test(digest)) refuse(`${at}.digest`, 'must be 64 lower-case hex digits; store the bytes with putBlob() to get it')
  return { digest, mediaType: string(block.mediaType, `${at}.mediaType`) }
}

/** What {@link toContribution} returned: only these are known to be in the one representation. */
const contributions = new WeakSet<object>()

/**
 * A contribution in its one representation, frozen; without a role it is a `system` message. Its key is no part of it: see {@link keyOf}.
 *
 * @throws MessageError for any other role or block
 */
export function toContribution(input: unknown, at: string, onRepair?: OnRepair): Contribution {
  if (isContribution(input)) return input
  if (typeof input === 'string') return contribution('system', toContent(input, at, onRepair))
  const message = fields(input, at)
  only(message, ['key', 'role', 'content'], at)
  const { role = 'system' } = message
  if (role !== 'system' && role !== 'user') refuse(`${at}.role`, `must be "system" or "user", not ${shown(role)}`)
  return contribution(role, toContent(message.content, `${at}.content`, onRepair))
}

/**
 * The key that a contribution is to be signed with; `undefined` where it has none.
 *
 * @throws MessageError for one that is no name
 */
export function keyOf(input: unknown, at: string): string | undefined {
  if (typeof input !== 'object' || input === null || isContribution(input)) return undefined
  const { key } = input as { readonly key?: unknown }
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || !key.isWellFormed()) refuse(`${at}.key`, `must be a name, not ${shown(key)}`)
  return key
}

function contribution(role: Contribution['role'], content: Contribution['content']): Contribution {
  const message = copyJson<Contribution>({ role, content })
  contributions.add(message)
  return message
}

function isContribution(value: unknown): value is Contribution {
  return typeof value === 'object' && value !== null && contributions.has(value)
}

/** True where there is nothing for a model to read: no image or file, and no text but white space. */
export function isBlank(message: { readonly content: readonly Block[] }): boolean {
  return message.content.every((block) => block.type === 'text' && block.text.trim() === '')
}

/** The text blocks of a message, joined. */
export function textOf(message: { readonly content: readonly Block[] }): string {
  return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

/** The tool calls of an assistant message, in order. */
export function callsOf(message: Message): readonly ToolCallBlock[] {
  return message.role === 'assistant' ? message.content.filter((block) => block.type === 'tool-call') : []
}

/** Replaces lone surrogates, and says so. */
export function toWellFormed(text: string, at: string, onRepair?: OnRepair): string {
  if (text.isWellFormed()) return text
  onRepair?.(at)
  return text.toWellFormed()
}

function fields(value: unknown, at: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(at, `must be an object, not ${value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value}`)
  return value as Record<string, unknown>
}

function only(value: Record<string, unknown>, allowed: readonly string[], at: string): void {
  const unknown = Object.keys(value).find((key) => !allowed.includes(key))
  if (unknown !== undefined) refuse(at, `has an unknown field ${JSON.stringify(unknown)}; it may have ${allowed.join(', ')}`)
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : value === undefined ? 'absent' : `a ${typeof value}`
}

function string(value: unknown, at: string): string {
  return typeof value === 'string' ? value : refuse(at, `must be a string, not ${typeof value}`)
}

function refuse(at: string, problem: string): never {
  throw new MessageError(at, problem)
}
