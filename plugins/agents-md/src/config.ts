import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { PATH_FIELDS, configHome } from '@headrace/files'
import z from 'schemastery'
import { strict } from '@headrace/config'
import { HeadraceError } from '@headrace/message'

/** Config of the plugin. */
export interface Config {
  /** Names of instruction files; the first in a folder that holds text counts. */
  names: string[]
  /**
   * Names of overlays that are not shared; the first in a folder that holds text counts, and comes after the folder's
   * own file.
   */
  local: string[]
  /** Whether a folder without a file of `names` uses one written for another agent, such as `CLAUDE.md`. */
  otherAgents: boolean
  /** Names that mark the project's root, of a file or a folder. */
  projectMarkers: string[]
  /** Absolute path of the user's own file, `false` for none. Default: `headrace/AGENTS.md` in the folder for configuration. */
  global?: string | false
  /** Absolute folders outside the project's root that links and imports may lead to. */
  roots: string[]
  /** Whether folders below the working directory are looked at when a tool touches them. */
  nested: boolean
  /** Names of folders below which nothing is looked for when a tool touches them. */
  skip: string[]
  /** Fields of a call's input that hold paths: a string, or a list of them. */
  pathFields: string[]
  /** Bytes of text that one announcement holds. */
  budget: number
  /** Bytes of one file; a larger one is not read. */
  maxFile: number
  /** Imports inside imports, at most. */
  importDepth: number
  /** Imported files of one announcement, at most. */
  importFiles: number
}

const fileNames = (...names: string[]) => z.array(z.string()).default(names)

/** Instruction files that people have for other agents, in the order they count. */
export const OTHER_NAMES: readonly string[] = ['CLAUDE.md', '.claude/CLAUDE.md', 'GEMINI.md', '.github/copilot-instructions.md', '.cursorrules']
/** The same for overlays that are not shared. */
export const OTHER_LOCAL: readonly string[] = ['CLAUDE.local.md']

export const Config: z<Partial<Config>, Config> = strict(z.object({
  names: fileNames('AGENTS.md').description('Names of instruction files; the first in a folder that holds text counts.'),
  local: fileNames('AGENTS.local.md').description('Names of overlays that are not shared; they stand behind the folder\'s own.'),
  otherAgents: z.boolean().default(false)
    .description('Read CLAUDE.md, GEMINI.md and their like in a folder that has no file of names; they are reported otherwise.'),
  projectMarkers: fileNames('.git').description('Names that mark the project\'s root.'),
  global: z.union([z.const(false as const), z.string()]).description('The user\'s own file, false for none. Default: headrace/AGENTS.md in $XDG_CONFIG_HOME or ~/.config.'),
  roots: z.array(z.string()).default([]).description('Absolute folders, beside the project\'s root, that links and imports may lead to.'),
  nested: z.boolean().default(true).description('Look at folders below the working directory when a tool touches them.'),
  skip: z.array(z.string()).default(['.git', 'node_modules']).description('Names of folders below which nothing is looked for: the instructions there are not this project\'s.'),
  pathFields: z.array(z.string()).default([...PATH_FIELDS])
    .description('Fields of a call\'s input that hold paths.'),
  budget: z.natural().min(64).default(32_768).description('Bytes of text that one announcement holds.'),
  maxFile: z.natural().min(64).max(67_108_864).default(1_048_576).description('Bytes of one file; a larger one is not read.'),
  importDepth: z.natural().default(5).description('Imports inside imports, at most.'),
  importFiles: z.natural().default(64).description('Imported files of one announcement, at most.'),
}))

/** A config that is invalid. */
export class AgentsMdConfigError extends HeadraceError {
  constructor(problem: string) {
    super('CONFIG_INVALID', `agents-md: ${problem}`)
  }
}

/** The config with the user's own file found. @throws AgentsMdConfigError for a name that is a path, or a path that is relative */
export function settle(config: Config, env: NodeJS.ProcessEnv = process.env, home = homedir()): Config {
  for (const name of [...config.names, ...config.local]) {
    if (name === '' || name === '.' || name === '..' || /[/\\\0]/.test(name)) throw new AgentsMdConfigError(`${JSON.stringify(name)} is not a file's name; names and local are looked for in each folder`)
  }
  for (const path of [...config.roots, ...(config.global ? [config.global] : [])]) {
    if (!isAbsolute(path)) throw new AgentsMdConfigError(`roots and global must be absolute paths, not ${JSON.stringify(path)}`)
  }
  if (config.global !== undefined) return config
  return { ...config, global: join(configHome(env, home), 'headrace', 'AGENTS.md') }
}
