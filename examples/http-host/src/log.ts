import { type Context, Logger } from 'cordis'

type LogMessage = Parameters<typeof Logger.format>[1]

/**
 * Says warnings and errors of all plugins: without it nobody hears of one that fails. They wait until the function that it returns is
 * called: what fails while the app boots is thrown too, and is to be told once.
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
