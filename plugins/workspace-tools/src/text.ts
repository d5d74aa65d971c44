/** A name or a path on one line: control characters and marks that turn the text around are escaped, so that it reads as what it is. */
export function shownName(name: string): string {
  // eslint-disable-next-line no-control-regex
  return name.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** At most `length` code units, never half of a character. */
export function cutAfter(text: string, length: number): string {
  if (text.length <= length) return text
  const code = text.charCodeAt(length - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? length - 1 : length)
}

/** A line as results show it, with a note where it was cut. */
export function shownLine(text: string, length: number, max: number): string {
  if (length <= max) return text
  const shown = cutAfter(text, max)
  return `${shown} [… ${length - shown.length} more characters in this line]`
}

/** Text that every store and provider takes: well-formed, without NUL. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** What the first bytes of a file say it is; `undefined` for what may be text. */
export function sniff(head: Uint8Array): { readonly kind: 'image'; readonly mediaType: string } | { readonly kind: 'utf-16' | 'binary' } | undefined {
  const mediaType = imageType(head)
  if (mediaType !== undefined) return { kind: 'image', mediaType }
  if ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff)) return { kind: 'utf-16' }
  return head.includes(0) ? { kind: 'binary' } : undefined
}

function imageType(head: Uint8Array): string | undefined {
  const ascii = Buffer.from(head.subarray(0, 12)).toString('latin1')
  if (ascii.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (ascii.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (ascii.startsWith('GIF87a') || ascii.startsWith('GIF89a')) return 'image/gif'
  return ascii.startsWith('RIFF') && ascii.slice(8) === 'WEBP' ? 'image/webp' : undefined
}
