import { oneLine } from '@headrace/message'

export { jsonLine, oneLine, visible } from '@headrace/message'

/** Prose on one line, its white space as one space each, cut at a length. */
export function brief(text: string, length: number): string {
  // Cut first as well: a text of megabytes must not be scanned.
  const line = oneLine(text.slice(0, length * 4).replace(/\s+/g, ' ').trim())
  return cut(line, length, text.length > length * 4)
}

/** A name on one line as it is, cut in its middle: folders, ids, owners. */
export function nameText(text: string, length = 120): string {
  const line = oneLine(text.length > length * 4 ? `${text.slice(0, length * 2)}…${text.slice(-length * 2)}` : text).replaceAll('\t', '\\t')
  const half = Math.floor((length - 1) / 2)
  return line.length <= length ? line : `${line.slice(0, half).toWellFormed()}…${line.slice(-half).toWellFormed()}`
}

function cut(line: string, length: number, more: boolean): string {
  return line.length <= length && !more ? line : `${line.slice(0, length - 1).toWellFormed()}…`
}

/**
 * Rows with their columns aligned; the last one is as long as it is. Cells are names, the last one may be prose.
 *
 * @param widths of the columns, which grow: given again with the next rows of one table
 */
export function table(rows: readonly (readonly string[])[], widths: number[] = []): readonly string[] {
  const shown = rows.map((row) => row.map((cell, index) => (index === row.length - 1 ? oneLine(cell) : nameText(cell))))
  for (const row of shown) for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  return shown.map((row) => row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index]!))).join('  ').trimEnd())
}

export function shownSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** `12,345`. */
export function count(number: number): string {
  return number.toLocaleString('en-US')
}

/** A text as one word of a POSIX shell's line. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll('\'', '\'\\\'\'')}'`
}
