import { shownName } from '@headrace/files'
import { WorkspaceError } from './error.ts'

/** The state of matching a path against the alternatives of a pattern; empty: nothing below it can match. */
export type GlobState = readonly (readonly [alternative: number, position: number])[]

type Step = '**' | ((name: string) => boolean)

const MAX_ALTERNATIVES = 1_000

/**
 * A glob for paths: what {@link compileSegment} knows in each name, `**` for any number of folders, `{a,b}` for either.
 * A pattern without `/` is for names at any depth; `./` in front binds it to the top.
 *
 * It is fed name by name on the way down, so that a walk skips folders where nothing can match.
 */
export class GlobPattern {
  private readonly alternatives: readonly (readonly Step[])[]

  /** @throws WorkspaceError for more than 1,000 alternatives */
  constructor(pattern: string, options: { readonly braces: boolean } = { braces: true }) {
    this.alternatives = (options.braces ? expandBraces(pattern) : [pattern]).map((path) => compilePath(path, options.braces))
  }

  start(): GlobState {
    return this.closed(this.alternatives.map((_, alternative) => [alternative, 0] as const))
  }

  /** The state after one more name of the path. */
  step(state: GlobState, name: string): GlobState {
    const next: (readonly [number, number])[] = []
    for (const [alternative, position] of state) {
      const step = this.alternatives[alternative]?.[position]
      if (step === '**') next.push([alternative, position])
      else if (step?.(name)) next.push([alternative, position + 1])
    }
    return this.closed(next)
  }

  /** True where the names so far are a whole match. */
  matches(state: GlobState): boolean {
    return state.some(([alternative, position]) => position === this.alternatives[alternative]?.length)
  }

  /** The same for a path at once. */
  test(names: readonly string[]): boolean {
    return this.matches(names.reduce((state, name) => this.step(state, name), this.start()))
  }

  /** `**` also stands for no folder at all. */
  private closed(state: GlobState): GlobState {
    const seen = new Set<string>()
    const all: (readonly [number, number])[] = []
    for (const [alternative, first] of state) {
      const steps = this.alternatives[alternative] ?? []
      for (let position = first; ; position++) {
        const key = `${alternative}:${position}`
        if (seen.has(key)) break
        seen.add(key)
        all.push([alternative, position])
        if (steps[position] !== '**') break
      }
    }
    return all
  }
}

function compilePath(path: string, literalBrackets: boolean): Step[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  const steps = names.map((name): Step => (name === '**' ? '**' : compileSegment(name, literalBrackets)))
  if (path.endsWith('/')) steps.push('**')
  // `a/**` is what is in `a`, not `a` itself.
  if (steps.at(-1) === '**') steps.push(() => true)
  return path.includes('/') ? steps : ['**', ...steps]
}

/** `a{b,c}d` is `abd` and `acd`; nested as deep as it is written; braces without a comma mean themselves. */
export function expandBraces(pattern: string): string[] {
  let done: string[] = ['']
  const todo = splitBraces(pattern)
  for (const options of todo) {
    const expanded = options.length === 1 ? options : options.flatMap(expandBraces)
    if (done.length * expanded.length > MAX_ALTERNATIVES) {
      throw new WorkspaceError('PATTERN_INVALID', `The pattern ${shownName(pattern.slice(0, 100))} has more than ${MAX_ALTERNATIVES} alternatives; write a simpler one.`)
    }
    done = done.flatMap((start) => expanded.map((end) => start + end))
  }
  return done
}

/** The pattern as a row of plain pieces (one option) and brace groups (their options). */
function splitBraces(pattern: string): string[][] {
  const row: string[][] = []
  let plain = ''
  for (let at = 0; at < pattern.length; at++) {
    const group = pattern[at] === '{' ? readGroup(pattern, at) : undefined
    if (group !== undefined) {
      row.push([plain], group.options)
      plain = ''
      at = group.end
    } else {
      plain += pattern[at] === '\\' && at + 1 < pattern.length ? `\\${pattern[++at]}` : pattern[at]
    }
  }
  return [...row, [plain]]
}

