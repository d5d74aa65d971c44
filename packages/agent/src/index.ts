import type { Context } from 'cordis'
import { AgentsService } from './agents.ts'
import { LlmService } from './llm.ts'
import { SessionsService } from './sessions.ts'
import { SettingsSchema, type Settings } from './settings.ts'
import { SystemService } from './system.ts'
import { ToolsService } from './tools.ts'

export * from './adapter.ts'
export * from './agent.ts'
export * from './agents.ts'
export type { ContextProvider } from './core.ts'
export type { ContextInput, KeyedContribution, Pieces, RequestMessages } from './contribution.ts'
export * from './error.ts'
export * from './events.ts'
export * from './handle.ts'
export * from './llm.ts'
export { errorOutcome } from './outcome.ts'
export type { OverrideNote, Report } from './report.ts'
export * from './sessions.ts'
export { override } from './seam.ts'
export { type Place, byPlace, ownerOf, pluginOf, scopeOf, serves } from './scope.ts'
export * from './settings.ts'
export type { AskOptions, SideAnswer } from './side-request.ts'
export * from './system.ts'
export * from './tool.ts'
export * from './tools.ts'
export * from './turn.ts'

export const name = 'agent'
export const Config = SettingsSchema

/** Loads the five services: sessions, llm, tools, system, agents. */
export async function apply(ctx: Context, config: Settings): Promise<void> {
  for (const service of [SessionsService, LlmService, ToolsService, SystemService]) await ctx.plugin(service)
  await ctx.plugin(AgentsService, config)
}
