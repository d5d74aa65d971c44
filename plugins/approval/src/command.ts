import { parse } from 'unbash'

/** What a command line is, to a rule. */
export interface CommandLine {
  /** The words of the one simple command that it is; undefined for anything else. */
  readonly words: readonly string[] | undefined
  /** The words of all commands that stand anywhere in it, as far as they can be read. */
  readonly all: readonly (readonly string[])[]
}

/** Words are of these letters, with quotes around what is more. */
const PLAIN = /^(?:[\p{L}\p{N}_.,:@%+=/ -]|'[^']*'|"[^"$`\\!]*")*$/u
const PIECE = /'([^']*)'|"([^"]*)"|([^'"]+)/g
const WORD = /(?:[^ '"]|'[^']*'|"[^"]*")+/g
/** Controls, and all that is not seen: a shell may take it otherwise than a person. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u
/** What would be no command, or another one than it says. */
const KEYWORDS: ReadonlySet<string> = new Set(['time', 'coproc', 'if', 'then', 'else', 'elif', 'fi', 'for', 'while', 'until', 'do', 'done', 'case', 'esac', 'select', 'function', 'in'])

/** Reads a command line. What two readers do not see as the same simple command is none: it fails closed. */
export function readCommand(text: string): CommandLine {
  const script = parse(text)
  const all = commandsIn(script)
  const own = plainWords(text)
  const [only, ...more] = script.commands
  const isOne = only?.type === 'Statement' && more.length === 0 && only.command.type === 'Command' && (script.errors ?? []).length === 0
  const theirs = isOne && all.length === 1 ? all[0] : undefined
  const isSame = own?.length === theirs?.length && own?.every((word, index) => word === theirs?.[index])
  return { words: isSame ? own : undefined, all }
}

/** Words and quotes, and nothing else: no operator, expansion, redirection, assignment, pattern, comment or escape. */
function plainWords(text: string): readonly string[] | undefined {
  if (UNSEEN.test(text) || !PLAIN.test(text)) return undefined
  const words = (text.match(WORD) ?? []).map((word) => word.replace(PIECE, (_, single?: string, double?: string, bare?: string) => single ?? double ?? bare ?? ''))
  const first = /[^ ]+/.exec(text)?.[0]
  if (first === undefined) return undefined
  // Quoted, it would be a word; a shell looks for it bare.
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

/** All simple commands of a parsed script, inside of substitutions and functions too. */
function commandsIn(node: unknown, seen = new Set<object>()): string[][] {
  if (typeof node !== 'object' || node === null || seen.has(node)) return []
  seen.add(node)
  const { type, name, suffix = [], parts, script, expression } = node as Node
  // Some are made when they are asked for, and are no own fields.
  const inside = [...Object.values(node) as unknown[], parts, script, expression].flatMap((value) => commandsIn(value, seen))
  if (type !== 'Command') return inside
  const words = [name, ...suffix.filter((part) => part.type === 'Word')].flatMap((word) => (typeof word?.value === 'string' ? [word.value] : []))
  return [words, ...inside]
}

/** Words as a rule has them: those that need quotes in quotes. */
export function quoteWords(words: readonly string[]): string | undefined {
  if (words.some((word) => word.includes('\'') || UNSEEN.test(word))) return undefined
  return words.map((word) => (/^[\p{L}\p{N}_.,:@%+=/-]+$/u.test(word) ? word : `'${word}'`)).join(' ')
}
