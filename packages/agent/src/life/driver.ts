import type { Session } from '@headrace/session'
import type { TurnSlots } from './turn-slots.ts'

/** What a driver drives. */
export interface DriverOptions {
  readonly session: Session
  readonly slots: TurnSlots
  /** The queue waits for `wake()`. */
  readonly held: boolean
  /** Runs one turn to its end. */
  readonly turn: () => Promise<void>
  /** Called with the reason why the log takes no more events. */
  readonly fail: (error: unknown) => void
}

/** Runs the turns of one agent, one after another, as long as there is something to do. */
export class Driver {
  private readonly options: DriverOptions
  private driving: Promise<void> | undefined
  private held: boolean
  private ended = false
  /** Running calls of `between()`: no turn begins meanwhile. */
  private pauses = 0
  /** Aborting it gives up waiting for a slot. */
  private waiting: AbortController | undefined

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

  /** Runs `act` between turns: the running turn may end, and no turn begins until `act` is done. */
  async between<T>(act: () => Promise<T>): Promise<T> {
    this.pauses++
    this.reconsider()
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
    this.reconsider()
  }

  get state(): 'idle' | 'waiting' | 'running' {
    if (!this.driving) return 'idle'
    return this.waiting ? 'waiting' : 'running'
  }

  /** Leaves the queue for a slot when no work is left. */
  reconsider(): void {
    if (!this.hasWork()) this.waiting?.abort()
  }

  private drive(): void {
    if (this.driving || this.ended || this.pauses > 0) return
    const run = async (): Promise<void> => {
      await Promise.resolve()
      try {
        while (this.hasWork()) await this.next()
      } catch (error) {
        // The log takes no more.
        this.held = true
        this.options.fail(error)
      } finally {
        // In the same frame as the last check for work: later work starts a new drive.
        this.driving = undefined
      }
    }
    this.driving = run()
  }

  /** Runs a turn as soon as there is a slot for it. */
  private async next(): Promise<void> {
    const waiting = (this.waiting = new AbortController())
    try {
      await this.options.slots.run(waiting.signal, async () => {
        this.waiting = undefined
        if (this.hasWork()) await this.options.turn()
      })
    } finally {
      this.waiting = undefined
    }
  }

  private hasWork(): boolean {
    if (this.ended || this.pauses > 0) return false
    const { turn, queue, owed } = this.options.session.ledger
    return turn !== undefined || (!this.held && (queue.length > 0 || owed))
  }
}
