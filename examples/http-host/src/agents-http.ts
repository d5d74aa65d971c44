import type { Context } from 'cordis'
import { AgentHost } from './agent-host.ts'
import { Config, checkConfig } from './config.ts'
import { agentRoutes } from './routes.ts'
import type {} from './http.ts'
import type {} from './life.ts'

export const name = 'agents-http'
export const inject = ['http', 'agents', 'sessions']
export { Config }

/** Serves agents to many users over the app's HTTP server. */
export async function apply(ctx: Context, config: Config): Promise<void> {
  checkConfig(config)
  const host = new AgentHost(ctx, config)
  // There is nobody to ask here; what the config allows stays inside the user's own folder.
  ctx.on('tools/ask', async (agent, _turn, call, _question, next) => (host.has(agent.id) && config.allow.includes(call.name) ? 'allow' : next()))
  ctx.on('app/stopping', () => host.drain())
  ctx.effect(() => () => host.end(), 'agents-http')
  ctx.http.mount(agentRoutes(host, config))
}
