// What a model or a tool says must not drive the terminal: no cursor, title, clipboard, and no text that reads otherwise than it is.
// eslint-disable-next-line no-control-regex
const DRIVING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text with every character that could drive a terminal written out, e.g. `\x1b`; line feeds and tabs stay, CRLF is a line feed. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(DRIVING, (char) => {
    const code = char.charCodeAt(0)
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** Text on one line, cut at a length, safe to show. */
export function brief(text: string, length: number): string {
  const line = visible(text.replace(/\s+/g, ' ').trim())
  return line.length <= length ? line : `${line.slice(0, length - 1).toWellFormed()}…`
}
