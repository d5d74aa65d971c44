/** Rows that a program may still overwrite, as progress bars of several lines do. */
const ROWS = 50
/** Characters of one row; a longer one cannot be overwritten any more. */
const MAX_ROW = 16_384
/** Most characters of an escape sequence; a longer one is text. */
const MAX_SEQUENCE = 4_096

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f\u0080-\u009f]/
// oxlint-disable-next-line no-control-regex
const PLAIN = /[^\u0000-\u0008\u000a-\u001f\u007f\u0080-\u009f]+/y
// CSI; OSC and other strings, to their terminator; other escapes.
// oxlint-disable-next-line no-control-regex
const SEQUENCE = /(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~])|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-Z\\`-~]/y

/**
 * The output of a program for a terminal, as text: colours and other escape sequences are dropped, and overwritten text
 * (by `\r`, backspace, or moving up) is removed.
 */
export class TerminalText {
  private readonly put: (text: string) => void
  private readonly height: number
  private rows: string[] = ['']
  private row = 0
  private column = 0
  /** The beginning of an unfinished escape sequence. */
  private rest = ''
  /** Text of the present row was given already: what is drawn over it goes on a row of its own. */
  private isTold = false
  private isDrawnOver = false

  /**
   * @param put called with final text, in order
   * @param height rows that can be overwritten; with 1 each line is given when it ends
   */
  constructor(put: (text: string) => void, height = ROWS) {
    this.put = put
    this.height = height
  }

  push(piece: string): void {
    const text = this.rest + piece
    this.rest = ''
    if (this.isAtEnd && !CONTROL.test(text)) return this.pushPlain(text)
    for (let at = 0; at < text.length;) at = this.take(text, at)
  }

  /** Gives the rest as it is now: later output cannot overwrite it. */
  flush(): void {
    this.put(this.rows.join('\n'))
    this.rows = ['']
    this.row = this.column = 0
  }

  /** Gives the present row as it is now. */
  tell(): void {
    if (this.rows.length > 1 || this.rows[0] === '') return
    this.isTold = true
    this.flush()
  }

  /** Gives the rest, at the end of the output. */
  end(): void {
    this.rest = ''
    this.flush()
  }

  private get isAtEnd(): boolean {
    return this.row === this.rows.length - 1 && this.column === this.rows[this.row]!.length
  }

  /** Fast path for most output: plain lines. */
  private pushPlain(text: string): void {
    if (!text.includes('\n')) return this.write(text)
    if (this.isDrawnOver) this.write('')
    this.isTold = false
    // Only the newest rows can be overwritten: the bulk of a long piece is final at once.
    let start = text.length
    for (let row = 0; row < this.height && start >= 0; row++) start = text.lastIndexOf('\n', start - 1)
    if (start > 0) {
      this.put(`${this.rows.join('\n')}${text.slice(0, start + 1)}`)
      this.rows = text.slice(start + 1).split('\n')
    } else this.rows.push(...(this.rows.pop()! + text).split('\n'))
    this.row = this.rows.length - 1
    this.column = this.rows[this.row]!.length
    this.giveOld()
  }

  /** Handles what begins at an index, and returns the index after it. */
  private take(text: string, at: number): number {
    PLAIN.lastIndex = at
    const plain = PLAIN.exec(text)?.[0]
    if (plain !== undefined) {
      this.write(plain)
      return at + plain.length
    }
    const char = text[at]!
    if (char === '\n') this.newLine()
    else if (char === '\r') this.toStart()
    else if (char === '\b') this.column = Math.max(0, this.column - 1)
    else if (char === '\0') this.write(char)
    else return this.takeSequence(text, at)
    return at + 1
  }

  private takeSequence(text: string, at: number): number {
    SEQUENCE.lastIndex = at
    const match = SEQUENCE.exec(text)
    if (match) {
      this.move(match[2], match[1] ?? '')
      return at + match[0].length
    }
    // oxlint-disable-next-line no-control-regex
    const isOpen = /[\u001b\u0090\u0098\u009b\u009d-\u009f]/.test(text[at]!) && text.length - at < MAX_SEQUENCE
    if (!isOpen) return at + 1
    this.rest = text.slice(at)
    return text.length
  }

  private move(final: string | undefined, parameters: string): void {
    const count = Math.max(1, Number.parseInt(parameters, 10) || 1)
    if (final === 'A' || final === 'F') this.row = Math.max(0, this.row - count)
    if (final === 'B' || final === 'E') this.row = Math.min(this.rows.length - 1, this.row + count)
    if (final === 'E' || final === 'F') this.column = 0
    if (final === 'C') this.column = Math.min(MAX_ROW, this.column + count)
    if (final === 'D') this.column = Math.max(0, this.column - count)
    if (final === 'G') this.column = Math.min(MAX_ROW, count - 1)
    if (final === 'K') this.erase(parameters)
    if (final === 'J' && (parameters === '' || parameters === '0')) {
      this.erase('')
      this.rows.length = this.row + 1
    }
  }

  private erase(parameters: string): void {
    const row = this.rows[this.row]!
    if (parameters === '2') this.rows[this.row] = ''
    else if (parameters === '1') this.rows[this.row] = ' '.repeat(Math.min(this.column, row.length)) + row.slice(this.column)
    else this.rows[this.row] = row.slice(0, this.column)
  }

  private toStart(): void {
    this.column = 0
    this.isDrawnOver = this.isTold
  }

  private write(text: string): void {
    if (this.isDrawnOver) {
      this.put('\n')
      this.isTold = this.isDrawnOver = false
    }
    const row = this.rows[this.row]!
    const before = this.column > row.length ? row.padEnd(this.column) : row.slice(0, this.column)
    const now = before + text + row.slice(this.column + text.length)
    this.column = before.length + text.length
    this.rows[this.row] = now
    if (now.length > MAX_ROW) this.giveRow()
  }

  private newLine(): void {
    this.column = 0
    this.isTold = this.isDrawnOver = false
    if (++this.row === this.rows.length) this.rows.push('')
    this.giveOld()
  }

  private giveOld(): void {
    const old = this.rows.length - this.height
    if (old <= 0) return
    this.put(this.rows.splice(0, old).map((row) => `${row}\n`).join(''))
    this.row = Math.max(0, this.row - old)
  }

  /** A very long row is final so far. */
  private giveRow(): void {
    const above = this.rows.splice(0, this.row).map((row) => `${row}\n`).join('')
    this.put(above + this.rows[0]!)
    this.rows[0] = ''
    this.row = this.column = 0
  }
}
