import { isA, messageOf } from '@headrace/message'
import { CancelledError, SeamError } from '../contract/error.ts'
import { type Departures, type Hook, type Hooks, pluginOfHook } from './listener-owner.ts'
import { type Timer, startTimer } from './timer.ts'

/** Replaces what the other listeners contributed, on purpose: see {@link override}. */
export class Override<T> {
  readonly value: T
  readonly reason: string

  constructor(value: T, reason: string) {
    this.value = value
    this.reason = reason
  }
}

/** Marks a return value that replaces what `next()` returned on purpose (L15). The reason is logged. */
export function override<T>(value: T, reason: string): T {
  return new Override(value, reason) as unknown as T
}

/** Unwraps an {@link override}; `rewrap` marks a part of the value as an override again. */
export function unwrap(returned: unknown): { readonly value: unknown; rewrap(part: unknown): unknown } {
  if (!(returned instanceof Override)) return { value: returned, rewrap: (part) => part }
  return { value: returned.value, rewrap: (part) => new Override(part, returned.reason) }
}

/** How one kind of seam treats what a listener returns. */
export interface SeamRule<T> {
  /**
   * Makes the seam's value of what a listener returned. `below` is what `next()` returned, or would have where it was not called; rules
   * of decisions never ask for it. Throws a `TypeError` for a wrong type.
   */
  accept(returned: unknown, from: Hook, below: () => Promise<T>, called: boolean): Promise<T> | T
  /** What `next()` gives a listener: frozen. Default: the value. */
  show?(value: T): unknown
  /** Called for a listener that broke its contract, which is then skipped. Default: the seam fails with that error. */
  forgive?(error: SeamError): void
}

/** What a dispatch needs beside its listeners. */
export interface SeamRun {
  readonly hooks: Hooks
  readonly seam: string
  readonly signal: AbortSignal
  /** Milliseconds a listener may take, not counting what it waits for in `next()`. Absent: no deadline. */
  readonly deadline?: number | undefined
  readonly departures: Departures
  /** The arguments before `next`; the agent is seen by each plugin as its own. */
  args(plugin: string): readonly unknown[]
}

/**
 * Dispatches a seam: an onion over listeners of Cordis, in their order. Each has a clock that stops while it waits in `next()`,
 * may call `next()` once, and counts as passed through when its plugin goes while it runs. A seam that ended refuses a late `next()`
 * and ignores a late result.
 *
 * @throws SeamError that names plugin and seam; CancelledError
 */
export async function dispatchSeam<T>(run: SeamRun, rule: SeamRule<T>, inner: () => Promise<T> | T, hooks: readonly Hook[]): Promise<T> {
  if (hooks.length === 0) return inner()
  const guards = new Set<Guard>()
  let ended = false
  const enter = async (index: number): Promise<T> => {
    if (ended) throw new CancelledError('the seam has ended')
    const hook = hooks[index]
    if (!hook) return inner()
    if (!run.hooks.has(run.seam, hook)) return enter(index + 1)
    return listen(run, rule, hook, guards, () => ended, () => enter(index + 1))
  }
  // One abort listener for the whole seam.
  const interrupt = (): void => { for (const guard of guards) guard.interrupt(cancelled(run.signal)) }
  run.signal.addEventListener('abort', interrupt, { once: true })
  try {
    return await enter(0)
  } finally {
    ended = true
    run.signal.removeEventListener('abort', interrupt)
    // Stops the clocks of listeners that nobody waits for any more.
    for (const guard of guards) guard.interrupt(new CancelledError('the seam has ended'))
  }
}

