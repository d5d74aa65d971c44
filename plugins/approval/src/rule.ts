import { isAbsolute } from 'node:path'
import { type CommandLine, readCommand } from './command.ts'
import { ApprovalError } from './error.ts'
import { type Led, pathMatcher } from './path.ts'

/** A call, parsed once for all rules. */
export interface JudgedCall {
  readonly tool: string
  readonly command?: CommandLine
  readonly path?: Led
  /** The call cannot be understood: no rule allows it, and where one could deny it, it is asked for. */
  readonly isUnclear: boolean
}

/** `strict` is for rules that allow: the whole call must match. Other rules match where any part may. */
export type Strictness = 'strict' | 'wide'

/** A rule: for a tool, and perhaps for its argument. */
export interface Rule {
  /** As it was written. */
  readonly text: string
  /** True for a tool that the rule applies to. */
  isFor(tool: string): boolean
  matches(call: JudgedCall, how: Strictness): boolean
}

/**
 * Reads a rule: `tool`, `tool*` (all tools whose names begin so), `bash(npm test *)`, `write(src/**)`.
 *
 * @throws ApprovalError
 */
export function parseRule(text: string, tools: RuledTools): Rule {
  return readRule(text, tools, (problem) => {
    throw new ApprovalError('RULE_INVALID', `the rule ${JSON.stringify(text)} cannot be one: ${problem}`)
  })
}

/** Why a text cannot be a rule; `undefined` where it is one. */
export function ruleProblem(text: string, tools: RuledTools): string | undefined {
  const refused: string[] = []
  try {
    readRule(text, tools, (problem) => {
      refused.push(problem)
      throw new ApprovalError('RULE_INVALID', problem)
    })
  } catch (error) {
    if (refused.length === 0) throw error
  }
  return refused[0]
}

/** Tools whose argument a rule may be about, and that argument's name: a shell command, or a path. */
export interface RuledTools {
  readonly commands: Readonly<Record<string, string>>
  readonly paths: Readonly<Record<string, string>>
}

function readRule(text: string, { commands, paths }: RuledTools, refuse: (problem: string) => never): Rule {
  const found = /^([\w-]+)(\*)?(?:\(([^]*)\))?$/.exec(text)
  if (!found) return refuse('write a tool, or a tool and what it is called with, e.g. bash(npm test *)')
  const [, name, star, inner] = found as unknown as [string, string, string | undefined, string | undefined]
  const isFor = (tool: string): boolean => (star ? tool.startsWith(name) : tool === name)
  if (inner === undefined) return { text, isFor, matches: ({ tool }) => isFor(tool) }
  if (star) return refuse('arguments are judged tool by tool')
  const kind = Object.hasOwn(commands, name) ? commandJudge : Object.hasOwn(paths, name) ? pathJudge : undefined
  const judge = kind?.(inner, refuse)
  if (!judge) return refuse(`say which argument of ${name} it is about: name it in commands or paths`)
  return { text, isFor, matches: (call, how) => isFor(call.tool) && judge(call, how) }
}

type Judge = (call: JudgedCall, how: Strictness) => boolean

function commandJudge(inner: string, refuse: (problem: string) => never): Judge {
  const rest = inner === '*' || inner.endsWith(' *')
  const text = rest ? inner.slice(0, -1) : inner
  const words = text.trim() === '' ? [] : readCommand(text).words
  if (inner.trim() === '' || !words) return refuse('it is the words of one simple command, and perhaps " *" behind them')
  const begins = (given: readonly string[]): boolean => (rest ? given.length >= words.length : given.length === words.length)
    && words.every((word, index) => word === given[index])
  const bare = (given: readonly string[]): readonly string[] => given.map((word, index) => (index === 0 ? word.slice(word.lastIndexOf('/') + 1) : word))
  return ({ command }, how) => {
    if (!command) return false
    if (how === 'strict') return command.words !== undefined && begins(command.words)
    return command.all.some((given) => begins(given) || begins(bare(given)))
  }
}

function pathJudge(pattern: string, refuse: (problem: string) => never): Judge {
  if (pattern.trim() === '' || pattern.split('/').some((part) => part === '..' || part === '.')) return refuse('it is a glob of paths below the folder, or an absolute one')
  let matches: (path: string) => boolean
  try {
    matches = pathMatcher(pattern)
  } catch {
    return refuse('its brackets do not close')
  }
  return ({ path }, how) => {
    if (!path) return false
    const { real, inside, written } = path
    if (isAbsolute(pattern)) return matches(real)
    if (how === 'strict') return inside !== undefined && matches(inside)
    return [inside, written].some((one) => one !== undefined && matches(one))
  }
}
