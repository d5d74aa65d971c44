import { CANCELLED } from './error.ts'

type Source = Pick<NodeJS.Process, 'on' | 'off'>

/** Ctrl-C and the signals that end a process: the first one cancels, a second one leaves at once. */
export class Interrupts {
  private readonly controller = new AbortController()
  private readonly source: Source
  private readonly say: (line: string) => void
  private readonly exit: (code: number) => void

  constructor(say: (line: string) => void, source: Source = process, exit: (code: number) => void = (code) => process.exit(code)) {
    this.say = say
    this.source = source
    this.exit = exit
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) source.on(name, this.interrupt)
  }

  /** Aborted by the first one; the reason is a text. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  readonly interrupt = (name: NodeJS.Signals): void => {
    if (this.signal.aborted) {
      this.exit(CANCELLED)
      return
    }
    this.say(name === 'SIGINT' ? 'headrace: cancelling the turn; Ctrl-C once more leaves at once' : `headrace: ${name}: cancelling the turn`)
    this.controller.abort(name === 'SIGINT' ? 'cancelled with Ctrl-C' : `cancelled by ${name}`)
  }

  stop(): void {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) this.source.off(name, this.interrupt)
  }
}
