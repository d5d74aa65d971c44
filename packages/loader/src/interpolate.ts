import { pathText } from '@headrace/config'
import type { Path } from './document.ts'
import type { Entry } from './entry.ts'
import type { Problem } from './problem.ts'

/** The variables that `${NAME}` reads. */
export type Environment = Readonly<Record<string, string | undefined>>

/** `$${`, which stands for `${`; or a reference, its closing brace where it has one. */
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/

/** A copy of an entry's config with its variables read. What is missing is told by name, each of them. */
export function interpolate(entry: Entry, env: Environment): { readonly config: unknown; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const copy = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      if (!value.includes('${')) return value
      const read = readText(value, env, (message) => void problems.push(entry.problem(`${pathText(path)}: ${message}`, { config: path })))
      // Text without quotes is what YAML makes of it; only what loses nothing: 0012 and 1e5 stay text.
      return entry.isPlain(path) && !value.includes('$${') ? typed(read) : read
    }
    if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item, [...path, key])]))
  }
  return { config: copy(entry.config, []), problems }
}

function readText(text: string, env: Environment, wrong: (message: string) => void): string {
  return text.replace(REFERENCE, (reference, inner: string | undefined, end: string | undefined) => {
    if (reference === '$${') return '${'
    const [, name, otherwise] = NAME.exec(inner ?? '') ?? []
    if (name === undefined || end !== '}') {
      wrong('a variable is ${NAME} or ${NAME:-default}; write $${ for the characters themselves')
      return ''
    }
    // Not what every object has by that name.
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    // As a shell does: a default also stands for what is set to nothing.
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
