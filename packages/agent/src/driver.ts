import type { Session } from '@headrace/session'

/** What a driver drives. */
export interface DriverOptions {
  readonly session: Session
  /** The queue waits for `wake()`. */
  readonly held: boolean
  /** Runs one turn to its end. */
  readonly turn: () => Promise<void>
  /** Told why the log takes no more. */
  readonly fail: (error: unknown) => void
}

/** Runs the turns of one agent, one after another, as long as there is something to do. */
export class Driver {
  private readonly options: DriverOptions
  private driving: Promise<void> | undefined
  private held: boolean
  private ended = false
  /** How many hold it up: no turn begins meanwhile. */
  private pauses = 0

  constructor(options: DriverOptions) {
    this.options = options
    this.held = options.held
  }

  wake(): void {
    this.held = false
    this.drive()
  }

  /** Goes on with a turn that a resume found open. */
  goOn(): void {
    if (this.options.session.ledger.turn) this.drive()
  }

  /** Does something between turns: the one that runs may end, none begins until it is done. */
  async between<T>(act: () => Promise<T>): Promise<T> {
    this.pauses++
    try {
      return await act()
    } finally {
      this.pauses--
      if (!this.held) this.drive()
    }
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.driving) await this.driving
  }

  /** No turn begins any more. */
  end(): void {
    this.ended = true
  }

  private drive(): void {
    if (this.driving || this.ended || this.pauses > 0) return
    const run = async (): Promise<void> => {
      await Promise.resolve()
      try {
        while (this.hasWork()) await this.options.turn()
      } catch (error) {
        // The log takes no more.
        this.held = true
        this.options.fail(error)
      } finally {
        // In the frame of the last look for work: what comes later drives anew.
        this.driving = undefined
      }
    }
    this.driving = run()
  }

  private hasWork(): boolean {
    if (this.ended || this.pauses > 0) return false
    const { turn, queue, owed } = this.options.session.ledger
    return turn !== undefined || (!this.held && (queue.length > 0 || owed))
  }
}
