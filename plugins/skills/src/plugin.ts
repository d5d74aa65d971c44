import type { Context } from 'cordis'
import type {} from '@headrace/briefing'
import { catalogues, changedCatalogue, removedCatalogue } from './catalogue.ts'
import { Config } from './config.ts'
import { disk } from './disk.ts'
import { SkillLibrary } from './library.ts'
import { skillFor } from './skill-command.ts'
import { skillTool } from './skill-tool.ts'
import { Teller } from './teller.ts'

export const name = 'skills'
export const inject = ['agents', 'briefing', 'tools']
export { Config }

export async function apply(ctx: Context, config: Config): Promise<void> {
  const teller = new Teller(ctx)
  const library = new SkillLibrary(config, disk, (agent, shelf) => teller.tell(agent, shelf))
  const catalogueOf = catalogues(config.maxCatalogue)
  ctx.provide('skills', library)
  ctx.tools.define(skillTool(library, disk, config))
  ctx.briefing.topic({
    key: 'catalogue',
    order: 10,
    read: (agent) => {
      const shelf = library.glance(agent)
      return shelf instanceof Promise ? shelf.then(catalogueOf) : catalogueOf(shelf)
    },
    changed: changedCatalogue,
    removed: removedCatalogue,
  })
  ctx.on('agent/prompt-submit', async (agent, _turn, submission, next) => {
    const decision = await next()
    if ('block' in decision) return decision
    const opened = await skillFor(agent, submission, library, disk, config)
    if (opened === undefined) return decision
    return { ...decision, additionalContext: [{ key: 'opened', message: opened }, ...decision.additionalContext ?? []] }
  })
}
