import type { Agent } from '@headrace/agent'
import { type ContentBlock, messageOf, toWellFormed } from '@headrace/message'
import { quoted } from '@headrace/files'
import { McpError } from './error.ts'
import { blocksOf } from './result.ts'
import type { ServerEntry } from './servers.ts'
import { type ToldPrompt, fieldsOf } from './told.ts'

/** A prompt of a server, as a user asks for it. */
export interface Command {
  readonly server: ServerEntry
  readonly prompt: string
  /** The text after the name. */
  readonly rest: string
}

/** `/server:prompt arguments` at the start of a prompt; nothing where there is no such server. */
export function commandOf(text: string, servers: readonly ServerEntry[]): Command | undefined {
  const [, name, prompt, rest = ''] = /^\s*\/([^\s:/]{1,64}):(\S{1,200})(?:\s+([^]*))?$/u.exec(text) ?? []
  const server = servers.find(({ connection, safe }) => name !== undefined && (connection.name === name || safe === name))
  return server && prompt !== undefined ? { server, prompt, rest: rest.trim() } : undefined
}

/** The content of a command: the server's messages, as blocks of one. A failure is told in its place. */
export async function promptBlocks(
  { server, prompt, rest }: Command, agent: Agent, limit: number, signal: AbortSignal,
): Promise<readonly ContentBlock[]> {
  const { connection } = server
  const at = `the prompt ${quoted(prompt)} of the MCP server ${quoted(connection.name)}`
  try {
    await connection.connected(signal)
    const told = connection.told?.prompts ?? []
    const known = told.find(({ name }) => name === prompt) ?? told.find(({ name }) => commandName(name) === prompt)
    if (!known) throw new McpError('RESULT_INVALID', `There is none of that name. There is: ${told.map(({ name }) => commandName(name)).join(', ') || 'none'}.`)
    const given = await connection.request('prompts/get', { name: known.name, arguments: argumentsOf(known, rest) }, { signal })
    const { messages } = fieldsOf(given)
    const parts = (Array.isArray(messages) ? messages as readonly unknown[] : []).map(fieldsOf)
    const blocks = await blocksOf(parts.map(({ content }) => content), agent, limit)
    if (blocks.length === 0) throw new McpError('RESULT_INVALID', 'It is empty.')
    return [
      { type: 'text', text: `The user asks for ${at}:\n` },
      ...blocks.map((block, index) => (parts[index]!.role === 'assistant' && block.type === 'text' ? { ...block, text: `[as an answer] ${block.text}` } : block)),
    ]
  } catch (error) {
    signal.throwIfAborted()
    return [{ type: 'text', text: `The user asks for ${at}, which cannot be had: ${messageOf(error)}` }]
  }
}

/** A prompt's name as a command has it: without spaces. */
export function commandName(name: string): string {
  return toWellFormed(name, 'name').trim().replace(/\s+/gu, '-')
}

/**
 * Arguments by name (`city=Rome`, `city="New York"`) or in their order; the rest belongs to the last.
 *
 * @throws McpError for one that is missing
 */
export function argumentsOf(prompt: ToldPrompt, text: string): Record<string, string> {
  const given: Record<string, string> = {}
  const names = prompt.arguments.map(({ name }) => name)
  const free: string[] = []
  for (const [, key, quotedValue, plain] of text.matchAll(/(?:([^\s="]+)=)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/gu)) {
    const value = quotedValue === undefined ? plain! : quotedValue.replace(/\\(.)/gu, '$1')
    if (key !== undefined && names.includes(key)) given[key] = value
    else free.push(key === undefined ? value : `${key}=${value}`)
  }
  const open = names.filter((name) => !Object.hasOwn(given, name))
  for (const [index, name] of open.entries()) {
    const value = index === open.length - 1 ? free.slice(index).join(' ') : free[index]
    if (value !== undefined && value !== '') given[name] = value
  }
  const missing = prompt.arguments.filter(({ name, required }) => required && !Object.hasOwn(given, name)).map(({ name }) => name)
  if (missing.length > 0) throw new McpError('RESULT_INVALID', `It needs ${missing.map((name) => `${name}=…`).join(' ')}.`)
  return given
}
