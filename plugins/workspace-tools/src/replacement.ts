import { cutAfter } from '@headrace/files'
import { WorkspaceError } from './error.ts'

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

/** Counting stops here: a short text in a large file must not cost a minute. */
const MAX_COUNT = 10_000

/**
 * Replaces a text that must be there exactly once, or everywhere with `all`. In a file with `\r\n` a `\n` of the model
 * means its line break: `read` does not show the difference.
 *
 * @throws WorkspaceError that says where the text is, or what comes nearest to it
 */
export function replaceText(text: string, input: ReplaceInput, shown: string): Replacement {
  if (input.old === '') throw new WorkspaceError('NO_MATCH', 'The old text is empty; to write a whole file use write.')
  if (input.old === input.new) throw new WorkspaceError('NO_MATCH', 'The old and the new text are the same; nothing to do.')
  const { wanted, put } = fitLineBreaks(text, input)
  const places = placesOf(text, wanted, input.all === true)
  if (places.length === 0) throw new WorkspaceError('NO_MATCH', `${shown} does not have the old text. ${hint(text, input.old)}`)
  const lines = lineNumbers(text, places.slice(0, 10))
  if (places.length > 1 && input.all !== true) {
    const count = places.length > MAX_COUNT ? `more than ${MAX_COUNT}` : String(places.length)
    throw new WorkspaceError('MANY_MATCHES', `${shown} has the old text ${count} times, at line ${lines.join(', ')}${places.length > 10 ? ', …' : ''}; `
      + 'add the lines around it to say which, or set all.')
  }
  return { text: splice(text, places, wanted.length, put), lines, count: places.length }
}

function fitLineBreaks(text: string, input: ReplaceInput): { readonly wanted: string; readonly put: string } {
  const crlf = (value: string): string => value.replace(/\r?\n/g, '\r\n')
  const isFound = text.includes(input.old)
  if (isFound && input.old.includes('\n')) return { wanted: input.old, put: input.new }
  if (isFound) return { wanted: input.old, put: usesCrlf(text) ? crlf(input.new) : input.new }
  return text.includes(crlf(input.old)) ? { wanted: crlf(input.old), put: crlf(input.new) } : { wanted: input.old, put: input.new }
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

/** With `all` the places to replace, which do not overlap; without it every place, so that none of two is picked by chance. */
function placesOf(text: string, wanted: string, all: boolean): number[] {
  const places: number[] = []
  const step = all ? wanted.length : 1
  for (let at = text.indexOf(wanted); at >= 0 && (all || places.length <= MAX_COUNT); at = text.indexOf(wanted, at + step)) places.push(at)
  return places
}

function splice(text: string, places: readonly number[], length: number, put: string): string {
  const pieces: string[] = []
  let from = 0
  for (const at of places) {
    pieces.push(text.slice(from, at))
    from = at + length
  }
  return [...pieces, text.slice(from)].join(put)
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
  const lines = text.split(/\r?\n/)
  const wanted = old.replace(/\r?\n$/, '').split(/\r?\n/)
  const isNumbered = wanted.every((line) => /^\s*\d+\t/.test(line))
  if (isNumbered && findTrimmed(lines, wanted.map((line) => line.replace(/^\s*\d+\t/, ''))) > 0) return 'Leave out the line numbers that read puts in front.'
  const same = findTrimmed(lines, wanted)
  if (same > 0) return `Line ${same}${wanted.length > 1 ? ` to ${same + wanted.length - 1}` : ''} differs from it only in white space. ${AGAIN}`
  const longest = wanted.map((line) => line.trim()).reduce((a, b) => (b.length > a.length ? b : a), '')
  const near = longest.length < 4 ? -1 : lines.findIndex((line) => line.includes(longest))
  if (near >= 0) return `Line ${near + 1} has its line ${JSON.stringify(cutAfter(longest, 120))}, but the lines around differ. ${AGAIN}`
  return `None of its lines is there. ${AGAIN}`
}

/** The line, from 1, where these lines stand but for white space at their ends; 0 where nowhere. */
function findTrimmed(lines: readonly string[], wanted: readonly string[]): number {
  const trimmed = lines.map((line) => line.trim())
  const goal = wanted.map((line) => line.trim())
  if (goal.every((line) => line === '')) return 0
  return trimmed.findIndex((_, start) => goal.every((line, at) => trimmed[start + at] === line)) + 1
}
