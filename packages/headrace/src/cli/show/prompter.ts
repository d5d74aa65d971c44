import { randomInt } from 'node:crypto'
import { type Interface, createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { KeyGate, STANDS, written } from '@headrace/consent'

/** A terminal to ask on. */
export interface AskedOn {
  readonly input: Readable & { readonly setRawMode?: (raw: boolean) => unknown }
  readonly output: Writable
  /** Milliseconds in which a terminal says that it shows the question; one that does not gets a code to be typed. Default: 2000. */
  readonly patience?: number
}

/** What is put to the person. */
export interface Prompt {
  readonly lines: readonly string[]
  /** All of it, where `lines` leave something out. */
  readonly whole?: readonly string[]
  /** Aborted where the question is over; the reason is a text. */
  readonly signal: AbortSignal
}

/**
 * Asks for lines on a terminal. A line counts that was typed after the question stood on the screen; what was typed before is nobody's
 * answer (L21).
 */
export class Prompter {
  private readonly terminal: AskedOn
  private readonly interrupt: () => void
  private readonly gate = new KeyGate()

  constructor(terminal: AskedOn, interrupt: () => void) {
    this.terminal = terminal
    this.interrupt = interrupt
  }

  say(line: string): void {
    this.terminal.output.write(`${line}\n`)
  }

  /** A line of the person; undefined where the terminal was closed, or the question is over. */
  async ask({ lines, whole, signal }: Prompt, words: string): Promise<string | undefined> {
    const all = whole ? ', [s]how all' : ''
    let shown = lines
    for (;;) {
      const line = await this.line(shown, `${words}${all}, then Enter: `, signal)
      if (!whole || line === undefined || !['s', 'show', 'show all'].includes(line.trim().toLowerCase())) return line
      shown = whole
    }
  }

  private async line(lines: readonly string[], words: string, signal: AbortSignal): Promise<string | undefined> {
    const { output, input } = this.terminal
    if (signal.aborted || input.destroyed || input.readableEnded) return undefined
    output.write(lines.map((line) => `${line}\n`).join(''))
    const stands = await this.stands(signal)
    if (signal.aborted || stands === undefined) return undefined
    if (stands) return this.read(words, signal)
    // Nobody can have typed what nobody knew: the terminal does not say when the question stood there.
    const code = String(randomInt(100, 1_000))
    output.write(`This terminal does not say what it shows, so an answer begins with ${code}: ${code}y is y, ${code}n is n.\n`)
    const typed = await this.read(words, signal)
    if (typed === undefined || typed.trim().startsWith(code)) return typed?.trim().slice(code.length)
    const said = typed.trim() === '' ? 'An empty line' : JSON.stringify(written(typed.trim().slice(0, 40)))
    return this.line([`${said} was not taken: it does not begin with ${code}. There is a new number.`], words, signal)
  }

  /** Waits until what was written stands on the screen. False where the terminal does not tell, undefined where it was closed. */
  private stands(signal: AbortSignal): Promise<boolean | undefined> {
    const { input, output, patience = 2_000 } = this.terminal
    return new Promise((resolve) => {
      const end = (result: boolean | undefined): void => {
        clearTimeout(timer)
        input.off('data', take).off('end', closed).off('close', closed)
        signal.removeEventListener('abort', closed)
        input.pause()
        // Nobody reads on who would end that.
        if (result === undefined) input.setRawMode?.(false)
        resolve(result)
      }
      const take = (data: Buffer | string): void => {
        const { before, after } = this.gate.take(String(data))
        // In raw mode Ctrl-C is a key, and no signal.
        if (before.includes('\u0003')) this.interrupt()
        if (!this.gate.isOpen) return
        end(true)
        if (after !== '') input.unshift(Buffer.from(after))
      }
      const closed = (): void => end(undefined)
      const timer = setTimeout(() => end(false), patience)
      signal.addEventListener('abort', closed, { once: true })
      input.setRawMode?.(true)
      input.on('data', take).on('end', closed).on('close', closed)
      this.gate.close()
      output.write(STANDS)
      input.resume()
    })
  }

  private read(words: string, signal: AbortSignal): Promise<string | undefined> {
    const { input, output } = this.terminal
    return new Promise((resolve) => {
      const lines: Interface = createInterface({ input, output, historySize: 0 })
      const over = (): void => {
        output.write(`\n${String(signal.reason)}\n`)
        lines.close()
      }
      const end = (answer: string | undefined): void => {
        signal.removeEventListener('abort', over)
        resolve(answer)
        lines.close()
      }
      lines.on('SIGINT', this.interrupt)
      lines.once('close', () => end(undefined))
      signal.addEventListener('abort', over, { once: true })
      lines.question(words, end)
    })
  }
}
