import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work in a row before others have a turn. */
const SLICE = 5

/** Work in small pieces, one after another, so that no number of pieces holds up the event loop. */
export class Slices {
  private tail: Promise<unknown> = Promise.resolve()
  private since = 0

  /** Runs a piece when those before it are done and the slice has time. */
  run<T>(work: () => T): Promise<T> {
    const result = this.tail.then(async () => {
      if (performance.now() - this.since > SLICE) {
        await setImmediate()
        this.since = performance.now()
      }
      return work()
    })
    this.tail = result.catch(() => undefined)
    return result
  }
}

/** Does something to every item, at most `limit` at a time. */
export async function each<T>(items: readonly T[], limit: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
}
