import type { AgentCore } from '../life/core.ts'
import { loadingFiber } from '../seams/hooks.ts'
import { cancelled } from '../seams/dispatch.ts'

/** Waits until no plugin of the app is loading, looking again after each that settles; bounded, abortable (L5). */
export async function settleLoading(core: AgentCore, signal: AbortSignal): Promise<void> {
  const limit = core.settings.loadTimeout
  const until = performance.now() + limit
  for (let fiber = loadingFiber(core.rootContext); fiber; fiber = loadingFiber(core.rootContext)) {
    const left = until - performance.now()
    if (left <= 0) {
      core.reporter.report({ kind: 'loading', plugin: fiber.name, seam: 'agent/session-prefix', problem: `it was still loading after ${limit} ms; the first turn went on without it` })
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
