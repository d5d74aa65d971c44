import { cutAfter } from '@headrace/files'
import { WorkspaceError } from './error.ts'
import { type Folding, fold } from './folded-text.ts'

export interface Replacement {
  readonly text: string
  /** Line numbers, from 1, of the first ten replaced places, in the old text. */
  readonly lines: readonly number[]
  readonly count: number
}

export interface ReplaceInput {
  readonly old: string
  readonly new: string
  readonly all?: boolean
}

/** Counting stops here: a short text in a large file must not take minutes. */
const MAX_COUNT = 10_000

/**
 * Replaces a text that must be there exactly once, or everywhere with `all`. The model does not see line breaks, byte order marks, how a
 * character is composed, or which space does not break: what differs in those alone is found all the same, and is kept where it is.
 *
 * @throws WorkspaceError that says where the text is, or what comes nearest to it
 */
export function replaceText(text: string, input: ReplaceInput, shown: string): Replacement {
  const wanted = input.old.replace(/^\ufeff/, '')
  if (wanted === '') throw new WorkspaceError('NO_MATCH', 'The old text is empty; to write a whole file use write.')
  if (input.old === input.new) throw new WorkspaceError('NO_MATCH', 'The old and the new text are the same; nothing to do.')
  const all = input.all === true
  const found = findIn(text, wanted, { loose: false }, all) ?? findIn(text, wanted, { loose: true }, all)
  if (!found) throw new WorkspaceError('NO_MATCH', `${shown} does not have the old text. ${hint(text, wanted)}`)
  const { places } = found
  const lines = lineNumbers(text, places.slice(0, 10).map(({ start }) => start))
  if (places.length > 1 && !all) {
    const count = places.length > MAX_COUNT ? `more than ${MAX_COUNT}` : String(places.length)
    throw new WorkspaceError('MANY_MATCHES', `${shown} has the old text ${count} times, at line ${lines.join(', ')}${places.length > 10 ? ', …' : ''}; `
      + 'add the lines around it to say which, or set all.')
  }
  return { text: splice(text, places, wanted, input.new.replace(/^\ufeff/, ''), found.folding), lines, count: places.length }
}

/** A place in the file's own text. */
interface Place {
  readonly start: number
  readonly end: number
}

/**
 * With `all` the places to replace, which do not overlap; without it every place, so that none of two is picked by
 * chance. Nothing where there is none.
 */
function findIn(
  text: string,
  old: string,
  folding: Folding,
  all: boolean,
): { readonly places: readonly Place[]; readonly folding: Folding } | undefined {
  const folded = fold(text, folding)
  const wanted = fold(old, folding).text
  const places: Place[] = []
  for (let at = folded.text.indexOf(wanted); at >= 0 && (all || places.length <= MAX_COUNT);) {
    const [start, end] = [folded.originalAt(at), folded.originalAt(at + wanted.length)]
    const isPlace = start !== undefined && end !== undefined
    if (isPlace) places.push({ start, end })
    at = folded.text.indexOf(wanted, at + (isPlace && all ? wanted.length : 1))
  }
  return places.length === 0 ? undefined : { places, folding }
}

function splice(text: string, places: readonly Place[], old: string, put: string, folding: Folding): string {
  const isCrlf = usesCrlf(text)
  const pieces: string[] = []
  let from = 0
  for (const { start, end } of places) {
    pieces.push(text.slice(from, start), putFor(text.slice(start, end), old, put, folding, breakNear(text, start) ?? (isCrlf ? '\r\n' : '\n')))
    from = end
  }
  return [...pieces, text.slice(from)].join('')
}

/**
 * The replacement for a place: the new text; its common prefix and suffix with the old text, and line breaks, are kept
 * as they are in the file.
 */
