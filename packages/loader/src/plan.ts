import { readFile } from 'node:fs/promises'
import type { Plugin } from 'cordis'
import { pathText, problemsOf } from '@headrace/config'
import { messageOf } from '@headrace/message'
import { type Entry, readEntries } from './entry.ts'
import { type Environment, interpolate } from './interpolate.ts'
import type { Modules } from './modules.ts'
import { LoaderError, type Problem } from './problem.ts'

/** An entry with its module imported and its config read and checked: ready to run. */
export interface Plan {
  readonly entry: Entry
  readonly plugin: Plugin
  readonly config: unknown
}

/** What a file wants. */
export interface Wanted {
  /** Ids in the order of the file; disabled ones are not wanted. */
  readonly order: readonly string[]
  /** Those that can be had. */
  readonly plans: readonly Plan[]
  /** Why the others cannot. */
  readonly problems: readonly Problem[]
}

/**
 * Reads an app's file, imports its modules and checks their configs. Starts nothing. @throws LoaderError for a file
 * that is no list of entries
 */
export async function readApp(file: string, shown: string, modules: Modules, env: Environment): Promise<Wanted> {
  const entries = readEntries(shown, await readText(file, shown)).filter(({ disabled }) => !disabled)
  const plans: Plan[] = []
  const problems: Problem[] = []
  for (const entry of entries) {
    const found = await planOf(entry, modules, env)
    if ('plugin' in found) plans.push(found)
    else problems.push(...found.problems)
  }
  return { order: entries.map(({ id }) => id), plans, problems }
}

async function readText(file: string, shown: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : `it cannot be read: ${messageOf(error)}`
    throw new LoaderError('APP_INVALID', [{ place: { file: shown, line: 1, column: 1 }, message: why }])
  }
}

async function planOf(entry: Entry, modules: Modules, env: Environment): Promise<Plan | { readonly problems: readonly Problem[] }> {
  let plugin: Plugin
  try {
    plugin = await modules.plugin(entry)
  } catch (error) {
    return { problems: [entry.problem(messageOf(error), 'name')] }
  }
  const { config, problems } = interpolate(entry, env)
  const wrong = problems.length > 0 ? problems : checkConfig(entry, plugin.Config, config)
  return wrong.length > 0 ? { problems: wrong } : { entry, plugin, config }
}

/** What is wrong with an entry's config, by the plugin's own `Config`, with its lines. */
export function checkConfig(entry: Entry, schema: unknown, config: unknown): readonly Problem[] {
  return problemsOf(schema, config).map(({ path, message }) => entry.problem(`${pathText(path)}: ${message}`, { config: path }))
}
