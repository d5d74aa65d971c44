import { cleanText } from './text.ts'

/** Many tiny pieces would take more memory than their text. */
const MAX_PIECES = 1_024

/** Text of any length, of which the beginning and the end are kept: little more than `max` characters and one piece are held. */
export class BoundedOutput {
  private readonly headMax: number
  private readonly tailMax: number
  private head = ''
  private tail: string[] = []
  private tailLength = 0
  private total = 0

  constructor(max: number) {
    this.headMax = Math.floor(max / 2)
    this.tailMax = max - this.headMax
  }

  push(text: string): void {
    this.total += text.length
    const room = this.headMax - this.head.length
    if (room > 0) this.head += text.slice(0, room)
    const rest = room > 0 ? text.slice(room) : text
    if (rest === '') return
    this.tail.push(rest)
    this.tailLength += rest.length
    this.drop()
  }

  /** The kept text, well-formed, with a note in place of the rest. */
  toString(): string {
    const tail = this.tail.join('')
    const kept = cutBefore(tail, this.tailMax)
    if (this.total === this.head.length + kept.length) return cleanText(this.head + kept)
    const head = endsHalf(this.head) ? this.head.slice(0, -1) : this.head
    return cleanText(`${head}\n[… ${this.total - head.length - kept.length} characters left out here …]\n${kept}`)
  }

  get isCut(): boolean {
    return this.total > this.headMax + this.tailMax
  }

  private drop(): void {
    let first = 0
    while (this.tailLength - (this.tail[first]?.length ?? 0) >= this.tailMax) this.tailLength -= this.tail[first++]?.length ?? 0
    if (first > 0) this.tail.splice(0, first)
    if (this.tail.length > MAX_PIECES) {
      const tail = cutBefore(this.tail.join(''), this.tailMax)
      this.tail = [tail]
      this.tailLength = tail.length
    }
  }
}

function cutBefore(text: string, length: number): string {
  if (text.length <= length) return text
  const code = text.charCodeAt(text.length - length)
  return text.slice(text.length - length + (code >= 0xdc00 && code <= 0xdfff ? 1 : 0))
}

function endsHalf(text: string): boolean {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code <= 0xdbff
}
