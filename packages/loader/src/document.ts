import { type Document, LineCounter, type ParsedNode, isAlias, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml'
import { LoaderError, type Place } from './problem.ts'
import { type Parsed, slipOf, wordsFor } from './slip.ts'

export type Path = readonly PropertyKey[]

/** More aliases than this expand to is a bomb. */
const MAX_ALIASES = 100

/** A YAML file: its value, and where each part of it stands. */
export class YamlFile {
  readonly value: unknown
  private readonly file: string
  private readonly document: Document.Parsed
  private readonly lines: LineCounter

  /** @throws LoaderError for what is no YAML; the message quotes nothing of the file */
  constructor(file: string, text: string) {
    this.file = file
    this.lines = new LineCounter()
    // Not silent: a second document is told of then.
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

  /** The place of a key or an item; of the nearest one around it, where there is none. */
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
