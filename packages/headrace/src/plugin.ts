import * as agentPlugin from '@headrace/agent'
import type { Settings } from '@headrace/agent'
import { BriefingService } from '@headrace/briefing'
import { strict } from '@headrace/config'
import type { CallConfig } from '@headrace/message'
import * as agentsMd from '@headrace/plugin-agents-md'
import * as approval from '@headrace/plugin-approval'
import { CompactionService, type Config as CompactionConfig } from '@headrace/plugin-compaction'
import * as environment from '@headrace/plugin-environment'
import * as mcp from '@headrace/plugin-mcp'
import * as models from '@headrace/plugin-models'
import * as retry from '@headrace/plugin-retry'
import * as skills from '@headrace/plugin-skills'
import * as storeJsonl from '@headrace/plugin-store-jsonl'
import * as subagent from '@headrace/plugin-subagent'
import * as tasks from '@headrace/plugin-tasks'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import type { Context, Plugin } from 'cordis'
import z from 'schemastery'
import * as instructionsPlugin from './instructions.ts'
import * as modelPlugin from './model.ts'
import { routeOf } from './route.ts'

export const name = 'headrace'

export { INSTRUCTIONS } from './instructions.ts'

/** The usual set: each part takes its own plugin's config, and `false` leaves it out. */
export interface Config {
  /** `provider/model` of agents that name none. */
  readonly model?: string | undefined
  /** Where the model is, instead of its provider's URL; a model without a known provider in its name is then `endpoint/<model>`. */
  readonly baseURL?: string | undefined
  /** More of the config of agents that say nothing else, e.g. `temperature`. */
  readonly config?: Partial<CallConfig>
  /** Who the agent is: a section of the system prompt. Default: `INSTRUCTIONS`. */
  readonly instructions?: false | string
  /** Limits and timeouts of `@headrace/agent`, and what the app knows of models. */
  readonly agent?: Partial<Omit<Settings, 'limits'>> & { readonly limits?: Partial<Settings['limits']> }
  /** Says nothing on stderr. Otherwise warnings and errors are a line each there, while the app has no exporter of Cordis' log. */
  readonly quiet?: boolean
  /** `@headrace/plugin-store-jsonl`. */
  readonly store?: false | Partial<storeJsonl.Config>
  /** Milliseconds to wait for models; 0 waits forever. */
  readonly clocks?: Pick<models.Config, 'idle' | 'firstByte' | 'whole'>
  /** Endpoints by name, as `providers` of `@headrace/plugin-models`; `false` leaves that plugin out. */
  readonly providers?: false | NonNullable<models.Config['providers']>
  /** `@headrace/plugin-workspace-tools`. */
  readonly tools?: false | Partial<workspaceTools.Config>
  /** `@headrace/plugin-approval`. */
  readonly approval?: false | Partial<approval.Config>
  /** `@headrace/plugin-agents-md`. */
  readonly agentsMd?: false | Partial<agentsMd.Config>
  /** `@headrace/plugin-skills`. */
  readonly skills?: false | Partial<skills.Config>
  /** `@headrace/plugin-environment`. */
  readonly environment?: false | Partial<environment.Config>
  /** `@headrace/plugin-retry`. */
  readonly retry?: false | Partial<retry.Config>
  /** `@headrace/plugin-compaction`. */
  readonly compaction?: false | Partial<CompactionConfig>
  /** `@headrace/plugin-tasks`; `true` or its config loads it. */
  readonly tasks?: boolean | Partial<tasks.Config>
  /** `@headrace/plugin-subagent`; `true` or its config loads it. */
  readonly subagent?: boolean | NonNullable<Parameters<typeof subagent.Config>[0]>
  /** `@headrace/plugin-mcp`; its config loads it. */
  readonly mcp?: boolean | Partial<mcp.Config>
}

/** The config of a part, or `false`. */
function part<T extends z>(schema: T): z {
  return z.union([z.const(false), schema])
}

