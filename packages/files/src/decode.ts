/** Encodings that text files have. */
export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be'

/** The text of a file, or its problem as words that follow the file's name. */
export type Decoded = { readonly text: string; readonly encoding: Encoding } | { readonly problem: string }

/** The encoding that a byte order mark names; UTF-8 without one. */
export function encodingOf([first, second]: Uint8Array): Encoding {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

/**
 * Decodes a file: UTF-8, or UTF-16 with a byte order mark; the mark is dropped and line ends become `\n`.
 *
 * @param isHead whether `bytes` are only the file's beginning, which may end inside of a character
 */
export function decodeText(bytes: Uint8Array, isHead = false): Decoded {
  const encoding = encodingOf(bytes)
  let text: string
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: isHead })
  } catch {
    return { problem: `is not valid ${encoding.toUpperCase()}; save it as UTF-8` }
  }
  if (text.includes('\0')) return { problem: 'holds NUL characters, so it is no text; save it as UTF-8' }
  return { text: text.replace(/\r\n?/g, '\n'), encoding }
}
