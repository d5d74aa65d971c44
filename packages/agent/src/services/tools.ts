import { type Context, Service } from 'cordis'
import { copyJson } from '@headrace/message'
import { AgentError } from '../contract/error.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import { ownerOf, pluginOf } from '../seams/owner.ts'
import { toParameters } from '../turn/parameters.ts'
import type { ToolEntry, ToolRegistry } from '../turn/tool-registry.ts'

declare module 'cordis' {
  interface Context {
    tools: ToolsService
  }
}

/** `ctx.tools`: what the model may call. */
export interface ToolsService {
  /**
   * Adds a tool; goes with the caller's plugin. On `agent.ctx` it is that agent's alone.
   *
   * @throws AgentError for a wrong definition or a name that is taken
   */
  define<Input>(definition: ToolDefinition<Input>): () => void
}

/** The service over a registry, which nothing but this closure holds (L14). */
export function toolsService(registry: ToolRegistry): new (ctx: Context) => Service & ToolsService {
  return class Tools extends Service implements ToolsService {
    constructor(ctx: Context) {
      super(ctx, 'tools')
    }

    define<Input>(definition: ToolDefinition<Input>): () => void {
      const { ctx } = this
      const plugin = pluginOf(ctx)
      const { name, description, parameters, execute } = definition
      if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) throw new AgentError('TOOL_INVALID', `plugin ${plugin}: a tool's name is 1 to 64 letters, digits, "_" or "-", not ${JSON.stringify(name)}`)
      if (typeof description !== 'string' || !description.isWellFormed()) throw new AgentError('TOOL_INVALID', `plugin ${plugin}: tool ${name} needs a description`)
      if (typeof execute !== 'function') throw new AgentError('TOOL_INVALID', `plugin ${plugin}: tool ${name} needs execute()`)
      if (typeof parameters !== 'object' || parameters === null) throw new AgentError('TOOL_INVALID', `plugin ${plugin}: tool ${name} needs parameters: a Zod schema, or JSON Schema such as { type: 'object' }`)
      const { schema, parse } = toParameters(name, parameters as ToolDefinition['parameters'])
      const entry: ToolEntry = {
        definition: definition as unknown as ToolDefinition, ctx, plugin, owner: ownerOf(plugin, name), parse,
        schema: copyJson({ name, description, parameters: schema }),
      }
      return ctx.effect(() => registry.add(entry), `ctx.tools.define(${JSON.stringify(name)})`)
    }
  }
}