/** The config of a part that is loaded only where somebody asks for it, or yes or no. */
function extra<T extends z>(schema: T): z {
  return z.union([z.boolean(), schema])
}

export const Config = strict(z.object({
  model: z.string().description('The model of agents that name none: provider/model.'),
  baseURL: z.string().description('Where the model is, instead of its provider\'s URL.'),
  config: z.any().description('More of the config of agents that say nothing else.'),
  instructions: z.union([z.const(false), z.string()]).description('Who the agent is, or false.'),
  agent: agentPlugin.Config.description('Limits and timeouts of @headrace/agent.'),
  quiet: z.boolean().default(false).description('Says nothing on stderr.'),
  store: part(storeJsonl.Config).description('Of @headrace/plugin-store-jsonl, or false.'),
  clocks: z.object(Object.fromEntries(['idle', 'firstByte', 'whole'].map((name) => [name, z.natural()]))).description('Milliseconds that models are waited for.'),
  providers: part(models.Config.dict!.providers!).description('Endpoints by name, or false.'),
  tools: part(workspaceTools.Config).description('Of @headrace/plugin-workspace-tools, or false.'),
  approval: part(approval.Config).description('Of @headrace/plugin-approval, or false.'),
  agentsMd: part(agentsMd.Config).description('Of @headrace/plugin-agents-md, or false.'),
  skills: part(skills.Config).description('Of @headrace/plugin-skills, or false.'),
  environment: part(environment.Config).description('Of @headrace/plugin-environment, or false.'),
  retry: part(retry.Config).description('Of @headrace/plugin-retry, or false.'),
  compaction: part(CompactionService.Config).description('Of @headrace/plugin-compaction, or false.'),
  subagent: extra(subagent.Config).description('true, or of @headrace/plugin-subagent. Default: it is not loaded.'),
  tasks: extra(tasks.Config).description('true, or of @headrace/plugin-tasks. Default: it is not loaded.'),
  mcp: extra(mcp.Config).description('Of @headrace/plugin-mcp. Default: it is not loaded.'),
})) as unknown as z<Config>

/** The parts that are loaded as they are configured, in this order. */
const PARTS = {
  store: storeJsonl, tools: workspaceTools, approval, agentsMd, skills, environment, retry, compaction: CompactionService,
} as const

/** The parts that are loaded where somebody asks for them. */
const EXTRAS = { tasks, subagent, mcp } as const

/**
 * Loads the agent's services and each part of the usual set, and sets the default model. Resolves when all of them are there.
 */
export async function apply(ctx: Context, config: Config = {}): Promise<void> {
  const { providers = {}, instructions } = config
  const route = routeOf(config.model, config.baseURL, providers === false ? {} : providers)
  await ctx.plugin(agentPlugin, { ...config.agent, ...(config.quiet && { quiet: true }) })
  await ctx.plugin(BriefingService, {})
  if (providers !== false) await ctx.plugin(models, { providers: route.providers, ...config.clocks })
  for (const [key, plugin] of Object.entries(PARTS)) {
    const part = config[key as keyof typeof PARTS]
    if (part !== false) await ctx.plugin(plugin as Plugin<object>, part ?? {})
  }
  for (const [key, plugin] of Object.entries(EXTRAS)) {
    const extra = config[key as keyof typeof EXTRAS]
    if (extra !== undefined && extra !== false) await ctx.plugin(plugin as Plugin<object>, extra === true ? {} : extra)
  }
  if (instructions !== false) await ctx.plugin(instructionsPlugin, { ...(instructions !== undefined && { text: instructions }) })
  await ctx.plugin(modelPlugin, {
    ...(config.config && { config: config.config }),
    ...(route.model !== undefined && { model: route.model }),
  })
}

/**
 * The one import.
 *
 * ```ts
 * await ctx.plugin(headrace, { model: 'deepseek/deepseek-flash' })
 * const agent = await ctx.agents.create({ cwd: process.cwd() })
 * ```
 */
export const headrace: { name: string; Config: typeof Config; apply: typeof apply } = { name, Config, apply }
