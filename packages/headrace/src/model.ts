import type {} from '@headrace/agent'
import { strict } from '@headrace/config'
import type { CallConfig } from '@headrace/message'
import type { Context } from 'cordis'
import z from 'schemastery'

export const name = 'headrace'
export const inject = ['agents']

/** Default model and config of agents. */
export interface Config {
  /** `provider/model`. */
  readonly model?: string
  /** More of the config, e.g. `temperature`. */
  readonly config?: Partial<CallConfig>
}

export const Config: z<Config> = strict(z.object({
  model: z.string().description('The model of agents that name none: provider/model.'),
  config: z.any().description('More of the config of agents that say nothing else.'),
}))

/** Sets the default model and config. */
export async function apply(ctx: Context, { model, config }: Config): Promise<void> {
  ctx.agents.default({ ...config, ...(model !== undefined && { model }) })
}
