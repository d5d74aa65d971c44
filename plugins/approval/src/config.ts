import { type ConfigProblem, checked, strict } from '@headrace/config'
import z from 'schemastery'
import { ruleProblem } from './rule.ts'

/** Rules, by decision; of those that match a call, deny beats ask, and ask beats allow. */
export interface Config {
  readonly allow: readonly string[]
  readonly ask: readonly string[]
  readonly deny: readonly string[]
  /** Tools that run a shell command, and the argument that has it; their rules match the beginning of the command. */
  readonly commands: Readonly<Record<string, string>>
  /** Tools that work on a path, and the argument that has it; their rules are globs. */
  readonly paths: Readonly<Record<string, string>>
  /** Questions offer to remember an answer. */
  readonly remember: boolean
}

const COMMANDS = { bash: 'command' }
const PATHS = { read: 'path', write: 'path', edit: 'path', list: 'path', glob: 'path', grep: 'path' }

export const Config: z<Partial<Config>, Config> = checked(strict(z.object({
  allow: z.array(z.string()).default([]).description('Calls that run without a question, e.g. bash(npm test *).'),
  ask: z.array(z.string()).default([]).description('Calls that are asked for, also where their tool would not.'),
  deny: z.array(z.string()).default([]).description('Calls that never run.'),
  commands: z.dict(z.string()).default(COMMANDS).description('Tools that run a shell command, and the argument that has it.'),
  paths: z.dict(z.string()).default(PATHS).description('Tools that work on a path, and the argument that has it.'),
  remember: z.boolean().default(true).description('Offers to remember an answer, for the session or the folder.'),
})), problemsOfRules) as unknown as z<Partial<Config>, Config>

/** Which texts of a config are no rules, each at its place. */
function problemsOfRules(given: unknown): readonly ConfigProblem[] {
  const { commands = COMMANDS, paths = PATHS, ...lists } = given as Partial<Config>
  return (['allow', 'ask', 'deny'] as const).flatMap((kind) => (lists[kind] ?? []).flatMap((rule, index) => {
    const problem = ruleProblem(rule, { commands, paths })
    return problem === undefined ? [] : [{ path: [kind, index], message: `is no rule: ${problem}` }]
  }))
}
