import type { Agent, ToolDefinition } from '@headrace/agent'
import { type JsonObject, messageOf, sameValue } from '@headrace/message'
import { quoted, shownName } from '@headrace/files'
import type { Context } from 'cordis'
import type { AskRule, Config } from './config.ts'
import { McpError } from './error.ts'
import { parametersOf } from './input-schema.ts'
import { serverPart, toolNames } from './names.ts'
import { RESOURCE_TOOL, type ResourceInput, resourceTool } from './resources.ts'
import { resultOf } from './result.ts'
import type { ServerEntry } from './servers.ts'
import type { ToldTool, ToolHints } from './told.ts'

/** A tool of a server, by the model's name for it. */
export interface McpTool {
  readonly name: string
  readonly server: string
  /** The server's own name of it. */
  readonly tool: string
  /** The server's hints about it, where known: claims, not facts. */
  readonly hints: ToolHints
}

interface Entry {
  readonly told: ToldTool
  readonly remove: () => void
}

/**
 * The tools that the model has. A server's last list is kept whatever happens to the server; a resumed session has the
 * tools of its log for servers that have not sent a list yet.
 */
export class Toolset {
  private readonly ctx: Context
  private readonly servers: readonly ServerEntry[]
  private readonly rule: AskRule
  private readonly resources: ToolDefinition<ResourceInput>
  private readonly warn: (problem: string) => void
  /** By server, by the model's name. */
  private readonly entries = new Map<ServerEntry, Map<string, Entry>>()
  /** Tools from logs, of servers that have not sent a list yet, with the calls that remove them. */
  private readonly recorded = new Map<ServerEntry, Set<() => void>>()
  /** The tool that reads resources, where a server has some; from logs until all servers have sent their lists. */
  private reads: (() => void) | undefined
  private readonly recordedReads = new Set<() => void>()

  constructor(ctx: Context, servers: readonly ServerEntry[], config: Pick<Config, 'ask' | 'maxOutput'>, warn: (problem: string) => void) {
    this.ctx = ctx
    this.servers = servers
    this.rule = config.ask
    this.resources = resourceTool(servers, config.maxOutput)
    this.warn = warn
    ctx.effect(() => () => {
      for (const removals of this.recorded.values()) for (const remove of removals) remove()
      this.recorded.clear()
      for (const remove of this.recordedReads) remove()
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

  /**
   * Registers the list that a server sent, synchronously: no boundary sees a part of it. Unchanged tools are not
   * touched.
   */
  update(server: ServerEntry): void {
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
    this.updateReads()
  }

  /**
   * Registers the resource tool where a server has resources. Until all servers have sent their lists, the log's is
   * kept.
   */
  private updateReads(): void {
    const wanted = this.servers.some(({ connection }) => connection.told?.resources)
    if (wanted || this.servers.every(({ connection }) => connection.told)) {
      for (const remove of this.recordedReads) remove()
      this.recordedReads.clear()
    }
    if (wanted) return void (this.reads ??= this.ctx.tools.define(this.resources))
    this.reads?.()
    this.reads = undefined
  }

  /** Ahead of the first boundary of an agent: registers the log's tools of servers that have not sent a list yet. */
  remember(agent: Agent): void {
    const header = agent.session.requestHeader()
    for (const tool of header?.tools ?? []) {
      if (header?.owners?.tools?.[tool.name] !== `${agent.plugin}/${tool.name}`) continue
      const isReads = tool.name === RESOURCE_TOOL && !this.reads && !this.servers.every(({ connection }) => connection.told)
      if (isReads) this.keep(this.recordedReads, this.resources, agent)
      const server = this.servers.find(({ safe }) => safe === serverPart(tool.name))
      if (!server || server.connection.told) continue
      const removals = this.recorded.get(server) ?? new Set()
      this.recorded.set(server, removals)
      this.keep(removals, this.definition(server, tool.name, tool.description, tool.parameters), agent)
    }
  }

  private keep<Input>(removals: Set<() => void>, definition: ToolDefinition<Input>, agent: Agent): void {
    try {
      removals.add(agent.ctx.tools.define(definition))
    } catch (error) {
      agent.report('agent/pre-step', messageOf(error))
    }
  }

  private definition(server: ServerEntry, name: string, description: string, schema: JsonObject): ToolDefinition<JsonObject> {
    const { connection } = server
    const { timeout } = connection.config
    return {
      name, description, parameters: parametersOf(schema),
      ...(timeout !== undefined && { timeout }),
      ask: (input) => (this.asks(server, name) ? `Run ${name} of the MCP server ${quoted(connection.name)} with ${shownName(JSON.stringify(input))}?` : undefined),
      execute: async (input, run) => {
        // A tool from the log: its server is asked for the list first, which has its own name for the tool.
        if (!connection.told) await connection.connected(run.signal)
        const tool = this.get(name)
        if (!tool) throw new McpError('TOOL_GONE', `The MCP server ${quoted(connection.name)} has no tool ${name} any more.`)
        return resultOf(await connection.call({ name: tool.tool, arguments: input }, run))
      },
    }
  }

  private asks({ connection }: ServerEntry, name: string): boolean {
    const rule = connection.config.ask ?? this.rule
    return rule === 'always' || (rule === 'writes' && this.get(name)?.hints.readOnlyHint !== true)
  }
}
