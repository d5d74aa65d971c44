import { GlobPattern } from './glob-pattern.ts'
import { compileSegment } from './glob-segment.ts'

interface Rule {
  readonly negated: boolean
  readonly foldersOnly: boolean
  readonly test: (names: readonly string[]) => boolean
}

/** The rules of one `.gitignore`, for paths below its folder. */
export class IgnoreFile {
  private readonly rules: readonly Rule[]

  constructor(text: string) {
    this.rules = text.replace(/^\ufeff/, '').split(/\r?\n/).map(parseRule).filter((rule) => rule !== undefined).reverse()
  }

  /** True: ignored; false: taken back by a `!` rule; `undefined`: this file says nothing of it. Its parents are not looked at. */
  judge(names: readonly string[], isFolder: boolean): boolean | undefined {
    const rule = this.rules.find(({ foldersOnly, test }) => (isFolder || !foldersOnly) && test(names))
    return rule === undefined ? undefined : !rule.negated
  }
}

function parseRule(line: string): Rule | undefined {
  let pattern = withoutSpaces(line)
  if (pattern === '' || pattern.startsWith('#')) return undefined
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const foldersOnly = pattern.endsWith('/')
  if (foldersOnly) pattern = pattern.slice(0, -1)
  if (pattern === '') return undefined
  const test = pattern.includes('/') ? testPath(pattern) : testName(pattern)
  return { negated, foldersOnly, test }
}

function testName(pattern: string): Rule['test'] {
  const matches = compileSegment(pattern)
  return (names) => matches(names.at(-1) ?? '')
}

function testPath(pattern: string): Rule['test'] {
  // Braces mean themselves in a .gitignore.
  const glob = new GlobPattern(`./${pattern}`, { braces: false })
  return (names) => glob.test(names)
}

/** Spaces at the end are nothing, unless a backslash keeps one. Not an expression: those take n² on a line of spaces. */
function withoutSpaces(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ') end--
  let slashes = 0
  while (line[end - 1 - slashes] === '\\') slashes++
  return line.slice(0, slashes % 2 === 1 && end < line.length ? end + 1 : end)
}
