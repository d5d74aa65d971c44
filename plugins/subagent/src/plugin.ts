import type { Agent, Context } from '@headrace/agent'
import type {} from '@headrace/briefing'
import { nodeFiles } from '@headrace/files'
import { catalogueOf, changedCatalogue, removedCatalogue } from './catalogue.ts'
import { TOOL, instructions } from './child.ts'
import { Config } from './config.ts'
import { AgentLibrary } from './library.ts'
import { subagentTool } from './subagent-tool.ts'

export const name = 'subagent'
export const inject = ['agents', 'briefing', 'llm', 'sessions', 'tools']
export { Config }

export async function apply(ctx: Context, config: Config): Promise<void> {
  const library = new AgentLibrary(config, nodeFiles)
  const told = new Set<string>()
  ctx.tools.define(subagentTool(ctx, config, library))
  // Not a section: system prompt and tools stay those of the parent, so that both share a cache.
  ctx.briefing.topic({ key: 'instructions', order: -100, content: instructions() })
  ctx.briefing.topic({
    key: 'agents',
    order: 20,
    content: async (agent) => {
      if (!hasTool(agent)) return undefined
      const { byName, problems } = await library.look(agent)
      for (const { file, problem } of problems) {
        if (told.has(`${file}: ${problem}`)) continue
        told.add(`${file}: ${problem}`)
        ctx.logger.warn('%s is no agent: %s', file, problem)
      }
      return catalogueOf(byName.values())
    },
    changed: changedCatalogue,
    removed: removedCatalogue,
  })
}

/** A session that was created without the tool needs no list. */
function hasTool({ session }: Agent): boolean {
  const choice = session.origin?.tools
  if (!choice) return true
  return 'only' in choice ? choice.only.includes(TOOL) : !choice.without.includes(TOOL)
}
