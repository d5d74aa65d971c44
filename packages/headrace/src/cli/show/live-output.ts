import type { ProgressPiece, SessionEvent } from '@headrace/session'
import { brief } from '../base/text.ts'
import type { Terminal } from './terminal.ts'

/** Lines of one call that are shown while it runs: its result is told in the end, anyway. */
const MAX_LINES = 100
/** Characters of a line. */
const WIDTH = 200
/** Milliseconds between two states that are shown: a bar that moves would fill the screen. */
const PAUSE = 1_000

/** What one running call has shown of itself so far. */
interface Shown {
  /** How far its text was shown, and what of it has no end of line yet. */
  at: number
  line: string
  lines: number
  /** The unfinished line, as far as it stands on the screen, and where that ends. */
  open: { readonly text: string; readonly end: number } | undefined
  /** When a state was shown last. */
  told: number
}

/** What tools show while they run, on a terminal: output as it comes, in lines, a state now and then. */
export class LiveOutput {
  private readonly terminal: Terminal
  private readonly calls = new Map<string, Shown>()

  constructor(terminal: Terminal) {
    this.terminal = terminal
  }

  /** @param label of its call, where several run */
  piece(piece: ProgressPiece, label = ''): void {
    if (!this.terminal.isWatched) return
    const key = `${piece.assistant}/${piece.index}`
    const shown = this.calls.get(key) ?? { at: 0, line: '', lines: 0, open: undefined, told: -Infinity }
    this.calls.set(key, shown)
    if (piece.from > 0 || piece.state !== undefined) return this.state(shown, piece, label)
    // One that comes twice says nothing new; of much output a part may be left out.
    if (piece.at > shown.at) shown.line = '[…] '
    const lines = (shown.line + piece.text.slice(Math.max(0, shown.at - piece.at))).split('\n')
    shown.at = Math.max(shown.at, piece.at + piece.text.length)
    shown.line = lines.pop()!
    for (const line of lines) this.line(shown, line, label)
    this.unfinished(shown, label)
  }

  event(event: SessionEvent): void {
    if (event.type === 'tool/result') this.calls.delete(`${event.data.assistant}/${event.data.index}`)
  }

  private line(shown: Shown, line: string, label: string): void {
    const text = brief(line, WIDTH)
    const { open } = shown
    shown.open = undefined
    if (shown.lines++ < MAX_LINES) {
      const goesOn = open && text.startsWith(open.text) && this.terminal.part(`${text.slice(open.text.length)}\n`, open.end) !== undefined
      if (!goesOn) this.terminal.note(`  ${label}${text}`)
    } else if (shown.lines === MAX_LINES + 1) this.terminal.note(`  ${label}… more is not shown`)
  }

  /** Shows the beginning of a line, or what came to it; anew where something else was written since. */
  private unfinished(shown: Shown, label: string): void {
    const text = brief(shown.line, WIDTH)
    const { open } = shown
    if (shown.lines >= MAX_LINES || text === (open?.text ?? '')) return
    const end = open && text.startsWith(open.text) ? this.terminal.part(text.slice(open.text.length), open.end) : undefined
    shown.open = { text, end: end ?? this.terminal.part(`  ${label}${text}`)! }
  }

  private state(shown: Shown, { text }: ProgressPiece, label: string): void {
    const now = performance.now()
    if (now - shown.told < PAUSE) return
    shown.told = now
    shown.open = undefined
    this.line(shown, text, label)
  }
}
