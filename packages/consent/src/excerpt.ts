/** How much of a text is shown: lines from its beginning and from its end, and characters of a line at each of its ends. */
export interface ExcerptSize {
  readonly lines: number
  readonly width: number
}

/** A text to be read before a person consents. */
export interface Excerpt {
  readonly lines: readonly string[]
  /** Something is left out; the whole must be at hand. */
  readonly isCut: boolean
}

/** Beginning and end of a text, and how much is left out between them: what counts often stands last. */
export function excerptOf(text: string, { lines: most, width }: ExcerptSize): Excerpt {
  const all = text.split('\n')
  const left = all.length - 2 * most
  const chosen = left > 1 ? [...all.slice(0, most), undefined, ...all.slice(-most)] : all
  let isCut = left > 1
  const lines = chosen.map((line) => {
    if (line === undefined) return `… ${left} lines are not shown …`
    if (line.length <= 2 * width + 40) return line
    isCut = true
    return `${line.slice(0, width).toWellFormed()} … ${line.length - 2 * width} characters are not shown … ${line.slice(-width).toWellFormed()}`
  })
  return { lines, isCut }
}
