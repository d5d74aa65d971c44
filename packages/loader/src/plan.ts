import { readFile } from 'node:fs/promises'
import { Inject, type Plugin } from 'cordis'
import { pathText, problemsOf } from '@headrace/config'
import { messageOf, nearest } from '@headrace/message'
import type { Path } from './document.ts'
import { type Entry, readEntries } from './entry.ts'
import type { Modules } from './modules.ts'
import { LoaderError, type Problem } from './problem.ts'

/** An entry with its module imported and its config read and checked: ready to run. */
export interface Plan {
  readonly entry: Entry
  readonly plugin: Plugin
  readonly config: unknown
}

/** The plan of a file. */
export interface Wanted {
  /** Ids in the order of the file; disabled ones are not wanted. */
  readonly order: readonly string[]
  /** Entries that can be loaded. */
  readonly plans: readonly Plan[]
  /** Why the others cannot be loaded. */
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
  const misnamed = misnamedProblem(entry.id, plugin)
  if (misnamed !== undefined) return { problems: [entry.problem(misnamed)] }
  const { config, problems } = interpolate(entry, env)
  const wrong = problems.length > 0 ? problems : checkConfig(entry, plugin.Config, config)
  return wrong.length > 0 ? { problems: wrong } : { entry, plugin, config }
}

/** Services that an entry waits for and that no module of the file provides, as far as that is known of all of them. */
export function missingServices(plans: readonly Plan[], provided: Readonly<Record<string, readonly string[]>>): readonly Problem[] {
  if (!plans.every(({ entry }) => Object.hasOwn(provided, entry.name))) return []
  const there = new Set(plans.flatMap(({ entry }) => provided[entry.name]!))
  return plans.flatMap(({ entry, plugin }) => {
    const missing = Object.keys(Inject.resolve(plugin.inject)).filter((service) => !there.has(service))
    return missing.map((service) => {
      const from = Object.keys(provided).find((module) => provided[module]!.includes(service))
      return entry.problem(`waits for the service ${service}, which nobody here provides${from === undefined ? '' : `; add an entry ${from}`}`)
    })
  })
}

/** What is wrong with an entry's config, by the plugin's own `Config`, with its lines. */
export function checkConfig(entry: Entry, schema: unknown, config: unknown): readonly Problem[] {
  return problemsOf(schema, config).map(({ path, message }) => entry.problem(`${pathText(path)}: ${message}`, { config: path }))
}

/** True for an id of the form `name:word`, `name` being the plugin's: the entry signs with it. Other ids are never signed with. */
export function signedBy(id: string, { name }: Plugin): boolean {
  const [, own, word] = /^(.+?):([\p{L}\p{N}._-]+)$/u.exec(id) ?? []
  return own !== undefined && word !== undefined && own === name
}

/** The problem of an id that nearly has that form: the entry would silently sign with the plugin's name. */
function misnamedProblem(id: string, plugin: Plugin): string | undefined {
  const { name } = plugin
  const colon = id.indexOf(':')
  if (colon < 0 || !name || signedBy(id, plugin)) return undefined
  const own = id.slice(0, colon).trim()
  if (own !== '' && own !== name && nearest(own, [name]) === '') return undefined
  return `an entry signs with an id of the form name:word, as in ${name}:work; the name is the plugin's, ${name}, and the word has letters, digits, ".", "_" and "-" only`
}

// --- Variables ---

/** The variables that `${NAME}` reads. */
export type Environment = Readonly<Record<string, string | undefined>>

/** `$${`, which stands for `${`; or a reference, its closing brace where it has one. */
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/

/** A copy of an entry's config with its variables replaced; each missing one is a problem that names it. */
export function interpolate(entry: Entry, env: Environment): { readonly config: unknown; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const copy = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      if (!value.includes('${')) return value
      const read = replaceVariables(value, env, (message) => void problems.push(entry.problem(`${pathText(path)}: ${message}`, { config: path })))
      // Unquoted text is typed as YAML would, but only without loss: 0012 and 1e5 stay text.
      return entry.isPlain(path) && !value.includes('$${') ? typed(read) : read
    }
    if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item, [...path, key])]))
  }
  return { config: copy(entry.config, []), problems }
}

function replaceVariables(text: string, env: Environment, wrong: (message: string) => void): string {
  return text.replace(REFERENCE, (reference, inner: string | undefined, end: string | undefined) => {
    if (reference === '$${') return '${'
    const [, name, otherwise] = NAME.exec(inner ?? '') ?? []
    if (name === undefined || end !== '}') {
      wrong('a variable is ${NAME} or ${NAME:-default}; write $${ for the characters themselves')
      return ''
    }
    // Own properties only, never inherited ones.
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    // As in a shell, the default also replaces an empty value.
    if (otherwise !== undefined) return value === undefined || value === '' ? otherwise : value
    if (value === undefined) wrong(`the variable ${name} is not set; set it, or write \${${name}:-default}`)
    return value ?? ''
  })
}

function typed(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return text !== '' && Number.isFinite(number) && String(number) === text ? number : text
}
