/** A SKILL.md taken apart. Line ends are `\n`. */
export interface Frontmatter {
  /** Between the fences. */
  readonly yaml: string
  /** Behind the second fence; a `---` in it is a rule like any other. */
  readonly body: string
}

/** Takes a text apart at its fences: lines of `---` and perhaps spaces, the first ahead of everything but blank lines. Says which fence is missing. */
export function splitFrontmatter(text: string): Frontmatter | 'not opened' | 'not closed' {
  const open = /^\s*?---[ \t]*\n/.exec(text)
  if (!open) return 'not opened'
  const start = open[0].length
  const fence = /^---[ \t]*$/gm
  fence.lastIndex = start
  const close = fence.exec(text)
  if (!close) return 'not closed'
  return { yaml: text.slice(start, close.index), body: text.slice(close.index + close[0].length).replace(/^\n+/, '').trimEnd() }
}
