import { TerminalText } from './terminal-text.ts'

/** Milliseconds that an unfinished line stands before it is shown: a prompt, or a bar that rests, and not one that moves. */
const STANDS = 300

/** Output as it is shown while a command runs: a line when it ends, an unfinished one when nothing has come for a while. */
export class LiveText {
  private readonly text: TerminalText
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(put: (text: string) => void) {
    this.text = new TerminalText(put, 1)
  }

  push(piece: string): void {
    this.text.push(piece)
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.text.tell(), STANDS)
    this.timer.unref()
  }

  end(): void {
    clearTimeout(this.timer)
    this.text.end()
  }
}
