import { kindOf, truthHint } from '@headrace/config'
import { nearest } from '@headrace/message'
import { type Path, YamlFile } from './document.ts'
import { LoaderError, type Place, type Problem } from './problem.ts'

/** An entry of the file: a plugin to load. */
export interface Entry {
  readonly id: string
  /** A package, or a path from the file's folder. */
  readonly name: string
  /** As written in the file. */
  readonly config: unknown
  readonly disabled: boolean
  /** Whether a text of the config stands there without quotes. */
  isPlain(path: Path): boolean
  /** What is wrong with it: at a path of the config, else at one of its own keys. */
  problem(message: string, at?: { readonly config: Path } | 'name'): Problem
}

const KEYS = ['id', 'name', 'config', 'disabled']

/** Reads the entries of an app. @throws LoaderError with all that is wrong with their shape */
export function readEntries(file: string, text: string): readonly Entry[] {
  const yaml = new YamlFile(file, text)
  if (!Array.isArray(yaml.value)) throw new LoaderError('APP_INVALID', [{ place: yaml.at([]), message: `an app is a list of entries such as "- { id: clock, name: ./clock.js }"; this is ${kindOf(yaml.value)}` }])
  const problems: Problem[] = []
  const entries: Entry[] = []
  const places = new Map<string, Place>()
  for (const [index, value] of (yaml.value as readonly unknown[]).entries()) {
    const problem = shapeProblem(yaml, index, value)
    if (problem) {
      problems.push(problem)
      continue
    }
    const entry = toEntry(yaml, index, value as Shape)
    const other = places.get(entry.id)
    if (other) problems.push({ ...entry.problem(`the entry in line ${other.line} has this id already; give each one its own`), place: yaml.at([index, 'id']) })
    else places.set(entry.id, yaml.at([index]))
    entries.push(entry)
  }
  if (problems.length > 0) throw new LoaderError('APP_INVALID', problems)
  return entries
}

interface Shape {
  readonly id?: string
  readonly name: string
  readonly config?: unknown
  readonly disabled?: boolean | null
}

function toEntry(yaml: YamlFile, index: number, { id, name, config, disabled }: Shape): Entry {
  const own = id ?? name
  const pathOf = (at: { readonly config: Path } | 'name' | undefined): Path => {
    if (at === undefined) return [index]
    return at === 'name' ? [index, 'name'] : [index, 'config', ...at.config]
  }
  return {
    id: own, name, config: config ?? undefined, disabled: disabled === true,
    isPlain: (path) => yaml.isPlain([index, 'config', ...path]),
    problem: (message, at) => ({ place: yaml.at(pathOf(at)), entry: own, message }),
  }
}

/** The first problem with the shape of an entry. */
function shapeProblem(yaml: YamlFile, index: number, value: unknown): Problem | undefined {
  const wrong = (message: string, key?: string): Problem => ({ place: yaml.at(key === undefined ? [index] : [index, key]), message })
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(`an entry is a map with a name, not ${kindOf(value)}`)
  const shape = value as Record<string, unknown>
  const unknown = Object.keys(shape).find((key) => !KEYS.includes(key))
  if (unknown !== undefined) return wrong(`an entry has no key ${JSON.stringify(unknown)}${nearest(unknown, KEYS)}; it has ${KEYS.join(', ')}`, unknown)
  const { id, name, disabled } = shape
  if (name === undefined || name === null) return wrong('this entry has no name; name its package, or the path of its module')
  for (const [key, text] of [['name', name], ['id', id]] as const) {
    if (text !== undefined && (typeof text !== 'string' || text.trim() === '')) return wrong(`${key} must be a text, is ${kindOf(text)}${text === '' ? ' without a letter' : ''}`, key)
  }
  if (disabled !== undefined && disabled !== null && typeof disabled !== 'boolean') return wrong(`disabled must be true or false, is ${kindOf(disabled)}${truthHint(disabled)}`, 'disabled')
  return undefined
}
