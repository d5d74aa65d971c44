import type {} from '@headrace/agent'
import { LazyConnections, endpointAdapter } from '@headrace/wire'
import type { Context } from 'cordis'
import type { Config } from './config.ts'
import { endpointsOf } from './endpoints.ts'

export const name = 'models'
export const inject = ['llm']

/** Registers an adapter for each preset and provider; a provider adds to the preset of its name. */
export async function apply(ctx: Context, config: Config): Promise<void> {
  const logger = ctx.logger(name)
  const told = new Set<string>()
  const connections = new LazyConnections()
  ctx.effect(() => () => connections.close(), 'connections to models')
  for (const endpoint of endpointsOf(config, (model) => ctx.llm.info(model))) {
    ctx.llm.adapter(endpoint.name, endpointAdapter(endpoint, connections.get, (message) => {
      const line = `${endpoint.name}: ${message}`
      if (told.has(line) || told.size > 1000) return
      told.add(line)
      logger.warn('%s', line)
    }))
  }
}
