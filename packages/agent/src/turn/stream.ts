import type { Chunk } from '@headrace/message'
import { cancelled } from '../seams/dispatch.ts'

/** Reads a stream to its end, or until the signal is aborted, whether the stream honours it or not. One abort listener for all of it. */
export async function pull(stream: AsyncIterable<Chunk>, signal: AbortSignal, take: (chunk: Chunk) => void): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]()
  let interrupt: ((error: Error) => void) | undefined
  const onAbort = (): void => interrupt?.(cancelled(signal))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    for (;;) {
      if (signal.aborted) throw cancelled(signal)
      const result = await new Promise<IteratorResult<Chunk>>((resolve, reject) => {
        interrupt = reject
        iterator.next().then(resolve, reject)
      })
      if (result.done) return
      take(result.value)
    }
  } catch (error) {
    // Not awaited: a stream that ignores the signal must not block the turn.
    iterator.return?.()?.then(undefined, () => undefined)
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
