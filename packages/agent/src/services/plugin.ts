import type { Context } from 'cordis'
import { strict } from '@headrace/config'
import { MODELS, modelTable } from '@headrace/tokens'
import { type Settings, SettingsSchema } from '../contract/settings.ts'
import { AdapterRegistry } from '../turn/adapters.ts'
import { SystemRegistry } from '../turn/system-registry.ts'
import { ToolRegistry } from '../turn/tool-registry.ts'
import { agentsService } from './agents.ts'
import { claim } from './copy.ts'
import { hear } from './heard.ts'
import { llmService } from './llm.ts'
import { StoreRegistry, sessionsService } from './sessions.ts'
import { systemService } from './system.ts'
import { toolsService } from './tools.ts'

export const name = 'agent'
export const Config = strict(SettingsSchema)

/**
 * Loads the five services: sessions, llm, tools, system, agents. What they register is reached through them alone.
 *
 * @throws ModelRowError
 */
export async function apply(ctx: Context, config: Settings): Promise<void> {
  if (!config.quiet) hear(ctx)
  ctx.effect(() => claim(ctx), 'agent copy')
  const models = modelTable(config.models ?? {}, config.knownModels === false ? {} : MODELS)
  const [stores, llm, tools, system] = [new StoreRegistry(), new AdapterRegistry(models), new ToolRegistry(), new SystemRegistry()]
  for (const service of [sessionsService(stores), llmService(llm), toolsService(tools), systemService(system)]) await ctx.plugin(service)
  await ctx.plugin(agentsService({ llm, tools, system, store: () => stores.current }), config)
}
