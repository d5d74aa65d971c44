/** Order of code units: the same in every locale and on every machine. */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** At most `length` code units, never half of a character. */
export function cutAfter(text: string, length: number): string {
  if (text.length <= length) return text
  const code = text.charCodeAt(length - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? length - 1 : length)
}

/** Makes a text one well-formed line without control characters. */
export function oneLine(text: string): string {
  return text.toWellFormed().replace(/[\s\p{Cc}]+/gu, ' ').trim()
}

/** Quotes a person's text for a message: on one line, at most 80 code units. */
export function quoted(text: string): string {
  const line = oneLine(text)
  return JSON.stringify(line.length > 80 ? `${cutAfter(line, 80)}…` : line)
}

/** A name or a path on one line: control characters and marks that turn the text around are escaped, so that it reads as what it is. */
export function shownName(name: string): string {
  // oxlint-disable-next-line no-control-regex
  return name.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
