import type { Context } from 'cordis'
import type { Reporter } from '../seams/report.ts'
import { loadingFiber } from '../seams/listener-owner.ts'
import { cancelled } from '../seams/dispatch.ts'

/** Waits until no plugin of the app is loading, looking again after each that settles; at most `limit` ms, abortable (L5). */
export async function settleLoading(root: Context, limit: number, reporter: Reporter, signal: AbortSignal): Promise<void> {
  const until = performance.now() + limit
  for (let fiber = loadingFiber(root); fiber; fiber = loadingFiber(root)) {
    const left = until - performance.now()
    if (left <= 0) {
      reporter.report({ kind: 'loading', plugin: fiber.name, seam: 'agent/session-prefix', problem: `it was still loading after ${limit} ms; the first turn went on without it` })
      return
    }
    await settled(fiber.await(), left, signal)
    if (signal.aborted) throw cancelled(signal)
  }
}

function settled(loading: Promise<unknown>, limit: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, limit)
    signal.addEventListener('abort', done, { once: true })
    loading.then(done, done)
  })
}
