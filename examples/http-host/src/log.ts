import { type Context, Logger } from 'cordis'

type LogMessage = Parameters<typeof Logger.format>[1]

/**
 * Prints warnings and errors of all plugins: without it a failing one goes unnoticed. They are held back until the
 * returned function is called: errors at boot are thrown too, and should be printed once.
 */
export function sayWarnings(ctx: Context, say: (line: string) => void): () => void {
  let waiting: LogMessage[] | undefined = []
  const exporter = {
    levels: { default: 1 },
    export: (message: LogMessage): void => void (waiting ? waiting.push(message) : tell(message)),
  }
  const tell = (message: LogMessage): void => say(`${message.type}: ${Logger.format(exporter, message)}`)
  ctx.logger.exporter(exporter)
  return () => {
    const early = waiting ?? []
    waiting = undefined
    for (const message of early) tell(message)
  }
}
