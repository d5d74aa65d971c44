import type { Context } from 'cordis'

declare module 'cordis' {
  interface Events {
    /** The app shuts down: finish what must be finished. Nothing is unloaded before all listeners are done. */
    'app/stopping'(): Promise<void> | void
  }
}

/** Milliseconds that plugins have to unload. */
const UNLOADING = 5_000

/**
 * Shuts down in order on SIGTERM or SIGINT: plugins finish, then unload, then the process exits with 0. A second signal
 * exits at once.
 */
export function stopOnSignals(
  ctx: Context,
  say: (line: string) => void,
  exit: (code: number) => void = (code) => process.exit(code),
): void {
  let stopping = false
  const stop = async (): Promise<number> => {
    let code = 0
    await ctx.parallel('app/stopping').catch((error: AggregateError) => {
      say(`stopping failed: ${error.errors.map(String).join('; ')}`)
      code = 1
    })
    const late = new Promise<void>((resolve) => setTimeout(resolve, UNLOADING).unref())
    await Promise.race([ctx.fiber.dispose(), late])
    return code
  }
  const onSignal = (name: NodeJS.Signals): void => {
    if (stopping) return exit(1)
    stopping = true
    say(`${name}: stopping; once more leaves at once`)
    void stop().then(exit, () => exit(1))
  }
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, onSignal)
}
