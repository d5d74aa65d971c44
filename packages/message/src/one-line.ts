// Much of what is shown comes from elsewhere: a log that was imported, a model, a tool, the name of a folder. Nothing of it may drive the
// terminal (cursor, title, clipboard), read otherwise than it is, or look like more lines than it has.

/** Controls but for tab and line feed, and what turns the direction of text. */
// oxlint-disable-next-line no-control-regex
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

/** JSON on one line, with every character that is not seen as `\u…`, which says the same. */
export function jsonLine(value: unknown): string {
  const units = (char: string): string => [...Array(char.length).keys()].map((index) => `\\u${char.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')
  return JSON.stringify(value).replace(DRIVING, units).replace(INVISIBLE, units)
}
