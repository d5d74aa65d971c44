import { createHash } from 'node:crypto'
import type { ContentBlock, ContentInput } from '@headrace/message'
import type { SessionStore } from '@headrace/session'
import { promptText } from '../body.ts'
import { invalid } from '../problem.ts'

/** What a chat of the AI SDK posts: of its messages only what is new counts. The log is the truth. */
export interface ChatBody {
  /** The session. */
  readonly id: string
  readonly trigger: 'submit-message' | 'regenerate-message'
  /** Of the message that is answered anew, or was changed. */
  readonly messageId: string | undefined
  /** The last message of the user's. */
  readonly prompt: { readonly key: string; readonly parts: readonly unknown[] } | undefined
  /** Answers to questions of the last message, where that is the assistant's. */
  readonly approvals: readonly Approval[]
}

export interface Approval {
  readonly session: string
  readonly question: number
  readonly approved: boolean
  readonly reason: string | undefined
}

/** @throws Problem */
export function chatBody(body: unknown): ChatBody {
  const { id, messages, trigger, messageId } = object(body, 'the body')
  if (typeof id !== 'string') throw invalid('id must be the session')
  if (trigger !== 'submit-message' && trigger !== 'regenerate-message') throw invalid('trigger must be submit-message or regenerate-message')
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('messages must be a list')
  if (messageId !== undefined && typeof messageId !== 'string') throw invalid('messageId must be a text')
  const list = messages.map((message) => object(message, 'a message'))
  const last = list.findLast(({ role }) => role === 'user')
  const approvals = trigger === 'submit-message' && list.at(-1)!.role === 'assistant' ? partsOf(list.at(-1)!).flatMap(approvalOf) : []
  return { id, trigger, messageId, prompt: last && { key: keyOf(last.id), parts: partsOf(last) }, approvals }
}

/** The content of a user's message; its files are kept beside the log first. @throws Problem, StoreError */
export async function contentOf(parts: readonly unknown[], store: SessionStore, session: string, maxPrompt: number): Promise<ContentInput> {
  const blocks: ContentBlock[] = []
  let length = 0
  for (const given of parts) {
    const part = object(given, 'a part')
    if (part.type === 'text') {
      if (part.text === '') continue
      const text = promptText(part.text, maxPrompt - length)
      length += text.length
      blocks.push({ type: 'text', text })
    } else if (part.type === 'file') blocks.push(await fileBlock(part, store, session))
    else throw invalid('a message of the user has parts of the types text and file')
  }
  return blocks
}

async function fileBlock(part: Record<string, unknown>, store: SessionStore, session: string): Promise<ContentBlock> {
  const { url, mediaType, filename } = part
  const data = typeof url === 'string' ? /^data:[^,]*;base64,([A-Za-z0-9+/]*={0,2})$/.exec(url)?.[1] : undefined
  if (data === undefined) throw invalid('a file is sent with its bytes, as a data: URL in base64')
  if (typeof mediaType !== 'string' || !/^[\w.+-]{1,80}\/[\w.+-]{1,80}$/.test(mediaType)) throw invalid('a file has a mediaType such as image/png')
  if (filename !== undefined && (typeof filename !== 'string' || filename.length > 200)) throw invalid('filename must be a text of up to 200 characters')
  const digest = await store.putBlob(session, Buffer.from(data, 'base64'))
  return mediaType.startsWith('image/') ? { type: 'image', digest, mediaType } : { type: 'file', digest, mediaType, ...(filename !== undefined && { name: filename }) }
}

/** A part that answers a question, by the question's id. */
function approvalOf(given: unknown): Approval[] {
  const { state, approval } = object(given, 'a part')
  if (state !== 'approval-responded') return []
  const { id, approved, reason } = object(approval, 'approval')
  const [, session, question] = /^([\w.-]{1,128})\/(\d{1,15})$/.exec(typeof id === 'string' ? id : '') ?? []
  if (session === undefined || typeof approved !== 'boolean') throw invalid('an approval has the id of its question, and approved: true or false')
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > 2_000)) throw invalid('the reason of an approval must be a text of up to 2000 characters')
  return [{ session, question: Number(question), approved, reason }]
}

/** An id of the client's as the key of a letter. */
function keyOf(id: unknown): string {
  if (typeof id !== 'string' || id === '') throw invalid('a message needs an id')
  return /^[\w.:-]{1,150}$/.test(id) ? id : createHash('sha256').update(id).digest('hex')
}

function partsOf({ parts }: Record<string, unknown>): readonly unknown[] {
  if (!Array.isArray(parts)) throw invalid('a message has a list of parts')
  return parts
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${what} must be an object`)
  return value as Record<string, unknown>
}
