// Much of what is shown comes from elsewhere: a log that was imported, a model, a tool, the name of a folder. Nothing of it may drive the
// terminal (cursor, title, clipboard), read otherwise than it is, or look like more lines than it has.

/** Controls but for tab and line feed, and what turns the direction of text. */
// eslint-disable-next-line no-control-regex
const DRIVING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** What has no width, or is no space and looks like one. Joiners and selectors inside of an emoji are part of it. */
const INVISIBLE = new RegExp([
  '(?<!\\p{Extended_Pictographic}(?:\\ufe0f|\\p{Emoji_Modifier})*)(?:\\u200d|\\ufe0f)',
  '(?!\\u200d|\\ufe0f)\\p{Default_Ignorable_Code_Point}',
  '[\\u2028\\u2029\\u2800\\ufff9-\\ufffb]',
].join('|'), 'gu')

function escaped(char: string): string {
  const code = char.codePointAt(0)!
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
}

/** Text with every character that could drive a terminal written out, e.g. `\x1b`; line feeds and tabs stay, CRLF is a line feed. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(DRIVING, escaped)
}

/** Text on one line, with every character that is not seen written out; tabs stay. */
export function oneLine(text: string): string {
  return text.toWellFormed().replace(DRIVING, escaped).replace(INVISIBLE, escaped).replaceAll('\n', '\\n')
}

/** Prose on one line, its white space as one space each, cut at a length. */
export function brief(text: string, length: number): string {
  // Cut first as well: a text of megabytes is not for reading through.
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

/** JSON on one line, with every character that is not seen as `\u…`, which says the same. */
export function jsonLine(value: unknown): string {
  const units = (char: string): string => [...Array(char.length).keys()].map((index) => `\\u${char.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')
  return JSON.stringify(value).replace(DRIVING, units).replace(INVISIBLE, units)
}

/** Rows with their columns aligned; the last one is as long as it is. Cells are names, the last one may be prose. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const shown = rows.map((row) => row.map((cell, index) => (index === row.length - 1 ? oneLine(cell) : nameText(cell))))
  const widths: number[] = []
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
