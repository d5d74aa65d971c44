import type { Agent, ToolDefinition } from '@headrace/agent'
import { type JsonObject, messageOf, toWellFormed } from '@headrace/message'
import { cutAfter, oneLine, quoted } from '@headrace/files'
import { McpError } from './error.ts'
import { blocksOf, resultOf } from './result.ts'
import { type ServerEntry, serverNamed } from './servers.ts'
import { fieldsOf } from './told.ts'

/** Name of the tool that reads resources; without `__`, it is no server's. */
export const RESOURCE_TOOL = 'mcp_resource'
/** How many references of one prompt are followed. */
const MAX_REFERENCES = 10
/** Resources of one list. */
const MAX_LISTED = 200

/** Arguments of that tool. */
export interface ResourceInput {
  readonly server?: string
  readonly uri?: string
}

/** The tool that reads and lists resources: the same description, whatever servers there are. */
export function resourceTool(servers: readonly ServerEntry[], maxOutput: number): ToolDefinition<ResourceInput> {
  return {
    name: RESOURCE_TOOL,
    description: 'Reads a resource of an MCP server by its URI. Without a URI it lists the resources of the server, and without a server those of all. A user names one as @server:uri.',
    parameters: {
      type: 'object',
      properties: {
        server: { type: 'string', description: 'The name of the server.' },
        uri: { type: 'string', description: 'The URI of the resource.' },
      },
      additionalProperties: false,
    },
    async execute({ server, uri }, { signal }) {
      if (uri === undefined) return listResources(server === undefined ? servers : [serverNamed(servers, server)], maxOutput, signal)
      if (server === undefined) throw new McpError('SERVER_UNKNOWN', 'Give the server that has this resource.')
      const contents = await readResource(serverNamed(servers, server), uri, signal)
      return resultOf({ content: contents.map((resource) => ({ type: 'resource', resource })) })
    },
  }
}

async function readResource({ connection }: ServerEntry, uri: string, signal: AbortSignal): Promise<readonly unknown[]> {
  const { contents } = fieldsOf(await connection.request('resources/read', { uri: uri.toWellFormed() }, { signal }))
  if (!Array.isArray(contents) || contents.length === 0) throw new McpError('RESULT_INVALID', `The MCP server ${quoted(connection.name)} gave no contents.`)
  return contents as readonly unknown[]
}

/** Lines that name resources and templates of them. */
async function listResources(servers: readonly ServerEntry[], max: number, signal: AbortSignal): Promise<string> {
  const lines = await Promise.all(servers.map(async ({ connection, safe }) => {
    if (connection.told && !connection.told.resources) return []
    const list = async (method: string, key: string): Promise<readonly unknown[]> => {
      const found = fieldsOf(await connection.request(method, {}, { signal }))[key]
      return Array.isArray(found) ? found as readonly unknown[] : []
    }
    try {
      // Not every server with resources has templates.
      const templates = list('resources/templates/list', 'resourceTemplates').catch(() => [])
      const all = [...await list('resources/list', 'resources'), ...await templates].slice(0, MAX_LISTED)
      return [`Server ${safe}:`, ...all.map((item) => `- ${resourceLine(fieldsOf(item))}`), ...(all.length === 0 ? ['(none)'] : [])]
    } catch (error) {
      return [`Server ${safe}: ${messageOf(error)}`]
    }
  }))
  const text = lines.flat().join('\n')
  if (text === '') return 'There are no resources.'
  return text.length <= max ? text : `${cutAfter(text, max)}\n[The list goes on. Ask for one server.]`
}

function resourceLine({ uri, uriTemplate, name, mimeType, size, description }: JsonObject | Readonly<Record<string, unknown>>): string {
  const facts = [mimeType, typeof size === 'number' ? `${size} bytes` : undefined].filter((fact) => typeof fact === 'string').join(', ')
  const parts = [uri ?? uriTemplate, typeof name === 'string' && name !== uri ? name : undefined, facts && `(${facts})`]
  const line = parts.filter((part) => typeof part === 'string' && part !== '').join(' ')
  return oneLine(toWellFormed(typeof description === 'string' ? `${line}: ${description}` : line, 'line')).slice(0, 500)
}

/** A resource that a prompt names. */
export interface Reference {
  readonly server: ServerEntry
  readonly uri: string
}

/** `@server:uri` in a text, each once; punctuation that ends a sentence is not part of the URI. */
export function referencesIn(text: string, servers: readonly ServerEntry[]): readonly Reference[] {
  const found = new Map<string, Reference>()
  for (const [, name, rest] of text.matchAll(/(?<![\w@.])@([^\s@:/]{1,64}):(\S{1,2000})/gu)) {
    const server = servers.find(({ connection, safe }) => connection.name === name || safe === name)
    const uri = rest!.replace(/[.,;:!?)\]}'"»”’]+$/u, '')
    if (server && uri !== '' && found.size < MAX_REFERENCES) found.set(`${name!} ${uri}`, { server, uri })
  }
  return [...found.values()]
}

/** The content of the references of a prompt, as blocks of one message. A failure is told in its place. */
export async function referencedBlocks(references: readonly Reference[], agent: Agent, limit: number, signal: AbortSignal) {
  const blocks = await Promise.all(references.map(async ({ server, uri }) => {
    const at = `@${server.safe}:${oneLine(uri)}`
    try {
      const contents = await blocksOf(await readResource(server, uri, signal), agent, Math.floor(limit / references.length))
      return [{ type: 'text', text: `The user refers to ${at}. Its contents:\n` } as const, ...contents]
    } catch (error) {
      signal.throwIfAborted()
      return [{ type: 'text', text: `The user refers to ${at}, which cannot be read: ${messageOf(error)}` } as const]
    }
  }))
  return blocks.flat()
}
