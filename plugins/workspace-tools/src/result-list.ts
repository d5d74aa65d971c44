import { cleanText } from './text.ts'

/** Lines of a result, bounded in number and in characters. */
export class ResultList {
  private readonly maxCount: number
  private readonly maxLength: number
  private readonly lines: string[] = []
  /** Which lines are results. */
  private readonly counted = new Set<number>()
  private length = 0
  count = 0
  /** True once something was refused. */
  isFull = false

  constructor(maxCount: number, maxLength: number) {
    this.maxCount = maxCount
    this.maxLength = maxLength
  }

  /** Adds a result, one of `maxCount`, after lines that are not counted; false where there is no room for it. */
  add(line: string, before: readonly string[] = []): boolean {
    if (this.count >= this.maxCount || !this.fits([...before, line])) return this.refuse()
    this.put([...before, line])
    this.counted.add(this.lines.length - 1)
    this.count++
    return true
  }

  /** Adds a line that is not counted, such as context; false where there is no room for it. */
  addLine(line: string): boolean {
    if (!this.fits([line])) return this.refuse()
    this.put([line])
    return true
  }

  /** Adds what another list holds, in its order; false where there was no room for all of it. */
  addAll(other: ResultList, separator?: string): boolean {
    if (other.lines.length === 0) return true
    if (separator !== undefined && this.lines.length > 0 && !this.addLine(separator)) return false
    for (const [at, line] of other.lines.entries()) {
      if (!(other.counted.has(at) ? this.add(line) : this.addLine(line))) return false
    }
    return other.isFull ? this.refuse() : true
  }

  /** @param rest what to say where the list was full */
  toString(rest: string, notes: readonly string[] = []): string {
    return cleanText([...this.lines, ...(this.isFull ? [`[${rest}.]`] : []), ...notes.map((note) => `[${note}.]`)].join('\n'))
  }

  /** The first one always fits: a note alone would be useless. */
  private fits(lines: readonly string[]): boolean {
    return this.lines.length === 0 || this.length + lengthOf(lines) <= this.maxLength
  }

  private put(lines: readonly string[]): void {
    this.lines.push(...lines)
    this.length += lengthOf(lines)
  }

  private refuse(): false {
    this.isFull = true
    return false
  }
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((length, line) => length + line.length + 1, 0)
}