function readGroup(pattern: string, start: number): { readonly options: string[]; readonly end: number } | undefined {
  const options: string[] = []
  let depth = 0
  let from = start + 1
  for (let at = start; at < pattern.length; at++) {
    const char = pattern[at]
    if (char === '\\') at++
    else if (char === '{') depth++
    else if (char === ',' && depth === 1) {
      options.push(pattern.slice(from, at))
      from = at + 1
    } else if (char === '}' && --depth === 0) {
      return options.length === 0 ? undefined : { options: [...options, pattern.slice(from, at)], end: at }
    }
  }
  return undefined
}

type Part =
  | { readonly kind: 'literal'; readonly char: string }
  | { readonly kind: 'any' | 'star' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] }

/**
 * A glob for one name: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before a character that means itself.
 *
 * @param literalBrackets whether brackets stand for themselves too: `[slug]` is the name of many a folder
 *
 * Matching takes at most pattern × name steps. The well-known glob libraries compile to a backtracking expression, where
 * eight stars on a name of sixty characters take minutes.
 */
export function compileSegment(segment: string, literalBrackets = false): (name: string) => boolean {
  const parts = parse(segment)
  if (literalBrackets && parts.some((part) => part.kind === 'class')) {
    const literal = parse(segment, false)
    return (name) => matches(parts, Array.from(name)) || matches(literal, Array.from(name))
  }
  if (parts.every((part) => part.kind === 'literal')) {
    const literal = parts.map((part) => part.char).join('')
    return (name) => name === literal
  }
  return (name) => matches(parts, Array.from(name))
}

/** True where a segment says more than one name. */
export function isMagic(segment: string): boolean {
  for (let at = 0; at < segment.length; at++) {
    if (segment[at] === '\\') at++
    else if ('*?[{'.includes(segment[at] as string)) return true
  }
  return false
}

function parse(segment: string, hasClasses = true): Part[] {
  const chars = Array.from(segment)
  const parts: Part[] = []
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] as string
    if (char === '*') {
      parts.push({ kind: 'star' })
    } else if (char === '?') {
      parts.push({ kind: 'any' })
    } else if (char === '[' && hasClasses) {
      const end = classEnd(chars, at)
      parts.push(end < 0 ? { kind: 'literal', char } : parseClass(chars.slice(at + 1, end)))
      if (end >= 0) at = end
    } else {
      if (char === '\\' && at + 1 < chars.length) at++
      parts.push({ kind: 'literal', char: chars[at] as string })
    }
  }
  return parts
}

/** A `]` right behind `[` or `[!` is a member. */
function classEnd(chars: readonly string[], start: number): number {
  let at = start + 1
  if (chars[at] === '!' || chars[at] === '^') at++
  if (chars[at] === ']') at++
  for (; at < chars.length; at++) {
    if (chars[at] === '\\') at++
    else if (chars[at] === ']') return at
  }
  return -1
}

function parseClass(body: readonly string[]): Part {
  const negated = body[0] === '!' || body[0] === '^'
  const members = body.slice(negated ? 1 : 0)
  const ranges: (readonly [string, string])[] = []
  let at = 0
  const next = (): string => {
    if (members[at] === '\\' && at + 1 < members.length) at++
    return members[at++] as string
  }
  while (at < members.length) {
    const low = next()
    const isRange = members[at] === '-' && at + 1 < members.length
    if (isRange) at++
    ranges.push([low, isRange ? next() : low])
  }
  return { kind: 'class', negated, ranges }
}

/** On a mismatch only the last star takes one character more: an earlier one could not help. */
function matches(parts: readonly Part[], name: readonly string[]): boolean {
  let part = 0
  let char = 0
  let star = -1
  let starChar = 0
  while (char < name.length) {
    const wanted = parts[part]
    if (wanted?.kind === 'star') {
      star = part++
      starChar = char
    } else if (wanted !== undefined && takes(wanted, name[char] as string)) {
      part++
      char++
    } else if (star >= 0) {
      part = star + 1
      char = ++starChar
    } else {
      return false
    }
  }
  while (parts[part]?.kind === 'star') part++
  return part === parts.length
}

function takes(part: Part, char: string): boolean {
  if (part.kind === 'literal') return part.char === char
  if (part.kind === 'class') return part.ranges.some(([low, high]) => inRange(char, low, high)) !== part.negated
  return part.kind === 'any'
}

function inRange(char: string, low: string, high: string): boolean {
  const code = char.codePointAt(0) ?? 0
  return code >= (low.codePointAt(0) ?? 0) && code <= (high.codePointAt(0) ?? 0)
}
