import type { Context } from 'cordis'
import { type JsonObject, type Owner, type ToolSchema, copyJson, copyList, messageOf, nearest } from '@headrace/message'
import { type ToolChoice, byCodeUnits } from '@headrace/session'
import { AgentError } from '../contract/error.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import { scopeOf, serves } from '../seams/owner.ts'
import type { Parameters } from './parameters.ts'

/** A tool that is registered. */
export interface ToolEntry {
  readonly definition: ToolDefinition
  readonly ctx: Context
  readonly plugin: string
  readonly owner: Owner
  readonly schema: ToolSchema
  /** Checks the parsed arguments of a call. */
  readonly parse: Parameters['parse']
}

/** The tools at a boundary: what the model is told, and who would run. */
export interface ToolsSnapshot {
  readonly tools?: readonly ToolSchema[]
  readonly owners?: Readonly<Record<string, Owner>>
  readonly entries: ReadonlyMap<string, ToolEntry>
}

/** The tools that are registered. */
export class ToolRegistry {
  private readonly entries = new Set<ToolEntry>()
  private version = 0
  private readonly last = new Map<string, {
    readonly version: number; readonly recorded: readonly ToolSchema[] | undefined; readonly snapshot: ToolsSnapshot
  }>()

  /** @throws AgentError for a name that a tool of the same or of every agent has */
  add(entry: ToolEntry): () => void {
    const scope = scopeOf(entry.ctx)
    for (const other of this.entries) {
      const theirs = scopeOf(other.ctx)
      if (other.schema.name === entry.schema.name && (scope === undefined || theirs === undefined || scope === theirs)) {
        const wayOut = other.plugin === entry.plugin
          ? 'a model knows tools by name alone: where the plugin is loaded twice, one of the two must name its tool otherwise, or serve other agents (agent.ctx)'
          : `plugin ${entry.plugin} must give its own another name`
        throw new AgentError('TOOL_TAKEN', `there is a tool ${JSON.stringify(entry.schema.name)} of plugin ${other.plugin} already; ${wayOut}`)
      }
    }
    this.entries.add(entry)
    this.version++
    return () => {
      if (this.entries.delete(entry)) this.version++
    }
  }

  /** Whether a tool is still registered. */
  has(entry: ToolEntry): boolean {
    return this.entries.has(entry)
  }

  /** Sorted by name (code units). A tool with the same meaning as the recorded one keeps the recorded text. */
  snapshot(agent: string, recorded: readonly ToolSchema[] | undefined, choice?: ToolChoice): ToolsSnapshot {
    const last = this.last.get(agent)
    if (last && last.version === this.version && (last.recorded === recorded || last.snapshot.tools === recorded)) return last.snapshot
    const mine = [...this.entries]
      .filter((entry) => serves(entry.ctx, agent) && isChosen(entry.schema.name, choice))
      .sort((a, b) => byCodeUnits(a.schema.name, b.schema.name))
    const old = new Map(recorded?.map((tool) => [tool.name, tool]))
    const tools = mine.map(({ schema }) => {
      const known = old.get(schema.name)
      return known && sameMeaning(known, schema) ? known : schema
    })
    const entries = new Map(mine.map((entry) => [entry.schema.name, entry]))
    const owners = () => copyJson(Object.fromEntries(mine.map(({ schema, owner }) => [schema.name, owner])))
    const snapshot: ToolsSnapshot = tools.length === 0 ? { entries } : { entries, tools: copyList(tools), owners: owners() }
    this.last.set(agent, { version: this.version, recorded, snapshot })
    return snapshot
  }

  /** Drops the cache of an agent that was disposed. */
  forget(agent: string): void {
    this.last.delete(agent)
  }
}

/** Names of tools that a refusal lists, and UTF-16 units of the name that it repeats. */
const [MAX_LISTED, MAX_REPEATED] = [40, 200]

/** What a model is told that calls a tool which it does not have. */
export function unknownTool(name: string, names: readonly string[]): string {
  const shown = JSON.stringify(name.slice(0, MAX_REPEATED).toWellFormed())
  const near = name.length <= 64 ? nearest(name, names) : ''
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : ''
  return `There is no tool ${shown}${near || '.'} There is: ${names.slice(0, MAX_LISTED).join(', ') || 'none'}${more}.`
}

function isChosen(name: string, choice: ToolChoice | undefined): boolean {
  if (!choice) return true
  return 'only' in choice ? choice.only.includes(name) : !choice.without.includes(name)
}

/** Equal but for the order of keys, which means nothing in JSON Schema. */
function sameMeaning(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false
  const [ours, theirs] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const keys = Object.keys(ours)
  return (
    keys.length === Object.keys(theirs).length &&
    keys.every((key) => Object.hasOwn(theirs, key) && sameMeaning(ours[key], theirs[key]))
  )
}

/** The arguments of a call, parsed and checked. @throws AgentError that tells the model what does not fit */
export function parseArguments(entry: ToolEntry, text: string): { readonly input: unknown; readonly json: JsonObject } {
  let json: unknown
  try {
    json = text.trim() === '' ? {} : JSON.parse(text)
  } catch (error) {
    throw new AgentError('ARGUMENTS_INVALID', `The arguments are not JSON (${messageOf(error)}).`)
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new AgentError('ARGUMENTS_INVALID', 'The arguments must be a JSON object.')
  try {
    return { json: copyJson(json as JsonObject, 'arguments'), input: entry.parse(structuredClone(json)) }
  } catch (error) {
    throw new AgentError('ARGUMENTS_INVALID', `The arguments do not fit: ${messageOf(error)}.`)
  }
}
