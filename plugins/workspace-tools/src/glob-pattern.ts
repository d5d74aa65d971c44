import { WorkspaceError } from './error.ts'
import { compileSegment } from './glob-segment.ts'
import { shownName } from './text.ts'

/** Where in the alternatives of a pattern a path stands; empty: nothing below it can match. */
export type GlobState = readonly (readonly [alternative: number, position: number])[]

type Step = '**' | ((name: string) => boolean)

const MAX_ALTERNATIVES = 1_000

/**
 * A glob for paths: what {@link compileSegment} knows in each name, `**` for any number of folders, `{a,b}` for either.
 * A pattern without `/` is for names at any depth; `./` in front binds it to the top.
 *
 * It is fed name by name on the way down, so that a walk leaves folders where nothing can match.
 */
export class GlobPattern {
  private readonly alternatives: readonly (readonly Step[])[]

  /** @throws WorkspaceError for more than 1,000 alternatives */
  constructor(pattern: string, options: { readonly braces: boolean } = { braces: true }) {
    this.alternatives = (options.braces ? expandBraces(pattern) : [pattern]).map(compilePath)
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

function compilePath(path: string): Step[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  const steps = names.map((name): Step => (name === '**' ? '**' : compileSegment(name)))
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
