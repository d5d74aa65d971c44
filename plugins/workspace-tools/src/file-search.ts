import { TextDecoder } from 'node:util'
import { cutAfter } from '@headrace/files'
import { messageOf } from '@headrace/message'
import { RE2JS } from 're2js'
import { WorkspaceError } from './error.ts'
import { chunksOf } from './file.ts'
import type { OpenFile } from './file.ts'
import type { ResultList } from './result-list.ts'
import { type Line, LineSplitter, shownLine, sniff } from './text.ts'

export interface SearchOptions {
  readonly pattern: LinePattern
  /** Lines to show before and after each match. */
  readonly context: number
  readonly filesOnly: boolean
  /** Characters shown of one line. */
  readonly maxLine: number
  /** Characters searched of one line. */
  readonly maxSearch: number
  /** Checked now and then: whether the search was cancelled, or its time is up. */
  readonly isOver: () => boolean
  /** Whether the search was ended from outside. */
  readonly isStopped: () => boolean
}

/** The result for one file. */
export interface FileSearched {
  readonly isBinary: boolean
  /** Lines that were too long to be searched completely. */
  readonly longLines: number
  /** The line, from 1, in which the search was ended. */
  readonly stoppedIn?: number
}

/** Searches one file, of any size, line by line, and adds what it finds until the list is full. */
export async function searchFile(file: OpenFile, results: ResultList, options: SearchOptions): Promise<FileSearched> {
  const search = new FileSearch(file.place.shown, results, options)
  const splitter = new LineSplitter(options.maxSearch)
  let decoder: TextDecoder | undefined
  for await (const chunk of chunksOf(file.handle)) {
    if (decoder === undefined) {
      const kind = sniff(chunk.subarray(0, 8_192))
      if (kind !== undefined && kind.kind !== 'utf-16') return { isBinary: true, longLines: 0 }
      decoder = new TextDecoder(kind?.encoding ?? 'utf-8')
    }
    const lines = splitter.push(decoder.decode(chunk, { stream: true }))
    if (!lines.every((line) => search.take(line))) return search.result
    if (options.isOver()) return { ...search.result, ...(options.isStopped() && { stoppedIn: search.number + 1 }) }
  }
  const rest = [...splitter.push(decoder?.decode() ?? ''), ...splitter.end()]
  rest.every((line) => search.take(line))
  return search.result
}

/** Streams one file's lines, and keeps the last ones as context of a possible match. */
class FileSearch {
  private readonly shown: string
  private readonly results: ResultList
  private readonly options: SearchOptions
  private readonly before: string[] = []
  number = 0
  private lastShown = 0
  private after = 0
  private longLines = 0

  constructor(shown: string, results: ResultList, options: SearchOptions) {
    this.shown = shown
    this.results = results
    this.options = options
  }

  get result(): FileSearched {
    return { isBinary: false, longLines: this.longLines }
  }

  /** False where nothing more is wanted of this file. */
  take(line: Line): boolean {
    this.number++
    if (line.length > this.options.maxSearch) this.longLines++
    if (this.options.pattern.test(line.text)) return this.match(line)
    if (this.after > 0) {
      this.after--
      this.lastShown = this.number
      return this.results.addLine(this.contextLine(line, this.number))
    }
    if (this.options.context > 0) {
      this.before.push(this.contextLine(line, this.number))
      if (this.before.length > this.options.context) this.before.shift()
    }
    return true
  }

  private match(line: Line): boolean {
    if (this.options.filesOnly) {
      this.results.add(this.shown)
      return false
    }
    const first = this.number - this.before.length
    const isApart = this.options.context > 0 && this.lastShown > 0 && first > this.lastShown + 1
    const context = [...(isApart ? ['--'] : []), ...this.before]
    this.before.length = 0
    this.after = this.options.context
    this.lastShown = this.number
    return this.results.add(`${this.shown}:${this.number}:${this.around(line)}`, context)
  }

  private contextLine(line: Line, number: number): string {
    return `${this.shown}-${number}-${shownLine(line.text, line.length, this.options.maxLine)}`
  }

  /** A long line is shown from a little before its match. */
  private around(line: Line): string {
    const { maxLine, pattern } = this.options
    if (line.length <= maxLine) return line.text
    const start = Math.max(0, Math.min(pattern.indexIn(line.text) - Math.floor(maxLine / 4), line.text.length - maxLine))
    const text = cutAfter(line.text.slice(start), maxLine)
    const behind = line.length - start - text.length
    return `${start > 0 ? `[${start} characters …] ` : ''}${text}${behind > 0 ? ` [… ${behind} more characters in this line]` : ''}`
  }
}

/**
 * A limit on the program size that re2js reports; a search takes at most this times the length of the text. `\w{1,200}`
 * is 400.
 */
const MAX_PROGRAM = 2_000

/** A regular expression for one line, by an engine that never backtracks: no pattern of a model can hang us. */
export class LinePattern {
  private readonly expression: RE2JS

  /** @throws WorkspaceError for an invalid or too costly expression */
  constructor(pattern: string, ignoreCase: boolean) {
    try {
      this.expression = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
    } catch (error) {
      throw new WorkspaceError('PATTERN_INVALID', `The pattern is not valid: ${messageOf(error)}. It is RE2 syntax: no look-around, no back-references; \\ before a character that means itself.`)
    }
    if (this.expression.programSize() > MAX_PROGRAM) throw new WorkspaceError('PATTERN_INVALID', 'The pattern is too large: repeat less in it.')
  }

  test(line: string): boolean {
    return this.expression.test(line)
  }

  /** Where the first match begins; for a line that matches. */
  indexIn(line: string): number {
    const matcher = this.expression.matcher(line)
    return matcher.find() ? matcher.start() : 0
  }
}
