import type { Context } from 'cordis'
import { type Agent, type Submission, type Turn, scopeOf } from '@headrace/agent'
import { unavailable } from '@headrace/briefing'
import { messageOf, textOf } from '@headrace/message'
import { Config } from './config.ts'
import { ServerConnection } from './connection.ts'
import { serverNames } from './names.ts'
import { commandName, commandOf, promptBlocks } from './prompts.ts'
import { referencedBlocks, referencesIn } from './resources.ts'
import { type ServerConfig, readServer, readServersFile } from './server-config.ts'
import { ServerPool } from './server-pool.ts'
import type { McpService } from './service.ts'
import { type ServerEntry,  } from './servers.ts'
import { Toolset } from './toolset.ts'

export const name = 'mcp'
export const inject = ['agents', 'briefing', 'tools']
export { Config }

/** Milliseconds that a topic waits for a server that starts; less than a topic may take. */
const TOPIC_WAIT = 4_000

export async function apply(ctx: Context, config: Config): Promise<void> {
  const logger = ctx.logger(name)
  const warn = (problem: string): void => void logger.warn('%s', problem)
  const configs = await configsOf(config, warn)
  const names = serverNames(configs.map((server) => server.name))
  const pool = new ServerPool(config.firstWait)
  const roots = (): readonly string[] => rootsOf(ctx)
  const servers = configs.map((server) => {
    const connection = new ServerConnection(server, { limits: config, roots, warn, told: () => void toolset.update(mine) })
    const mine = { connection, safe: names.get(server.name)! }
    pool.add(connection)
    return mine
  })
  const toolset = new Toolset(ctx, servers, config, warn)
  ctx.effect(() => () => pool.close(), 'MCP servers')
  ctx.provide('mcp', {
    servers: () => servers.map(({ connection, safe }) => ({
      name: connection.name, state: connection.state, ...(connection.problem !== undefined && { problem: connection.problem }),
      tools: toolset.list().filter(({ server }) => server === connection.name).map((tool) => tool.name),
      prompts: (connection.told?.prompts ?? []).map((prompt) => `/${safe}:${commandName(prompt.name)}`),
    })),
    tool: (tool) => toolset.get(tool),
  } satisfies McpService)
  if (servers.length === 0) return
  // The first event of any agent starts the servers, so that they start while a person types.
  const stop = ctx.on('session/event', () => {
    stop()
    pool.begin()
  })
  for (const server of servers) tellInstructions(ctx, server, pool)
  ctx.on('agent/prompt-submit', async (agent, turn, submission, next) => {
    const decision = await next()
    if ('block' in decision) return decision
    const brought = await broughtBy(submission, servers, agent, turn, config.maxOutput)
    return brought.length === 0 ? decision : { ...decision, additionalContext: [...brought, ...decision.additionalContext ?? []] }
  })
  const known = new WeakSet<object>()
  ctx.on('agent/pre-step', async (agent, turn, _step, next) => {
    const starting = pool.ready(turn.signal)
    if (starting) await starting
    if (!known.has(agent.session)) {
      known.add(agent.session)
      toolset.remember(agent)
      pool.rootsChanged(roots())
    }
    return next()
  })
}

/** The instructions of a server are a topic: told once, and again when they change. */
function tellInstructions(ctx: Context, { connection, safe }: ServerEntry, pool: ServerPool): void {
  const at = `The MCP server ${safe}`
  ctx.briefing.topic({
    key: `instructions-${safe}`,
    order: 20,
    content: async () => {
      if (!connection.told) await pool.started(TOPIC_WAIT)
      if (!connection.told) return unavailable
      const { instructions } = connection.told
      return instructions && `${at} says of its tools:\n\n${instructions}`
    },
    removed: () => `${at} says nothing of its tools any more.`,
  })
}

/** The content of a prompt's command and references: sent as user messages, because the words are the servers'. */
async function broughtBy({ input }: Submission, servers: readonly ServerEntry[], agent: Agent, turn: Turn, limit: number) {
  const [first] = input.content
  const command = first?.type === 'text' ? commandOf(first.text, servers) : undefined
  const references = referencesIn(textOf(input), servers)
  const prompt = command ? await promptBlocks(command, agent, limit, turn.signal) : []
  const resources = references.length > 0 ? await referencedBlocks(references, agent, limit, turn.signal) : []
  return [
    ...(prompt.length > 0 ? [{ key: 'prompt', role: 'user' as const, content: prompt }] : []),
    ...(resources.length > 0 ? [{ key: 'resources', role: 'user' as const, content: resources }] : []),
  ]
}

/** Servers of the config, then those of its file; an error in one is reported, and the others are used. */
async function configsOf(config: Config, warn: (problem: string) => void): Promise<readonly ServerConfig[]> {
  const given = [{ servers: config.mcpServers, folder: process.cwd() }]
  if (config.file !== undefined) {
    try {
      given.push(await readServersFile(config.file))
    } catch (error) {
      warn(messageOf(error))
    }
  }
  const found = new Map<string, ServerConfig>()
  const seen = new Set<string>()
  for (const { servers, folder } of given) {
    for (const [server, value] of Object.entries(servers)) {
      if (seen.has(server)) continue
      seen.add(server)
      try {
        const read = readServer(server, value, process.env, folder)
        read.warnings.forEach(warn)
        if (read.server) found.set(server, read.server)
      } catch (error) {
        warn(messageOf(error))
      }
    }
  }
  return [...found.values()]
}

/** Folders of the agents that the plugin serves, each once. */
function rootsOf(ctx: Context): readonly string[] {
  const scope = scopeOf(ctx)
  const agents = ctx.get('agents')
  const ids = scope === undefined ? agents?.ids() ?? [] : [scope]
  return [...new Set(ids.map((id) => agents?.get(id)).filter((agent): agent is Agent => agent !== undefined).map(({ cwd }) => cwd))]
}
