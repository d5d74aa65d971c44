import { cutAfter, encodingOf } from '@headrace/files'

/** A line as results show it, with a note where it was cut. */
export function shownLine(text: string, length: number, max: number): string {
  if (length <= max) return text
  const shown = cutAfter(text, max)
  return `${shown} [… ${length - shown.length} more characters in this line]`
}

/** Text that every store and provider accepts: well-formed, without NUL. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** What a file is that is not UTF-8 text. */
export type Sniffed =
  | { readonly kind: 'image'; readonly mediaType: string }
  | { readonly kind: 'utf-16'; readonly encoding: 'utf-16le' | 'utf-16be' }
  | { readonly kind: 'binary' }

/** What the first bytes of a file say it is; `undefined` for what may be text. */
export function sniff(head: Uint8Array): Sniffed | undefined {
  const mediaType = imageType(head)
  if (mediaType !== undefined) return { kind: 'image', mediaType }
  const encoding = encodingOf(head)
  if (encoding !== 'utf-8') return { kind: 'utf-16', encoding }
  if (!head.includes(0)) return undefined
  const unmarked = unmarkedUtf16(head)
  return unmarked === undefined ? { kind: 'binary' } : { kind: 'utf-16', encoding: unmarked }
}

/** UTF-16 without a mark: every other byte of Latin text is 0, and no other one. */
function unmarkedUtf16(head: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (head.length < 8 || head.length % 2 === 1) return undefined
  const zeros = [0, 0]
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2]!++
  const [even, odd] = zeros as [number, number]
  const most = head.length * 0.35
  if (odd > most && even === 0) return 'utf-16le'
  return even > most && odd === 0 ? 'utf-16be' : undefined
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

  /** Characters of the line that has not ended yet. */
  get openLine(): number {
    return this.length
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
    // One unit more than shown, so that a `\r` right after the limit is known to be the line's end.
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
