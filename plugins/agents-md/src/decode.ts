/** Text of a file, or why it is none. */
export type Decoded = { readonly text: string } | { readonly problem: string }

/**
 * Text as it is told and hashed: without a byte order mark, lines ended by LF, no line ends behind the last line. UTF-8, or UTF-16 with
 * a mark.
 */
export function decode(bytes: Uint8Array): Decoded {
  const encoding = encodingOf(bytes)
  let text: string
  try {
    // Drops the mark.
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return { problem: `is not valid ${encoding.toUpperCase()}; save it as UTF-8` }
  }
  if (text.includes('\0')) return { problem: 'holds NUL characters, so it is no text; save it as UTF-8' }
  return { text: withoutLineEnds(text.replace(/\r\n?/g, '\n')) }
}

function encodingOf([first, second]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

/** Not an expression: `/\n+$/` is quadratic. */
function withoutLineEnds(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return text.slice(0, end)
}

/** True for the text of a symbolic link that was checked out as a file: one relative path and nothing else. */
export function isLinkText(text: string): boolean {
  if (text.length > 4_096 || /[\s:@<>"|?*`]/.test(text)) return false
  return /^\.{0,2}\/./.test(text) || /[^/]\/[^/]/.test(text) || /\.(?:md|mdc|markdown|txt)$/i.test(text)
}
