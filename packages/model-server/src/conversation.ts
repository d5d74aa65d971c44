import { type Call, type Reply, type Script, ScriptError } from './reply.ts'
import type { ChatBody, ChatMessage } from './protocol.ts'

/** Options of functions that split a conversation into turns. */
export interface TurnOptions {
  /**
   * Which user messages begin a turn. Without it: those that follow an answer without tool calls. A plugin's reminder
   * between tool results, or behind everything, therefore begins none; nor does a prompt after a turn that was cut off
   * among its tools, for which a script needs this.
   */
  readonly prompt?: RegExp
}

/** The turn a conversation is in. */
export interface Turn {
  /** From 1. */
  readonly number: number
  /** How many answers the turn has already, from 0: which step is asked for. */
  readonly step: number
  /** From the user message that began it. */
  readonly messages: readonly ChatMessage[]
}

/** The result of a tool call, with the call it answers. */
export interface ToolResult {
  readonly id: string
  readonly name: string
  /** The call's arguments, as they were sent. */
  readonly arguments: string
  readonly text: string
}

/** The text of a message, its text parts joined; empty if it has none. */
export function textOf(message: ChatMessage): string {
  const { content } = message
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.type === 'text' ? part.text ?? '' : '').join('')
}

/** A system message that went framed, as the user's, to a server that takes none in mid-conversation. */
const FRAMED = /^<system>\n([^]*)\n<\/system>$/

/**
 * What is said in a message by one side, part by part: of a user's what is not framed, of the system's what is, too; nothing where that
 * side says nothing. A provider that wants the roles to take turns gets two prompts in a row as parts of one message.
 */
function partsBy(message: ChatMessage, role: ChatMessage['role']): readonly string[] {
  if (message.role !== 'user' || (role !== 'user' && role !== 'system')) return message.role === role ? [textOf(message)] : []
  const { content } = message
  const texts = typeof content === 'string' ? [content] : content.flatMap(({ type, text = '' }) => type === 'text' ? [text] : [])
  if (role === 'system') return texts.flatMap((text) => FRAMED.exec(text)?.[1] ?? [])
  const own = texts.filter((text) => !FRAMED.test(text))
  // One of an image alone is a user's, too.
  return own.length === 0 && texts.length === 0 ? [''] : own
}

function saidBy(message: ChatMessage, role: ChatMessage['role']): string | undefined {
  const parts = partsBy(message, role)
  return parts.length === 0 ? undefined : parts.join(role === 'system' ? '\n' : '')
}

/**
 * What the user said last: the last part of the last user message, empty if there is none. A plugin may have added it: {@link said} finds
 * what a user said before.
 */
export function lastUser(body: ChatBody): string {
  return body.messages.map((message) => partsBy(message, 'user')).findLast((parts) => parts.length > 0)?.at(-1) ?? ''
}

/**
 * The match in the latest message of that role that matches, e.g. `said(body, /read (\S+)/)?.[1]`, its latest part first; a framed system
 * message is the system's.
 */
export function said(body: ChatBody, pattern: RegExp, role: ChatMessage['role'] = 'user'): RegExpMatchArray | undefined {
  for (const message of body.messages.toReversed()) {
    for (const text of [...partsBy(message, role).toReversed(), saidBy(message, role)]) {
      const match = text?.match(pattern)
      if (match) return match
    }
  }
  return undefined
}

/** The turn that the next answer belongs to. */
export function turnOf(body: ChatBody, { prompt }: TurnOptions = {}): Turn {
  let number = 0
  let start = 0
  let answered = false
  for (const [index, message] of body.messages.entries()) {
    if (message.role === 'assistant') answered = !message.tool_calls?.length
    const text = saidBy(message, 'user')
    if (text === undefined || !(prompt ? text.search(prompt) !== -1 : number === 0 || answered)) continue
    number++
    start = index
    answered = false
  }
  const messages = body.messages.slice(start)
  return { number: Math.max(1, number), step: messages.filter(({ role }) => role === 'assistant').length, messages }
}

/** The tool results of the present turn, in order. */
export function toolResults(body: ChatBody, options?: TurnOptions): ToolResult[] {
  const { messages } = turnOf(body, options)
  const calls = new Map(messages.flatMap((message) => message.role === 'assistant' ? message.tool_calls ?? [] : []).map((call) => [call.id, call]))
  return messages.flatMap((message) => {
    if (message.role !== 'tool') return []
    const call = calls.get(message.tool_call_id)?.function
    return [{ id: message.tool_call_id, name: call?.name ?? '', arguments: call?.arguments ?? '', text: textOf(message) }]
  })
}

/**
 * A script of one turn: its first reply for the first step, and so on. A step without a reply is an error (500) that says so.
 *
 * @example steps([{ toolCalls: [{ name: 'read', arguments: { path: 'a.js' } }] }, (body) => `It says ${toolResults(body)[0]?.text}`])
 */
export function steps(replies: readonly (Reply | string | Script)[], options?: TurnOptions): Script {
  return (body, call) => pick(replies, turnOf(body, options).step, 'step', body, call)
}

/** A script of many turns: its first for the first turn, and so on; the entries may be {@link steps}. */
export function turns(scripts: readonly (Reply | string | Script)[], options?: TurnOptions): Script {
  return (body, call) => pick(scripts, turnOf(body, options).number - 1, 'turn', body, call)
}

function pick(list: readonly (Reply | string | Script)[], index: number, what: string, body: ChatBody, call: Call): ReturnType<Script> {
  const entry = list[index]
  if (entry === undefined) throw new ScriptError(`the script has ${list.length} ${what}s and is asked for ${what} ${index + 1}; give it one more`)
  return typeof entry === 'function' ? entry(body, call) : entry
}
