/** Limits how many run at once; others wait in the order they came. */
export class Queue {
  private readonly limit: number
  private running = 0
  private readonly waiting: (() => void)[] = []

  constructor(limit: number) {
    this.limit = limit
  }

  /**
   * Waits for a slot; returns the function that releases it. Rejects with the signal's reason where it is aborted
   * before.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.running < this.limit) this.running++
    else await this.wait(signal)
    let left = false
    return () => {
      if (left) return
      left = true
      // The slot is handed over directly, so that nobody can jump the queue.
      const next = this.waiting.shift()
      if (next) next()
      else this.running--
    }
  }

  private wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const called = (): void => {
        signal.removeEventListener('abort', left)
        resolve()
      }
      const left = (): void => {
        this.waiting.splice(this.waiting.indexOf(called), 1)
        reject(signal.reason as Error)
      }
      this.waiting.push(called)
      signal.addEventListener('abort', left, { once: true })
    })
  }
}
