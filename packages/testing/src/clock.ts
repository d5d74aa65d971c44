import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'
import { turns } from './gate.ts'

/** The clock of a test, once it is stopped. */
export interface StoppedClock {
  /** Advances the clock, and runs everything that becomes due. */
  pass(milliseconds: number): Promise<void>
}

/** Stops the clock of this process (its timers, `performance.now()` and `Date`) until the test ends. */
export function stopClock(): StoppedClock {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] })
  const { setTimeout: kept } = timers
  timers.setTimeout = pause as typeof kept
  syncBuiltinESMExports()
  onTestFinished(() => {
    timers.setTimeout = kept
    syncBuiltinESMExports()
    vi.useRealTimers()
  })
  return {
    pass: async (milliseconds) => {
      await turns()
      await vi.advanceTimersByTimeAsync(milliseconds)
      await turns()
    },
  }
}

/** That of `node:timers/promises`, by the clock that is stopped: vitest leaves it alone. */
function pause<T>(milliseconds: number, value: T, { signal }: { readonly signal?: AbortSignal } = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal!.reason }))
    }
    // oxlint-disable-next-line headrace/no-sleep -- the one that is stopped
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve(value)
    }, milliseconds)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