function putFor(there: string, old: string, put: string, folding: Folding, lineBreak: string): string {
  const [here, before, after] = [fold(there, folding), fold(old, folding).text, put.replace(BREAK, '\n')]
  const folded = fold(after, folding)
  let head = 0
  while (head < Math.min(before.length, folded.text.length) && before[head] === folded.text[head]) head++
  while (head > 0 && (here.originalAt(head) === undefined || folded.originalAt(head) === undefined)) head--
  let tail = 0
  const room = Math.min(before.length, folded.text.length) - head
  while (tail < room && before.at(-1 - tail) === folded.text.at(-1 - tail)) tail++
  while (
    tail > 0 &&
    (here.originalAt(before.length - tail) === undefined || folded.originalAt(folded.text.length - tail) === undefined)
  )
    tail--
  const [start, end] = [here.originalAt(head)!, here.originalAt(before.length - tail)!]
  const middle = after.slice(folded.originalAt(head), folded.originalAt(folded.text.length - tail))
  const breaks = there.slice(start, end).match(/\r\n?|\n/g) ?? []
  let index = 0
  const fitted = middle.replace(/\n/g, () => breaks[index++] ?? breaks.at(-1) ?? lineBreak)
  return there.slice(0, start) + fitted + there.slice(end)
}

const BREAK = /\r\n?/g

/** The line break after a place, or else before it: in a file with mixed ones the neighbours decide. */
function breakNear(text: string, at: number): string | undefined {
  const next = /\r\n?|\n/g
  next.lastIndex = at
  const behind = next.exec(text)?.[0]
  if (behind !== undefined) return behind
  const before = Math.max(text.lastIndexOf('\n', at - 1), text.lastIndexOf('\r', at - 1))
  if (at === 0 || before < 0) return undefined
  return text[before] === '\r' ? '\r' : text[before - 1] === '\r' ? '\r\n' : '\n'
}

/** True where more than half of the line breaks are `\r\n`. */
function usesCrlf(text: string): boolean {
  let all = 0
  let crlf = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    all++
    if (text[at - 1] === '\r') crlf++
  }
  return crlf * 2 > all
}

function lineNumbers(text: string, places: readonly number[]): number[] {
  let line = 1
  let from = 0
  return places.map((place) => {
    for (let at = text.indexOf('\n', from); at >= 0 && at < place; at = text.indexOf('\n', at + 1)) {
      line++
      from = at + 1
    }
    return line
  })
}

const AGAIN = 'Read the file again and copy the text exactly.'

function hint(text: string, old: string): string {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n?|\n/)
  const wanted = old.replace(/(?:\r\n?|\n)$/, '').split(/\r\n?|\n/)
  const isNumbered = wanted.every((line) => /^\s*\d+\t/.test(line))
  if (isNumbered && findTrimmed(lines, wanted.map((line) => line.replace(/^\s*\d+\t/, ''))) > 0) return 'Leave out the line numbers that read puts in front.'
  const same = findTrimmed(lines, wanted)
  if (same > 0) return `Line ${same}${wanted.length > 1 ? ` to ${same + wanted.length - 1}` : ''} differs from it only in white space.${differenceIn(lines, same - 1, wanted)} ${AGAIN}`
  const longest = wanted.map((line) => line.trim()).reduce((a, b) => (b.length > a.length ? b : a), '')
  const near = longest.length < 4 ? -1 : lines.findIndex((line) => line.includes(longest))
  if (near >= 0) return `Line ${near + 1} has its line ${JSON.stringify(cutAfter(longest, 120))}, but the lines around differ. ${AGAIN}`
  return `None of its lines is there. ${AGAIN}`
}

/** The first line that differs, in the file and in the old text, with invisible characters escaped. */
function differenceIn(lines: readonly string[], first: number, wanted: readonly string[]): string {
  const at = wanted.findIndex((line, index) => lines[first + index] !== line)
  if (at < 0) return ''
  return ` Line ${first + at + 1} is ${visible(lines[first + at]!)} in the file, and ${visible(wanted[at]!)} in the old text.`
}

function visible(line: string): string {
  const escaped = JSON.stringify(cutAfter(line, 120))
  return escaped.replace(/[^\u0020-\u007e\p{L}\p{N}\p{P}\p{S}]/gu, (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`)
}

/** The line, from 1, where these lines occur, ignoring trailing white space; 0 where they do not. */
function findTrimmed(lines: readonly string[], wanted: readonly string[]): number {
  const trimmed = lines.map((line) => line.trim())
  const goal = wanted.map((line) => line.trim())
  if (goal.every((line) => line === '')) return 0
  return trimmed.findIndex((_, start) => goal.every((line, at) => trimmed[start + at] === line)) + 1
}
