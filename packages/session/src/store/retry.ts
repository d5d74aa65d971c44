const [FIRST, LONGEST] = [100, 30_000]

/**
 * Does something that fails now later, and again, at growing distances, until it succeeds. Keeps no process alive.
 * Returns the call that ends it.
 */
export function untilDone(work: () => void, wait = FIRST): () => void {
  let timer: NodeJS.Timeout | undefined
  const attempt = (next: number): void => {
    timer = setTimeout(() => {
      try {
        work()
      } catch {
        attempt(Math.min(next * 2, LONGEST))
      }
    }, next)
    timer.unref()
  }
  attempt(wait)
  return () => clearTimeout(timer)
}
