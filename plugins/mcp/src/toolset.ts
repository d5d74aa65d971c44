import type { Agent, ToolDefinition } from '@headrace/agent'
import { type JsonObject, type ToolSchema, messageOf, sameValue } from '@headrace/message'
import { quoted, shownName } from '@headrace/files'
import type { Context } from 'cordis'
import type { AskRule } from './config.ts'
import type { ServerConnection } from './connection.ts'
import { McpError } from './error.ts'
import { parametersOf } from './input-schema.ts'
import { serverPart, toolNames } from './names.ts'
import { outputOf } from './result.ts'
import type { ToldTool, ToolHints } from './told.ts'

/** A tool of a server, by the name that the model has. */
export interface McpTool {
  readonly name: string
  readonly server: string
  /** The server's own name of it. */
  readonly tool: string
  /** What the server says of it, where it has told; its word, not a fact. */
  readonly hints: ToolHints
}

/** A server as its tools need it. */
export interface ToolServer {
  readonly connection: ServerConnection
  /** Its part of the tools' names. */
  readonly safe: string
}

interface Entry {
  readonly told: ToldTool
  readonly remove: () => void
}

/**
 * The tools that the model has. What a server told last stands, whatever becomes of the server; for a session that goes on, what its log
 * has of a server that has told nothing yet.
 */
export class Toolset {
  private readonly ctx: Context
  private readonly servers: readonly ToolServer[]
  private readonly rule: AskRule
  private readonly warn: (problem: string) => void
  /** By server, by the model's name. */
  private readonly entries = new Map<ToolServer, Map<string, Entry>>()
  /** Tools that stand in logs, of servers that have told nothing yet: the calls that take them away. */
  private readonly recorded = new Map<ToolServer, Set<() => void>>()
  private readonly known = new WeakSet<object>()

  constructor(ctx: Context, servers: readonly ToolServer[], rule: AskRule, warn: (problem: string) => void) {
    this.ctx = ctx
    this.servers = servers
    this.rule = rule
    this.warn = warn
    ctx.effect(() => () => {
      for (const removals of this.recorded.values()) for (const remove of removals) remove()
      this.recorded.clear()
    }, 'tools of logs')
  }

  get(name: string): McpTool | undefined {
    for (const [server, entries] of this.entries) {
      const entry = entries.get(name)
      if (entry) return { name, server: server.connection.name, tool: entry.told.name, hints: entry.told.hints }
    }
    return undefined
  }

  list(): readonly McpTool[] {
    return [...this.entries.values()].flatMap((entries) => [...entries.keys()]).sort().map((name) => this.get(name)!)
  }

  /** Takes over the list that a server sent, in one frame: no boundary sees a part of it. What did not change stays as it is. */
  update(server: ToolServer): void {
    for (const remove of this.recorded.get(server) ?? []) remove()
    this.recorded.delete(server)
    const told = server.connection.told?.tools ?? []
    const names = toolNames(server.safe, told.map(({ name }) => name))
    const wanted = new Map(names.map((name, index) => [name, told[index]!]))
    const entries = this.entries.get(server) ?? new Map<string, Entry>()
    this.entries.set(server, entries)
    for (const [name, entry] of entries) {
      if (sameValue(entry.told, wanted.get(name))) continue
      entry.remove()
      entries.delete(name)
    }
    for (const [name, tool] of wanted) {
      if (entries.has(name)) continue
      try {
        entries.set(name, { told: tool, remove: this.ctx.tools.define(this.definition(server, name, tool.description, tool.schema)) })
      } catch (error) {
        this.warn(`the MCP server ${quoted(server.connection.name)}: its tool ${quoted(tool.name)} is left out: ${messageOf(error)}`)
      }
    }
  }

  /** Ahead of a life's first boundary: what its log has of servers that have told nothing yet stays. */
  remember(agent: Agent): void {
    if (this.known.has(agent.session)) return
    this.known.add(agent.session)
    const header = agent.session.requestHeader()
    for (const tool of header?.tools ?? []) {
      if (header?.owners?.tools?.[tool.name] !== `${agent.plugin}/${tool.name}`) continue
      const server = this.servers.find(({ safe }) => safe === serverPart(tool.name))
      if (server && !server.connection.told) this.keep(server, tool, agent)
    }
  }

  private keep(server: ToolServer, { name, description, parameters }: ToolSchema, agent: Agent): void {
    try {
      const remove = agent.ctx.tools.define(this.definition(server, name, description, parameters))
      const removals = this.recorded.get(server) ?? new Set()
      this.recorded.set(server, removals.add(remove))
    } catch (error) {
      agent.report('agent/pre-step', messageOf(error))
    }
  }

  private definition(server: ToolServer, name: string, description: string, schema: JsonObject): ToolDefinition<JsonObject> {
    const { connection } = server
    const { timeout } = connection.config
    return {
      name, description, parameters: parametersOf(schema),
      ...(timeout !== undefined && { timeout }),
      ask: (input) => (this.asks(server, name) ? `Run ${name} of the MCP server ${quoted(connection.name)} with ${shownName(JSON.stringify(input))}?` : undefined),
      execute: async (input, { agent, signal }) => {
        // One that the log has: the server is asked for its list first, which says by what name it has it.
        if (!connection.told) await connection.connected(signal)
        const tool = this.get(name)
        if (!tool) throw new McpError('TOOL_GONE', `The MCP server ${quoted(connection.name)} has no tool ${name} any more.`)
        return outputOf(await connection.request('tools/call', { name: tool.tool, arguments: input }, { signal }), agent)
      },
    }
  }

  private asks({ connection }: ToolServer, name: string): boolean {
    const rule = connection.config.ask ?? this.rule
    return rule === 'always' || (rule === 'writes' && this.get(name)?.hints.readOnlyHint !== true)
  }
}
