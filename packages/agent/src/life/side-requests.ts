import { CancelledError } from '../contract/error.ts'
import { abortController } from '../seams/timer.ts'

/** The running side requests. They end with the agent at the latest. */
export class SideRequests {
  private readonly ending = abortController()
  private readonly running = new Set<Promise<unknown>>()

  async run<T>(ask: (ending: AbortSignal) => Promise<T>): Promise<T> {
    const asking = ask(this.ending.signal)
    this.running.add(asking)
    try {
      return await asking
    } finally {
      this.running.delete(asking)
    }
  }

  /** Cancels them. */
  cancel(reason: string): void {
    this.ending.abort(new CancelledError(reason))
  }

  /** Resolves when none runs. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.running)
  }
}
