import { resolve } from 'node:path'
import type {} from '@headrace/plugin-skills'
import { boot, shutDown } from '../base/app.ts'
import { DONE, FAILED } from '../base/error.ts'
import { brief } from '../base/text.ts'
import type { Terminal } from '../show/terminal.ts'

export interface SkillsOptions {
  readonly cwd?: string
  readonly json?: true
  readonly debug?: boolean
}

/** `headrace skills`: what an agent in this folder could open, and what is wrong with the rest. Exit code 1 where a skill is left out. */
export async function skills({ cwd = '.', json, debug = false }: SkillsOptions, terminal: Terminal): Promise<number> {
  const only = {
    store: false,
    providers: false,
    tools: false,
    agentsMd: false,
    environment: false,
    retry: false,
    compaction: false,
  } as const
  const ctx = await boot(only, terminal, debug)
  try {
    const at = { cwd: resolve(cwd) }
    const library = ctx.get('skills')!
    const [list, diagnostics] = [await library.list(at), await library.diagnostics(at)]
    for (const skill of list) {
      if (json) terminal.json({ type: 'skill', ...skill })
      else terminal.print([skill.name, skill.source, skill.folder, brief(skill.description, 80)].join('  '))
    }
    for (const diagnostic of diagnostics) {
      if (json) terminal.json({ type: 'diagnostic', ...diagnostic })
      else terminal.warn(`${diagnostic.severity}: ${brief(`${diagnostic.path}: ${diagnostic.message}`, 500)}`)
    }
    if (list.length === 0 && !json) terminal.note('there is no skill here; one is a folder with a SKILL.md, in .agents/skills')
    return diagnostics.some(({ severity }) => severity === 'error') ? FAILED : DONE
  } finally {
    await shutDown(ctx, terminal)
  }
}
