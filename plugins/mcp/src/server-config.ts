import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { expandHome, quoted, reasonOf } from '@headrace/files'
import { messageOf, nearest } from '@headrace/message'
import type { AskRule } from './config.ts'
import { McpError } from './error.ts'

interface Common {
  /** As it is configured. */
  readonly name: string
  readonly ask?: AskRule
  /** Milliseconds that one call may take. Default: that of the tools service. */
  readonly timeout?: number
}

/** A server that is started as a process. */
export interface StdioServer extends Common {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  /** In addition to the few variables that every server gets. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A server that is reached by HTTP; `auto` tries the streamable protocol, then the older one. */
export interface HttpServer extends Common {
  readonly kind: 'http' | 'sse' | 'auto'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly oauth: OAuthConfig | false
}

/** The client's registration, where it is not registered dynamically. */
export interface OAuthConfig {
  readonly clientId?: string
  readonly clientSecret?: string
  readonly scope?: string
}

export type ServerConfig = StdioServer | HttpServer

/** A server's config, or nothing where it is switched off; and warnings about it. */
export interface ReadServer {
  readonly server?: ServerConfig
  readonly warnings: readonly string[]
}

const KEYS = {
  stdio: ['type', 'command', 'args', 'env', 'cwd', 'disabled', 'timeout', 'ask'],
  http: ['type', 'url', 'headers', 'oauth', 'disabled', 'timeout', 'ask'],
} as const
/** Keys of other clients that are ignored here. */
const SILENT: readonly string[] = ['description', 'name', 'icon', 'tools', '$schema']
const TYPES: Readonly<Record<string, HttpServer['kind']>> = { http: 'http', 'streamable-http': 'http', streamableHttp: 'http', sse: 'sse' }

/**
 * One entry of `mcpServers`, with its variables read. It quotes no value: that may be a secret.
 *
 * @param folder what a relative `cwd` is relative to
 * @throws McpError `SERVER_CONFIG`
 */
export function readServer(name: string, value: unknown, env: NodeJS.ProcessEnv, folder: string): ReadServer {
  const at = `the MCP server ${quoted(name)}`
  if (!isMap(value)) throw wrong(at, 'must be a map, such as { command: npx, args: [...] } or { url: https://... }')
  if (value.disabled === true) return { warnings: [] }
  const isHttp = value.url !== undefined && value.command === undefined
  if (!isHttp && value.command === undefined) throw wrong(at, 'needs a command or a url')
  const known = isHttp ? KEYS.http : KEYS.stdio
  const strange = Object.keys(value).filter((key) => !(known as readonly string[]).includes(key) && !SILENT.includes(key))
  const warnings = strange.map((key) => `${at} has a key ${quoted(key)} that is not known${nearest(key, known)}; it is left out`)
  const read = expand(value, env, at) as Record<string, unknown>
  const common = { name, ...askOf(read.ask, at), ...timeoutOf(read.timeout, at) }
  return { server: isHttp ? httpServer(read, common, at) : stdioServer(read, common, at, folder), warnings }
}

function stdioServer(read: Record<string, unknown>, common: Common, at: string, folder: string): StdioServer {
  const { command, args = [], cwd, type } = read
  if (type !== undefined && type !== 'stdio') throw wrong(at, 'has a command, so that its type is stdio')
  if (typeof command !== 'string' || command.trim() === '') throw wrong(at, 'has a command that is no text')
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string' || typeof arg === 'number')) throw wrong(at, 'has args that are no list of texts')
  if (cwd !== undefined && typeof cwd !== 'string') throw wrong(at, 'has a cwd that is no path')
  return {
    ...common, kind: 'stdio', command: expandHome(command), args: args.map(String), env: textsOf(read.env, 'env', at),
    ...(cwd !== undefined && { cwd: resolve(folder, expandHome(cwd)) }),
  }
}

function httpServer(read: Record<string, unknown>, common: Common, at: string): HttpServer {
  const { url, type, oauth } = read
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw wrong(at, 'has a url that is none of http or https')
  const kind = type === undefined ? 'auto' : typeof type === 'string' ? TYPES[type] : undefined
  if (!kind) throw wrong(at, `has a type that is none of ${Object.keys(TYPES).join(', ')}`)
  if (oauth !== undefined && typeof oauth !== 'boolean' && !isMap(oauth)) throw wrong(at, 'has oauth: false, or { clientId, clientSecret, scope }')
  const settings = isMap(oauth) ? textsOf(oauth, 'oauth', at) : {}
  const strange = Object.keys(settings).find((key) => !['clientId', 'clientSecret', 'scope'].includes(key))
  if (strange !== undefined) throw wrong(at, `has an unknown ${quoted(strange)} in oauth; there is clientId, clientSecret, scope`)
  return { ...common, kind, url, headers: textsOf(read.headers, 'headers', at), oauth: oauth === false ? false : settings }
}

function askOf(ask: unknown, at: string): { readonly ask?: AskRule } {
  if (ask === undefined) return {}
  if (ask !== 'always' && ask !== 'writes' && ask !== 'never') throw wrong(at, 'has ask: always, writes or never')
  return { ask }
}

function timeoutOf(timeout: unknown, at: string): { readonly timeout?: number } {
  if (timeout === undefined) return {}
  if (typeof timeout !== 'number' || !(timeout > 0)) throw wrong(at, 'has a timeout that is no number of milliseconds')
  return { timeout }
}

function textsOf(value: unknown, key: string, at: string): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  if (!isMap(value)) throw wrong(at, `has ${key} that are no map`)
  return Object.fromEntries(Object.entries(value).map(([name, text]) => {
    if (typeof text !== 'string' && typeof text !== 'number' && typeof text !== 'boolean') throw wrong(at, `has in ${key} a value of ${quoted(name)} that is no text`)
    return [name, String(text)]
  }))
}

/** `${NAME}` and `${NAME:-otherwise}`, as MCP clients read them. */
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function expand(value: unknown, env: NodeJS.ProcessEnv, at: string): unknown {
  if (typeof value === 'string') {
    return value.replace(VARIABLE, (_, name: string, otherwise: string | undefined) => {
      const text = env[name]
      if (text !== undefined && (text !== '' || otherwise === undefined)) return text
      if (otherwise === undefined) throw wrong(at, `needs the variable ${name}, which is not set`)
      return otherwise
    })
  }
  if (Array.isArray(value)) return value.map((item) => expand(item, env, at))
  if (!isMap(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item, env, at)]))
}

/** Servers by name, and the folder that their paths are relative to. */
export interface ServersFile {
  readonly servers: Record<string, unknown>
  readonly folder: string
}

/** What a `.mcp.json` has. @throws McpError `SERVER_CONFIG` */
export async function readServersFile(file: string, base = process.cwd()): Promise<ServersFile> {
  const path = resolve(base, expandHome(file))
  const at = `the file of MCP servers ${quoted(path)}`
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw wrong(at, `cannot be read: ${reasonOf(error)}`, error)
  })
  let parsed: unknown
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw wrong(at, `is no JSON: ${messageOf(error)}`, error)
  }
  const servers = isMap(parsed) ? parsed.mcpServers : undefined
  if (!isMap(servers)) throw wrong(at, 'has no map "mcpServers"')
  return { servers, folder: dirname(path) }
}

function wrong(at: string, problem: string, cause?: unknown): McpError {
  return new McpError('SERVER_CONFIG', `${at} ${problem}`, { cause })
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
