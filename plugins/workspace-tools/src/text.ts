import { cutAfter } from '@headrace/files'

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

/** A line without its line break. */
export interface Line {
  /** Its beginning, as much as was asked for. */
  readonly text: string
  /** Its whole length in code units. */
  readonly length: number
}

/** Splits text that comes in pieces into lines (`\n` or `\r\n`), and holds no more than `max` characters of a line. */
export class LineSplitter {
  private readonly max: number
  private text = ''
  private length = 0
  private endsWithReturn = false

  constructor(max: number) {
    this.max = max
  }

  /** The lines that end in this piece. */
  push(piece: string): Line[] {
    const lines: Line[] = []
    let from = 0
    for (let to = piece.indexOf('\n'); to >= 0; to = piece.indexOf('\n', from)) {
      this.take(piece.slice(from, to))
      lines.push(this.finish())
      from = to + 1
    }
    if (from < piece.length) this.take(piece.slice(from))
    return lines
  }

  /** The last line, where the text does not end with a line break. */
  end(): Line[] {
    if (this.length === 0) return []
    this.endsWithReturn = false
    return [this.finish()]
  }

  private take(part: string): void {
    if (part === '') return
    this.length += part.length
    // One unit more than shown, so that a `\r` just behind the limit is known to be the line's end.
    if (this.text.length <= this.max) this.text += part.slice(0, this.max + 1 - this.text.length)
    this.endsWithReturn = part.endsWith('\r')
  }

  private finish(): Line {
    const length = this.endsWithReturn ? this.length - 1 : this.length
    const line = { text: cutAfter(this.text.slice(0, length), this.max), length }
    this.text = ''
    this.length = 0
    this.endsWithReturn = false
    return line
  }
}
