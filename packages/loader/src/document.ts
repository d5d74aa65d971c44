import {
  type Document, LineCounter, type ParsedNode, type YAMLError, type YAMLWarning, isAlias, isMap, isScalar, isSeq, parseDocument, visit,
} from 'yaml'
import { LoaderError, type Place } from './problem.ts'

export type Path = readonly PropertyKey[]

/** Expanding to more aliases than this is treated as a YAML bomb. */
const MAX_ALIASES = 100

/** A YAML file: its value, and the position of each part. */
export class YamlFile {
  readonly value: unknown
  private readonly file: string
  private readonly document: Document.Parsed
  private readonly lines: LineCounter

  /** @throws LoaderError for what is no YAML; the message quotes nothing of the file */
  constructor(file: string, text: string) {
    this.file = file
    this.lines = new LineCounter()
    // Not silent, so that a second document is reported.
    const own = text.replace(/^\ufeff/, '')
    this.document = parseDocument(own, { stringKeys: true, prettyErrors: false, logLevel: 'error', lineCounter: this.lines })
    const slip = slipOf(this.parsed(own))
    if (slip) throw this.refusal(slip.offset, slip.message)
    visit(this.document, { Alias: (_, alias) => {
      if (!alias.resolve(this.document)) throw this.refusal(alias.range?.[0] ?? 0, wordsFor('BAD_ALIAS'))
    } })
    try {
      this.value = this.document.toJS({ maxAliasCount: MAX_ALIASES })
      JSON.stringify(this.value)
    } catch {
      throw this.refusal(0, 'its aliases expand to too much, or to themselves')
    }
  }

  private parsed(text: string): Parsed {
    const { errors, warnings, contents } = this.document
    const quotes: (readonly [number, number])[] = []
    visit(this.document, { Scalar: (_, { type, range }) => void (type?.startsWith('QUOTE_') && range && quotes.push([range[0], range[1]])) })
    return { text, errors, warnings, root: isMap(contents) ? 'map' : isSeq(contents) ? 'list' : 'other', start: contents?.range[0] ?? 0, quotes }
  }

  private refusal(offset: number, message: string): LoaderError {
    return new LoaderError('APP_INVALID', [{ place: this.place(offset), message }])
  }

  /** The position of a key or an item; of the nearest enclosing one where it does not exist. */
  at(path: Path): Place {
    return this.place(this.find(path).mark?.range?.[0] ?? 0)
  }

  /** True for text without quotes, which YAML may read as a number. */
  isPlain(path: Path): boolean {
    const { value } = this.find(path)
    return isScalar(value) && value.type === 'PLAIN'
  }

  private find(path: Path): { readonly mark: ParsedNode | null; readonly value: ParsedNode | null } {
    let value: ParsedNode | null = this.document.contents
    let mark = value
    for (const segment of path) {
      if (isAlias(value)) value = (value.resolve(this.document) ?? null) as ParsedNode | null
      if (isMap(value)) {
        const pair = value.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment))
        if (!pair) return { mark, value: null }
        mark = pair.key
        value = pair.value
      } else if (isSeq(value) && value.items[Number(segment)]) {
        mark = value = value.items[Number(segment)]!
      } else return { mark, value: null }
    }
    return { mark, value }
  }

  private place(offset: number): Place {
    const { line, col } = this.lines.linePos(offset)
    return { file: this.file, line: Math.max(line, 1), column: Math.max(col, 1) }
  }
}

/** A syntax error, and what to do about it. Never in the parser's words, which quote the file. */
interface Slip {
  readonly offset: number
  readonly message: string
}

type Wrong = Pick<YAMLError | YAMLWarning, 'code' | 'message' | 'pos'>

/** What a parser made of a text. */
interface Parsed {
  readonly text: string
  readonly errors: readonly Wrong[]
  readonly warnings: readonly Wrong[]
  readonly root: 'map' | 'list' | 'other'
  /** Where the root begins. */
  readonly start: number
  /** Where texts in quotes begin and end. */
  readonly quotes: readonly (readonly [start: number, end: number])[]
}

/** The first syntax error, located where the mistake was made; `undefined` where there is none. */
function slipOf(parsed: Parsed): Slip | undefined {
  const { errors, warnings } = parsed
  // An unknown tag is only a warning of the parser's: `!!js` would be read as text. Nothing is evaluated here.
  const wrong: Wrong | undefined = errors.find(({ code }) => code === 'TAB_AS_INDENT') ?? errors[0] ?? warnings[0]
  if (!wrong) return undefined
  return (
    openQuote(parsed, wrong) ??
    noEntry(parsed, wrong) ?? { offset: wrong.pos[0], message: indentWords(parsed, wrong) ?? wordsFor(wrong.code) }
  )
}

/** An unclosed quote swallows the lines below: the parser stops where it ends, which may be far away. */
function openQuote({ quotes, text }: Parsed, { message, pos: [at] }: Wrong): Slip | undefined {
  const line = (offset: number): number => text.slice(0, offset).split('\n').length
  // The parser's codes are too coarse here; some of its messages are specific.
  for (const [offset, end] of quotes) {
    if (message.startsWith('Missing closing') && end === at) return { offset, message: 'this quote is not closed' }
    if (end <= at && line(offset) < line(end) && line(end) === line(at)) return { offset, message: `this quote is closed in line ${line(end)} only; one is missing before` }
  }
  return undefined
}

/** Keys before a list, or at the margin behind it. */
function noEntry({ root, start, text }: Parsed, { code, pos: [at] }: Wrong): Slip | undefined {
  if (root === 'map' && text.startsWith('- ', at)) return { offset: start, message: 'this begins no entry; an app is a list, and an entry of it begins as in "- id: clock"' }
  if (root === 'list' && code === 'UNEXPECTED_TOKEN' && (at === 0 || text[at - 1] === '\n')) return { offset: at, message: 'this stands outside of any entry; an entry begins with "- ", and its keys are indented below' }
  return undefined
}

function indentWords({ errors }: Parsed, { code, message, pos: [at] }: Wrong): string | undefined {
  const oneColumn = 'the keys of an entry begin in one column'
  if (message.startsWith('Sequence item without -')) return `this line is indented less than the one above; ${oneColumn}`
  if (code !== 'BLOCK_AS_IMPLICIT_KEY') return undefined
  if (errors.some((other) => other.code === 'MULTILINE_IMPLICIT_KEY' && other.pos[0] === at)) return `the next line is indented more than this one, as if it went on with it; ${oneColumn}`
  return 'a second colon in one line; quote the text, or put the inner key on a line of its own'
}

function wordsFor(code: string): string {
  return WORDS[code] ?? `this is no YAML (${code})`
}

const WORDS: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'this alias names no anchor before it',
  BAD_INDENT: 'this is indented otherwise than what it belongs to',
  BLOCK_IN_FLOW: 'a block cannot stand inside [ ] or { }',
  DUPLICATE_KEY: 'this key stands there already',
  MISSING_CHAR: 'something is missing in front of this: a quote, a comma, a bracket or a colon',
  MULTILINE_IMPLICIT_KEY: 'this reads as a key over several lines; a colon is missing, or an indent',
  MULTIPLE_DOCS: 'there is a second document; one file is one app',
  TAB_AS_INDENT: 'YAML is indented with spaces, not with tabs',
  TAG_RESOLVE_FAILED: 'this tag is not known; nothing is evaluated here, and a variable of the environment is ${NAME}',
  UNEXPECTED_TOKEN: 'this was not expected here; look at the indent, the quotes and the colons before it',
}
