import * as agentPlugin from '@headrace/agent'
import type { Settings } from '@headrace/agent'
import type { CallConfig } from '@headrace/message'
import * as aiSdk from '@headrace/plugin-ai-sdk'
import * as storeJsonl from '@headrace/plugin-store-jsonl'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import type { Context } from 'cordis'
import z from 'schemastery'
import { HeadraceConfigError, routeOf } from './route.ts'

export const name = 'headrace'

/** The usual set: each part takes its own plugin's config, and `false` leaves it out. */
export interface Config {
  /** `provider/model` of agents that name none. */
  readonly model?: string
  /** Where the model is, instead of its provider's URL; a model without a known provider in its name is then `endpoint/<model>`. */
  readonly baseURL?: string
  /** More of the config of agents that say nothing else, e.g. `temperature`. */
  readonly config?: Partial<CallConfig>
  /** Limits and timeouts of `@headrace/agent`. */
  readonly agent?: Partial<Omit<Settings, 'limits'>> & { readonly limits?: Partial<Settings['limits']> }
  /** `@headrace/plugin-store-jsonl`. */
  readonly store?: false | Partial<storeJsonl.Config>
  /** Endpoints by name, as `providers` of `@headrace/plugin-ai-sdk`; `false` leaves that plugin out. */
  readonly providers?: false | NonNullable<aiSdk.Config['providers']>
  /** `@headrace/plugin-workspace-tools`. */
  readonly tools?: false | Partial<workspaceTools.Config>
}

// The parts are checked by their own plugins: a union that fails here would print what it was given, keys included.
export const Config: z<Config> = z.object({
  model: z.string().description('The model of agents that name none: provider/model.'),
  baseURL: z.string().description('Where the model is, instead of its provider\'s URL.'),
  config: z.any().description('More of the config of agents that say nothing else.'),
  agent: z.any().description('Limits and timeouts of @headrace/agent.'),
  store: z.any().description('Of @headrace/plugin-store-jsonl, or false.'),
  providers: z.any().description('Endpoints by name, or false.'),
  tools: z.any().description('Of @headrace/plugin-workspace-tools, or false.'),
})

/** Loads the agent's services, a store, models and tools, and sets the default model. Resolves when all of them are there. */
export async function apply(ctx: Context, config: Config = {}): Promise<void> {
  const unknown = Object.keys(config).find((key) => !Object.hasOwn(Config.dict!, key))
  if (unknown !== undefined) throw new HeadraceConfigError(`headrace has no config ${JSON.stringify(unknown)}; it has ${Object.keys(Config.dict!).join(', ')}`)
  const { store = {}, providers = {}, tools = {} } = config
  const route = routeOf(config.model, config.baseURL, providers === false ? {} : providers)
  await ctx.plugin(agentPlugin, config.agent ?? {})
  if (store !== false) await ctx.plugin(storeJsonl, store)
  if (providers !== false) await ctx.plugin(aiSdk, { providers: route.providers })
  if (tools !== false) await ctx.plugin(workspaceTools, tools)
  const defaults = { ...config.config, ...(route.model !== undefined && { model: route.model }) }
  if (Object.keys(defaults).length > 0) ctx.get('agents')!.default(defaults)
}

/**
 * The one import.
 *
 * ```ts
 * await ctx.plugin(headrace, { model: 'deepseek/deepseek-chat' })
 * const agent = await ctx.agents.create({ cwd: process.cwd() })
 * ```
 */
export const headrace = { name, Config, apply }
