// What the clock of a test cannot stop: taken before a test does.
const { setTimeout: later, clearTimeout, setImmediate } = globalThis
const now = performance.now.bind(performance)

/** Milliseconds that only a hang takes, on any machine and under any load. */
export const HANG = 60_000
/** Milliseconds between two looks of {@link until}. */
const LOOK = 5

/** A promise, and what settles it. */
export interface Gate<T> {
  readonly promise: Promise<T>
  /** Releases everything that waits. */
  open(value: T): void
}

/**
 * A place where something waits until a test lets it go on; or where a test waits until something gets there.
 *
 * ```ts
 * const [started, hold] = [gate(), gate()]
 * ctx.tools.define({ name: 'slow', execute: () => (started.open(), hold.promise) })
 * ```
 */
export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void
  const promise = new Promise<T>((resolve) => (open = resolve))
  return { promise, open }
}

/**
 * Looks until something is there: until `look` gives what is not `false`, `null` or `undefined`, and does not throw.
 * What it gives then is what this resolves with.
 *
 * @throws what `look` threw last, or an error that names `what`, after {@link HANG}
 */
export async function until<T>(look: () => T | Promise<T>, what = 'it'): Promise<Exclude<T, false | null | undefined>> {
  const end = now() + HANG
  for (;;) {
    let problem: Error | undefined
    try {
      const found = await look()
      if (found !== false && found !== null && found !== undefined) return found as Exclude<T, false | null | undefined>
    } catch (error) {
      problem = error as Error
    }
    if (now() > end) throw problem ?? new Error(`${what} is still not so after ${HANG} ms`)
    await new Promise((resolve) => later(resolve, LOOK))
  }
}

/** Awaits a promise; rejects, naming `what`, where it has not settled after {@link HANG}. */
export async function settles<T>(promise: Promise<T>, what = 'it'): Promise<T> {
  let timer: ReturnType<typeof later> | undefined
  const late = new Promise<never>((_, reject) => { timer = later(() => reject(new Error(`${what}: it hangs`)), HANG) })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/**
 * Lets everything run that waits for no clock, file, socket or process: so many turns of the event loop.
 * For what is not to happen; for what is, wait for it with a {@link gate} or {@link until}.
 */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
