import { quoted } from '@headrace/files'
import type { ServerConnection } from './connection.ts'
import { McpError } from './error.ts'

/** A server, and its part of the model's tool names. */
export interface ServerEntry {
  readonly connection: ServerConnection
  readonly safe: string
}

/** Finds a server by its configured name, or the one in the model's tool names. @throws McpError `SERVER_UNKNOWN` */
export function serverNamed(servers: readonly ServerEntry[], name: string): ServerEntry {
  const found = servers.find(({ connection, safe }) => connection.name === name || safe === name)
  if (found) return found
  throw new McpError('SERVER_UNKNOWN', `There is no MCP server ${quoted(name)}. There is: ${servers.map(({ safe }) => safe).join(', ')}.`)
}
