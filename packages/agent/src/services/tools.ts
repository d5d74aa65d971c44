import { type Context, Service } from 'cordis'
import { copyJson, nearest } from '@headrace/message'
import { namesOf } from '../contract/check-options.ts'
import { AgentError } from '../contract/error.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import { describe } from '../seams/decision-rule.ts'
import { isObject } from '../seams/guards.ts'
import { ownerOf, pluginOf } from '../seams/owner.ts'
import { toParameters } from '../turn/parameters.ts'
import type { ToolEntry, ToolRegistry } from '../turn/tool-registry.ts'
import { callerOf } from './caller.ts'

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

const FIELDS = namesOf<ToolDefinition>({
  name: true, description: true, parameters: true, sequential: true, ask: true, timeout: true, execute: true,
})

/** @throws AgentError */
function checkTool(plugin: string, definition: unknown): void {
  const fail = (problem: string): never => {
    throw new AgentError('TOOL_INVALID', `plugin ${plugin}: ${problem}`)
  }
  if (!isObject(definition)) return fail(`a tool is { ${FIELDS.join(', ')} }, not ${describe(definition)}`)
  const { name, description, parameters, execute, sequential, ask, timeout } = definition
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    fail(`a tool's name is 1 to 64 letters, digits, "_" or "-", not ${JSON.stringify(name)}`)
  }
  const wrong = (problem: string): never => fail(`tool ${String(name)} ${problem}`)
  if (typeof description !== 'string' || !description.isWellFormed()) wrong('needs a description')
  if (typeof execute !== 'function') wrong('needs execute()')
  if (typeof parameters !== 'object' || parameters === null) wrong(`needs parameters: a Zod schema, or JSON Schema such as { type: 'object' }`)
  const unknown = Object.keys(definition).find((field) => !FIELDS.includes(field))
  if (unknown !== undefined) wrong(`has no ${JSON.stringify(unknown)}${nearest(unknown, FIELDS)}; it may have ${FIELDS.join(', ')}`)
  if (sequential !== undefined && typeof sequential !== 'boolean') wrong(`has sequential: true or false, not ${describe(sequential)}`)
  if (ask !== undefined && typeof ask !== 'boolean' && typeof ask !== 'function') {
    wrong(`has ask: true, false, or a function (input) => question, not ${describe(ask)}`)
  }
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0)) wrong(`has timeout: a number of milliseconds, not ${describe(timeout)}`)
}

/** The service of a registry; only this closure holds the registry (L14). */
export function toolsService(registry: ToolRegistry): new (ctx: Context) => Service & ToolsService {
  return class Tools extends Service implements ToolsService {
    constructor(ctx: Context) {
      super(ctx, 'tools')
    }

    define<Input>(definition: ToolDefinition<Input>): () => void {
      const ctx = callerOf(this, 'ctx.tools.define')
      const plugin = pluginOf(ctx)
      checkTool(plugin, definition)
      const { name, description, parameters } = definition
      const { schema, parse } = toParameters(name, parameters as ToolDefinition['parameters'])
      const entry: ToolEntry = {
        definition: definition as unknown as ToolDefinition, ctx, plugin, owner: ownerOf(plugin, name), parse,
        schema: copyJson({ name, description, parameters: schema }),
      }
      return ctx.effect(() => registry.add(entry), `ctx.tools.define(${JSON.stringify(name)})`)
    }
  }
}
