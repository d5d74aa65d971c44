import { type Context, Logger } from 'cordis'

type LogMessage = Parameters<typeof Logger.format>[1]

/** Says warnings and errors of all plugins: without it nobody hears of one that fails. */
export function sayWarnings(ctx: Context, say: (line: string) => void): void {
  const exporter = {
    levels: { default: 1 },
    export: (message: LogMessage): void => say(`${message.type}: ${Logger.format(exporter, message)}`),
  }
  ctx.logger.exporter(exporter)
}