async function listen<T>(
  run: SeamRun,
  rule: SeamRule<T>,
  hook: Hook,
  guards: Set<Guard>,
  ended: () => boolean,
  enterNext: () => Promise<T>,
): Promise<T> {
  const plugin = pluginOfHook(hook)
  const fail = (problem: string, cause?: unknown): SeamError => new SeamError(plugin, run.seam, problem, { cause })
  const guard = new Guard(run, hook, () => fail(`it did not finish within ${run.deadline} ms`))
  guards.add(guard)
  let below: Promise<T> | undefined
  let misuse: SeamError | undefined
  let shown: unknown = GONE
  const pass = (): Promise<T> => {
    if (!below) (below = enterNext()).catch(() => undefined)
    return below
  }
  const proceed = (): Promise<unknown> => {
    if (ended() || guard.over) throw fail('it called next() after the seam had ended')
    if (below) throw (misuse = fail('it called next() twice'))
    guard.pause()
    return pass().then(
      (value) => {
        guard.resume()
        return (shown = rule.show ? rule.show(value) : value)
      },
      (error: unknown) => {
        guard.resume()
        throw error
      },
    )
  }
  const next = (): Promise<unknown> => {
    try {
      return handled(proceed())
    } catch (error) {
      return handled(Promise.reject(error as Error))
    }
  }
  try {
    const returned = await guard.run(() => hook.callback.apply(null, [...run.args(plugin), next]))
    if (misuse) throw misuse
    // Its plugin was unloaded, or it returned the (frozen) result of `next()` unchanged.
    if (returned === GONE || returned === shown) return await pass()
    return await rule.accept(returned, hook, pass, below !== undefined)
  } catch (error) {
    if (!run.hooks.has(run.seam, hook) && !run.signal.aborted) return await pass()
    if (isA(error, CancelledError) && run.signal.aborted) throw error
    const failure = isA(error, SeamError) || isA(error, CancelledError) ? error : fail(wordsOf(error), error)
    if (!rule.forgive) throw failure
    rule.forgive(isA(failure, SeamError) ? failure : fail(wordsOf(failure), failure))
    return await pass()
  } finally {
    guards.delete(guard)
    guard.stop()
  }
}

function wordsOf(error: unknown): string {
  const problem = messageOf(error)
  return isA(error, TypeError) && problem.startsWith('returned ') ? problem : `it threw: ${problem}`
}

const GONE = Symbol('gone')

/** Marks a rejection as handled: a listener that does not await it must not crash the process. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

/** Races a listener against its clock, the turn's signal and the departure of its plugin. */
class Guard {
  over = false
  private readonly seam: SeamRun
  private readonly late: () => SeamError
  private left: number
  private since = 0
  private timer: Timer
  private settle: ((error: Error | typeof GONE) => void) | undefined
  private readonly unwatch: () => void

  constructor(seam: SeamRun, hook: Hook, late: () => SeamError) {
    this.seam = seam
    this.late = late
    this.left = seam.deadline ?? Infinity
    this.unwatch = seam.departures.watch(hook.ctx.fiber, () => this.settle?.(GONE))
  }

  /** Resolves with the listener's result; rejects with what it throws, synchronously or later. */
  run(listener: () => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.settle = (reason) => (reason === GONE ? resolve(GONE) : reject(reason))
      if (this.seam.signal.aborted) return reject(cancelled(this.seam.signal))
      this.resume()
      // Not `resolve(listener())`: the promise would be locked to it, and the clock could not reject any more.
      Promise.resolve(listener()).then(resolve, reject)
    })
  }

  interrupt(why: Error): void {
    this.settle?.(why)
  }

  pause(): void {
    clearTimeout(this.timer)
    this.left -= performance.now() - this.since
  }

  resume(): void {
    if (this.over || this.left === Infinity) return
    this.since = performance.now()
    this.timer = startTimer(Math.max(0, this.left), () => this.settle?.(this.late()))
  }

  stop(): void {
    this.over = true
    clearTimeout(this.timer)
    this.unwatch()
  }
}

export function cancelled(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new CancelledError(messageOf(signal.reason))
}

/** Awaits work that may not honour the signal: rejects as soon as the signal is aborted. */
export function orCancelled<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(cancelled(signal))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
