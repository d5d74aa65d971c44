import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work before the event loop gets a turn. */
const SLICE = 5

/** Splits work into small pieces that do not block the event loop. */
export class Slices {
  private tail: Promise<unknown> = Promise.resolve()
  private since = 0
  private resting: Promise<void> | undefined

  /** Begins a slice: the event loop just ran. */
  start(): void {
    this.since = performance.now()
  }

  /** Runs a piece when those before it are done and the slice has time. */
  run<T>(work: () => T): Promise<T> {
    const result = this.tail.then(async () => {
      await this.rest()
      return work()
    })
    this.tail = result.catch(() => undefined)
    return result
  }

  /** Yields to the event loop, where the slice has no time left. */
  rest(): Promise<void> | undefined {
    if (!this.resting && performance.now() - this.since <= SLICE) return undefined
    return (this.resting ??= setImmediate().then(() => {
      this.resting = undefined
      this.start()
    }))
  }
}

/** Calls a function for every item, in slices; asynchronous calls run at most `limit` at a time. */
export async function each<T>(
  items: readonly T[],
  limit: number,
  slices: Slices,
  work: (item: T) => Promise<void> | undefined,
): Promise<void> {
  const running = new Set<Promise<void>>()
  slices.start()
  for (const item of items) {
    const resting = slices.rest()
    if (resting) await resting
    const pending = work(item)
    if (!pending) continue
    const done = pending.finally(() => running.delete(done))
    running.add(done)
    if (running.size >= limit) await Promise.race(running)
  }
  await Promise.all(running)
}
