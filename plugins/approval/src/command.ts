import { parse } from 'unbash'

/** A command line, as rules see it. */
export interface CommandLine {
  /** The words, where it is one simple command; undefined for anything else. */
  readonly words: readonly string[] | undefined
  /** The words of all commands anywhere in it, as far as they can be parsed. */
  readonly all: readonly (readonly string[])[]
}

/** Characters of plain words; anything else must be quoted. */
const PLAIN = /^(?:[\p{L}\p{N}_.,:@%+=/ -]|'[^']*'|"[^"$`\\!]*")*$/u
const PIECE = /'([^']*)'|"([^"]*)"|([^'"]+)/g
const WORD = /(?:[^ '"]|'[^']*'|"[^"]*")+/g
/** Control and invisible characters: a shell may read them differently than a person. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u
/** Words that are no command, or run another one. */
const KEYWORDS: ReadonlySet<string> = new Set(['time', 'coproc', 'if', 'then', 'else', 'elif', 'fi', 'for', 'while', 'until', 'do', 'done', 'case', 'esac', 'select', 'function', 'in'])

/** Reads a command line. Unless both parsers see the same simple command, it counts as none: it fails closed. */
export function readCommand(text: string): CommandLine {
  const script = parse(text)
  const found = commandsIn(script)
  const all = [...found, ...found.flatMap((words) => runBy(words))]
  const own = plainWords(text)
  const [only, ...more] = script.commands
  const isOne = only?.type === 'Statement' && more.length === 0 && only.command.type === 'Command' && (script.errors ?? []).length === 0
  const theirs = isOne && found.length === 1 ? found[0] : undefined
  const isSame = own?.length === theirs?.length && own?.every((word, index) => word === theirs?.[index])
  return { words: isSame ? own : undefined, all }
}

/** Words and quotes, and nothing else: no operator, expansion, redirection, assignment, pattern, comment or escape. */
function plainWords(text: string): readonly string[] | undefined {
  if (UNSEEN.test(text) || !PLAIN.test(text)) return undefined
  const words = (text.match(WORD) ?? []).map((word) => word.replace(PIECE, (_, single?: string, double?: string, bare?: string) => single ?? double ?? bare ?? ''))
  const first = /[^ ]+/.exec(text)?.[0]
  if (first === undefined) return undefined
  // Quoted it would be a plain word; a shell recognises it only unquoted.
  if (KEYWORDS.has(first) || /^[^'"]*=/.test(first)) return undefined
  return words
}

interface Node {
  readonly type?: unknown
  readonly name?: { readonly value?: unknown }
  readonly parts?: unknown
  readonly script?: unknown
  readonly expression?: unknown
  readonly suffix?: readonly { readonly type?: unknown; readonly value?: unknown; readonly text?: unknown }[]
}

/** All simple commands of a parsed script, also inside substitutions and functions. */
function commandsIn(node: unknown, seen = new Set<object>()): string[][] {
  if (typeof node !== 'object' || node === null || seen.has(node)) return []
  seen.add(node)
  const { type, name, suffix = [], parts, script, expression } = node as Node
  // Some are lazy getters, not own fields.
  const inside = [...Object.values(node) as unknown[], parts, script, expression].flatMap((value) => commandsIn(value, seen))
  if (type !== 'Command') return inside
  const words = [name, ...suffix.filter((part) => part.type === 'Word')].flatMap((word) => (typeof word?.value === 'string' ? [word.value] : []))
  return [words, ...inside]
}

/** Commands that run the command behind their options. */
const WRAPPERS: ReadonlySet<string> = new Set(['sudo', 'doas', 'env', 'command', 'builtin', 'exec', 'nice', 'ionice', 'nohup', 'setsid', 'stdbuf', 'time', 'timeout', 'xargs', 'busybox'])
const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash'])

/** The words of some commands. */
type Words = readonly (readonly string[])[]

/** The commands that a command runs, where it is one of the usual wrappers or shells: what people mean by a rule that asks or denies. */
function runBy(words: readonly string[], depth = 0): Words {
  const [first = '', ...rest] = words
  const name = first.slice(first.lastIndexOf('/') + 1)
  if (depth === 4) return []
  const further = (found: Words): Words => found.flatMap((one) => [one, ...runBy(one, depth + 1)])
  if (name === 'eval') return further(commandsIn(parse(rest.join(' '))))
  if (SHELLS.has(name)) {
    const at = rest.findIndex((word) => /^-[a-z]*c$/i.test(word))
    return at < 0 || rest[at + 1] === undefined ? [] : further(commandsIn(parse(rest.slice(at + 1).find((word) => word !== '--') ?? '')))
  }
  if (!WRAPPERS.has(name)) return []
  const begin = rest.findIndex((word) => !/^-|^\w+=|^\d+(?:\.\d+)?[smhd]?$/.test(word))
  if (begin < 0) return []
  // Behind an option its value may stand.
  const hasOption = rest.slice(0, begin).some((word) => word.startsWith('-'))
  return further([rest.slice(begin), ...(hasOption && begin + 1 < rest.length ? [rest.slice(begin + 1)] : [])])
}

/** Words as a rule writes them, quoted where needed. */
export function quoteWords(words: readonly string[]): string | undefined {
  if (words.some((word) => word.includes('\'') || UNSEEN.test(word))) return undefined
  return words.map((word) => (/^[\p{L}\p{N}_.,:@%+=/-]+$/u.test(word) ? word : `'${word}'`)).join(' ')
}
