import type { Context } from 'cordis'
import { strict } from '@headrace/config'
import { AgentsService } from './agents.ts'
import { LlmService } from './llm.ts'
import { SessionsService } from './sessions.ts'
import { type Settings, SettingsSchema } from '../contract/settings.ts'
import { SystemService } from './system.ts'
import { ToolsService } from './tools.ts'

export const name = 'agent'
export const Config = strict(SettingsSchema)

/** Loads the five services: sessions, llm, tools, system, agents. */
export async function apply(ctx: Context, config: Settings): Promise<void> {
  for (const service of [SessionsService, LlmService, ToolsService, SystemService]) await ctx.plugin(service)
  await ctx.plugin(AgentsService, config)
}
