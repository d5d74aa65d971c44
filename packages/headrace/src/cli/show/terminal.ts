import type { WriteStream } from 'node:tty'
import { jsonLine, oneLine, visible } from '../base/text.ts'

/** A stream as the terminal writes to it. */
export type Sink = Pick<NodeJS.WritableStream, 'write' | 'on'> & Partial<Pick<WriteStream, 'isTTY'>>

/** The output of a command: answers on stdout; everything else on stderr, dim on a terminal. */
export class Terminal {
  private readonly out: Sink
  private readonly err: Sink
  private readonly dims: boolean
  private outColumn = 0
  private errColumn = 0
  private readonly closing = new AbortController()
  private writes = 0

  constructor(out: Sink, err: Sink, env: NodeJS.ProcessEnv) {
    this.out = out
    this.err = err
    this.dims = err.isTTY === true && !env.NO_COLOR
    // `headrace … | head` closes the pipe: further output is dropped, which is no reason to crash.
    out.on('error', () => this.closing.abort())
    err.on('error', () => undefined)
  }

  /** A person sees stdout; else it is read by a program. */
  get isShown(): boolean {
    return this.out.isTTY === true
  }

  /** A person sees stderr: what moves may be shown there. */
  get isWatched(): boolean {
    return this.err.isTTY === true
  }

  /** Aborted when the reader of stdout closed it. */
  get closed(): AbortSignal {
    return this.closing.signal
  }

  /** Text of an answer, as it comes. A program gets it as it is, a terminal what is safe to show. */
  text(text: string): void {
    this.breakLine('err')
    this.writeOut(this.out.isTTY ? visible(text) : text)
  }

  /** A line on stdout; what comes from elsewhere is written out in it, on a terminal or not. */
  print(line: string): void {
    this.breakLine('err')
    this.writeOut(`${oneLine(line)}\n`)
  }

  /** A JSON line on stdout. */
  json(value: unknown): void {
    this.writeOut(`${jsonLine(value)}\n`)
  }

  /** Text beside the answer, as it comes: reasoning. */
  aside(text: string): void {
    this.breakLine('out')
    this.writeErr(visible(text), true)
  }

  /** A line beside the answer. */
  note(line: string): void {
    this.breakLines()
    this.writeErr(`${oneLine(line)}\n`, true)
  }

  /**
   * A part of a line beside the answer, without its end. Given what it returned for the part in front it goes on there, where nothing was
   * written since: returns `undefined` where something was.
   */
  part(text: string, behind?: number): number | undefined {
    if (behind === undefined) this.breakLines()
    else if (behind !== this.writes) return undefined
    this.writeErr(text.endsWith('\n') ? `${oneLine(text.slice(0, -1))}\n` : oneLine(text), true)
    return this.writes
  }

  /** A line that must be seen. */
  warn(line: string): void {
    this.breakLines()
    this.writeErr(`${oneLine(line)}\n`, false)
  }

  /** Ends unfinished lines, so that the next output starts on its own line. */
  breakLines(): void {
    this.breakLine('out')
    this.breakLine('err')
  }

  private breakLine(which: 'out' | 'err'): void {
    if (which === 'out' && this.outColumn > 0) this.writeOut('\n')
    if (which === 'err' && this.errColumn > 0) this.writeErr('\n', false)
  }

  private writeOut(text: string): void {
    if (text === '' || this.closing.signal.aborted) return
    this.writes++
    this.outColumn = text.endsWith('\n') ? 0 : 1
    this.out.write(text)
  }

  private writeErr(text: string, dim: boolean): void {
    if (text === '') return
    this.writes++
    this.errColumn = text.endsWith('\n') ? 0 : 1
    this.err.write(dim && this.dims ? `\x1b[2m${text}\x1b[22m` : text)
  }
}
