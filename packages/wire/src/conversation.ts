import type { AssistantMessage, Digest, JsonObject, Message, ReasoningBlock, Request, TextBlock, ToolCallBlock } from '@headrace/message'
import { CallIds, type IdRule, toolName } from './ids.ts'
import { type Kinship, type Target, kinshipOf } from './target.ts'

/** The input of a mapping. The same input gives the same bytes. */
export interface Mapping {
  readonly request: Pick<Request, 'config' | 'system' | 'tools' | 'messages' | 'segments'> & { readonly writers?: readonly (string | undefined)[]; readonly root?: string }
  readonly target: Target
  /** Base64 of the blobs that the messages name. */
  readonly blobs: ReadonlyMap<Digest, string>
}

/** What a provider supports in a conversation. */
export interface Taking {
  readonly ids: IdRule
  /** `anywhere`: a system message in mid-conversation is sent as one. `front`: it is sent as a framed user message. */
  readonly system: 'anywhere' | 'front'
  readonly images: boolean
  /** PDF. */
  readonly files: boolean
}

/** Text of a message. */
export interface TextPart { readonly type: 'text'; readonly text: string }
/** An image or a file of a message; `data` is base64. */
export interface MediaPart { readonly type: 'media'; readonly kind: 'image' | 'file'; readonly mediaType: string; readonly data: string; readonly name?: string }
/** A part of what a user or a tool says. */
export type Part = TextPart | MediaPart

/** A call with the id and name under which it is sent. */
export interface SentCall extends Pick<ToolCallBlock, 'type' | 'arguments' | 'metadata'> { readonly id: string; readonly name: string }
/** A part of what a model said. */
export type SaidBlock = TextBlock | ReasoningBlock | SentCall

/** The result of a call, as it is sent. */
export interface SentResult {
  readonly id: string
  readonly name: string
  readonly parts: readonly Part[]
  readonly error: boolean
  /** What the provider wants to get back of the call that this answers, where the same model made the call. */
  readonly metadata?: JsonObject
}

/** A line of a conversation. `at` is the index of its (last) message in the request; a line that we add has none. */
export type Line =
  | { readonly role: 'system' | 'user'; readonly parts: readonly Part[]; readonly at: number | undefined }
  | { readonly role: 'assistant'; readonly blocks: readonly SaidBlock[]; readonly kinship: Kinship; readonly at: number | undefined }
  | { readonly role: 'results'; readonly results: readonly SentResult[]; readonly at: number }

/**
 * Inserted where a provider requires a user message: before an answer without a question, and after the last answer.
 */
export const GO_ON = 'Go on.'

/**
 * The lines of a request's messages. How one is mapped depends on what comes before it and on the target, never on what
 * follows. Empty messages are left out; `says` tells whether anything of an answer can be said to this provider.
 */
export function linesOf(
  { request, target, blobs }: Mapping,
  taking: Taking,
  says: (said: AssistantMessage, kinship: Kinship) => boolean,
): readonly Line[] {
  const ids = new CallIds(taking.ids)
  const lines: Line[] = []
  let calls: ReadonlyMap<string, SentCall> = new Map()
  for (const [at, message] of request.messages.entries()) {
    switch (message.role) {
      case 'system':
      case 'user': {
        const parts = partsOf(message, taking, blobs)
        if (parts.length > 0)
          lines.push(message.role === 'user' ? { role: 'user', parts, at } : systemLine(parts, taking, at))
        break
      }
      case 'assistant': {
        const kinship = kinshipOf(request.writers?.[at], target)
        const blocks = message.content.map((block): SaidBlock =>
          block.type === 'tool-call' ? sent(block, ids) : block,
        )
        calls = callsById(message, blocks, kinship)
        if (!says(message, kinship)) break
        if (lines.length === 0 || lines.at(-1)!.role === 'assistant')
          lines.push({ role: 'user', parts: [{ type: 'text', text: GO_ON }], at: undefined })
        lines.push({ role: 'assistant', blocks, kinship, at })
        break
      }
      case 'tool': {
        const [block] = message.content
        const call = calls.get(block.id)
        const last = lines.at(-1)
        const result: SentResult = {
          id: call?.id ?? block.id,
          name: call?.name ?? toolName(block.name),
          parts: partsOf(block, taking, blobs),
          error: block.error === true,
          ...(call?.metadata && { metadata: call.metadata }),
        }
        if (last?.role === 'results')
          lines[lines.length - 1] = { role: 'results', results: [...last.results, result], at }
        else lines.push({ role: 'results', results: [result], at })
      }
    }
  }
  return lines
}

/** The same, with a user message added where an answer is last: providers do not continue from an answer. */
export function askedLines(lines: readonly Line[]): readonly Line[] {
  const last = lines.findLast(({ role }) => role !== 'system')
  return last === undefined || last.role === 'assistant' ? [...lines, { role: 'user', parts: [{ type: 'text', text: GO_ON }], at: undefined }] : lines
}

/** Texts joined, each on a new line, for fields that accept no parts. */
export function joined(parts: readonly Part[]): string {
  return parts.map((part) => part.type === 'text' ? part.text : '').join('\n')
}

export function isBlankText(text: string): boolean {
  return text.trim() === ''
}

/** The label of an image or a file of a tool result that is sent in another message. */
export function mediaLabel(number: number): string {
  return `[attachment ${number}]`
}

function systemLine(parts: readonly Part[], { system }: Taking, at: number): Line {
  const isText = parts.every(({ type }) => type === 'text')
  if (system === 'anywhere' && isText) return { role: 'system', parts, at }
  const framed: readonly Part[] = isText
    ? [{ type: 'text', text: `<system>\n${joined(parts)}\n</system>` }]
    : [{ type: 'text', text: '<system>' }, ...parts, { type: 'text', text: '</system>' }]
  return { role: 'user', parts: framed, at }
}

type Content = Exclude<Message, AssistantMessage | { role: 'tool' }>['content']

function partsOf({ content }: { readonly content: Content }, taking: Taking, blobs: ReadonlyMap<Digest, string>): readonly Part[] {
  return content.flatMap((block): Part[] => {
    if (block.type === 'text') return isBlankText(block.text) ? [] : [{ type: 'text', text: block.text }]
    const kind = block.type
    const isTaken = kind === 'image' ? taking.images : taking.files && block.mediaType === 'application/pdf'
    const name = block.type === 'file' ? block.name : undefined
    const called = `${kind}${name === undefined ? '' : ` ${JSON.stringify(name)}`} (${block.mediaType})`
    if (!isTaken) return [{ type: 'text', text: `[an ${called} stands here, which this model cannot read]`.replace('an file', 'a file') }]
    return [{ type: 'media', kind, mediaType: block.mediaType, data: blobs.get(block.digest) ?? '', ...(name !== undefined && { name }) }]
  })
}

function sent({ type, id, name, arguments: text, metadata }: ToolCallBlock, ids: CallIds): SentCall {
  return { type, id: ids.next(id), name: toolName(name), arguments: text, ...(metadata && { metadata }) }
}

/** Keyed by the model's own ids; opaque parts of a call are sent only to the model that made them. */
function callsById(message: AssistantMessage, blocks: readonly SaidBlock[], kinship: Kinship): ReadonlyMap<string, SentCall> {
  return new Map(message.content.flatMap((block, index): [string, SentCall][] => {
    if (block.type !== 'tool-call') return []
    const { metadata: _opaque, ...call } = blocks[index] as SentCall
    return [[block.id, kinship === 'self' ? blocks[index] as SentCall : call]]
  }))
}
