import type { Context } from 'cordis'
import type {} from '@headrace/briefing'
import { nodeFiles } from '@headrace/files'
import { catalogues, changedCatalogue, removedCatalogue } from './catalogue.ts'
import { Config } from './config.ts'
import { DiagnosticReporter } from './diagnostic.ts'
import { SkillLibrary } from './library.ts'
import { toldAgain } from './opened.ts'
import { invokedSkill, skillTool } from './skill-tool.ts'

export const name = 'skills'
export const inject = ['agents', 'briefing', 'tools']
export { Config }

export async function apply(ctx: Context, config: Config): Promise<void> {
  const reporter = new DiagnosticReporter(ctx)
  const library = new SkillLibrary(config, nodeFiles, (agent, diagnostics) => reporter.report(agent, diagnostics))
  const catalogueOf = catalogues(config.maxCatalogue)
  ctx.provide('skills', library)
  ctx.tools.define(skillTool(library, nodeFiles, config))
  ctx.briefing.topic({
    key: 'catalogue',
    order: 10,
    content: (agent) => {
      const set = library.current(agent)
      return set instanceof Promise ? set.then(catalogueOf) : catalogueOf(set)
    },
    changed: changedCatalogue,
    removed: removedCatalogue,
  })
  ctx.on('agent/prompt-submit', async (agent, _turn, submission, next) => {
    const decision = await next()
    if ('block' in decision) return decision
    const opened = await invokedSkill(agent, submission, library, nodeFiles, config)
    if (opened === undefined) return decision
    return { ...decision, additionalContext: [{ key: 'opened', content: opened }, ...decision.additionalContext ?? []] }
  })
  if (config.keep > 0) {
    ctx.on('compaction/keep', async (agent, entries, next) => {
      const opened = toldAgain(agent, entries, config.keep)
      return [...opened.map((content) => ({ key: 'opened', content })), ...await next()]
    })
  }
}
