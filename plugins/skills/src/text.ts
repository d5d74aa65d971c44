/** A text as one line, well-formed, without control characters. */
export function oneLine(text: string): string {
  return text.toWellFormed().replace(/[\s\p{Cc}]+/gu, ' ').trim()
}

/** What a person wrote, for a message: quoted, on one line, of bounded length. */
export function quoted(text: string): string {
  const line = oneLine(text)
  return JSON.stringify(line.length > 80 ? `${cutAfter(line, 80)}…` : line)
}

/** At most `length` code units, never half of a character. */
export function cutAfter(text: string, length: number): string {
  if (text.length <= length) return text
  const code = text.charCodeAt(length - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? length - 1 : length)
}

/** Bytes as text without BOM and with `\n` line ends; nothing where they are not UTF-8 text. `isHead`: they may end inside of a character. */
export function toText(bytes: Uint8Array, isHead = false): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isHead }).replace(/\r\n?/g, '\n')
  } catch {
    return undefined
  }
}

export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
