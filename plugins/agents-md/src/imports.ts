/** Paths that a text imports, in the order they stand, each once: `@path` where it reads as one, outside of code and comments. */
export function findImports(text: string): readonly string[] {
  if (!text.includes('@')) return []
  const found = new Set<string>()
  // After a letter it is an e-mail address.
  for (const match of withoutCode(text).matchAll(/(?<![^\s([{<"'*_])@((?:\\ |[^\s@`<>"'|*?])+)/gu)) {
    const path = toPath(match[1]!)
    if (path !== undefined) found.add(path)
  }
  return [...found]
}

/**
 * The path of a mention without trailing punctuation and `#heading`; nothing where it is no path, as in `@alice` or
 * `@scope/pkg`.
 */
function toPath(mention: string): string | undefined {
  let end = mention.length
  while (end > 0 && '.,;:!)]}_。，、；：！）】」'.includes(mention[end - 1]!)) end--
  const path = mention.slice(0, end).split('#', 1)[0]!.replaceAll('\\ ', ' ')
  if (path.includes('://')) return undefined
  const rooted = /^(?:\.{1,2}|~)?\/[^/]/.test(path)
  return rooted || /[^/.][^/]*\.[\p{L}\p{N}]+$/u.test(path.slice(path.lastIndexOf('/') + 1)) ? path : undefined
}

/** The text with code (fenced, indented, spans) and comments blanked. Linear in its length. */
export function withoutCode(text: string): string {
  const paragraphs: string[][] = [[]]
  let fence: string | undefined
  // Whether the line before was blank or indented code; whether a list is open, in which an indent means something else.
  let mayIndent = true
  let inList = false
  for (const line of text.split('\n')) {
    const mark = fenceOf(line)
    const blank = line.trim() === ''
    const indented = /^(?: {4}|\t)/.test(line)
    if (fence !== undefined) {
      if (mark?.closing && mark.sign[0] === fence[0] && mark.sign.length >= fence.length) fence = undefined
      paragraphs.push([])
      mayIndent = true
    } else if (mark) {
      fence = mark.sign
      paragraphs.push([])
    } else if (blank || (indented && mayIndent && !inList)) {
      paragraphs.push([])
      mayIndent = true
    } else {
      paragraphs.at(-1)!.push(line)
      mayIndent = false
      if (!indented) inList = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/.test(line) || (inList && line.startsWith(' '))
    }
  }
  return withoutComments(paragraphs.map((lines) => withoutSpans(lines.join('\n'))).join('\n\n'))
}

/** The fence that a line opens or may close, whatever it is nested in. */
function fenceOf(line: string): { readonly sign: string; readonly closing: boolean } | undefined {
  if (!line.includes('```') && !line.includes('~~~')) return undefined
  const match = /^(?:>[ \t]?)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)$/.exec(line.trimStart())
  if (!match) return undefined
  const [, sign, rest] = match as unknown as [string, string, string]
  // More backticks on the line: a span, not a fence.
  return sign.startsWith('`') && rest.includes('`') ? undefined : { sign, closing: rest.trim() === '' }
}

/** Blanks code spans: from a run of backticks to the next run that is as long. */
function withoutSpans(paragraph: string): string {
  if (!paragraph.includes('`')) return paragraph
  const runs = [...paragraph.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ index, length }))
  // For each run, the next of its length: from the end, so that each is looked at once.
  const ahead = new Map<number, number>()
  const partner = new Array<number | undefined>(runs.length)
  for (let at = runs.length - 1; at >= 0; at--) {
    partner[at] = ahead.get(runs[at]!.length)
    ahead.set(runs[at]!.length, at)
  }
  let result = ''
  let from = 0
  for (let at = 0; at < runs.length; at++) {
    const { index } = runs[at]!
    const end = partner[at]
    if (end === undefined || (paragraph[index - 1] === '\\' && paragraph[index - 2] !== '\\')) continue
    result += `${paragraph.slice(from, index)}x`
    from = runs[end]!.index + runs[end]!.length
    at = end
  }
  return result + paragraph.slice(from)
}

function withoutComments(text: string): string {
  let result = ''
  for (let from = 0; ;) {
    const start = text.indexOf('<!--', from)
    if (start < 0) return result + text.slice(from)
    result += text.slice(from, start)
    const end = text.indexOf('-->', start + 4)
    if (end < 0) return result
    from = end + 3
  }
}
