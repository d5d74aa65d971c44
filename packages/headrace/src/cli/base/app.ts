import { fileURLToPath } from 'node:url'
import { type NotRunning, addLastingExporter, fibersOf, whyNotRunning } from '@headrace/cordis'
import type { Loader } from '@headrace/loader'
import { messageOf } from '@headrace/message'
import { Context, Logger } from 'cordis'
import { type Config, headrace } from '../../plugin.ts'
import { CommandError } from './error.ts'
import { brief } from './text.ts'

/** Cordis' levels: errors 0, warnings 1, information 2, debugging 3. */
const WARN = 1
const DEBUG = 3

/** Where an app's warnings are told. */
export interface Voice {
  note(line: string): void
  warn(line: string): void
}

type LogMessage = Parameters<typeof Logger.format>[1]

/** An app with the usual set, its plugins' warnings on stderr. @throws CommandError that names the plugin that does not run */
export async function boot(config: Config, terminal: Voice, debug: boolean): Promise<Context> {
  return telling(terminal, debug, async (ctx) => {
    await ctx.plugin(headrace, config)
    checkActive(ctx)
    return ctx
  })
}

/** An app booted from its YAML file. Packages that the file's folder does not have are looked for where this command is installed. */
export interface FileApp {
  readonly ctx: Context
  readonly loader: Loader
}

/** Boots the app of a file, its plugins' warnings on stderr. @throws LoaderError with all that is wrong, and where */
export async function bootFile(file: string, options: { readonly watch?: boolean }, terminal: Voice, debug: boolean): Promise<FileApp> {
  // Imported lazily: it brings a YAML parser that no other command needs.
  const { boot: bootApp } = await import('@headrace/loader')
  return telling(terminal, debug, async (ctx) => ({
    ctx,
    loader: await bootApp(ctx, { file, fallbacks: [fileURLToPath(import.meta.url)], ...options }),
  }))
}

/** Boots in a new context. Log messages are held back until it has booted: an error is both thrown and logged, and must be shown once. */
async function telling<T>(terminal: Voice, debug: boolean, start: (ctx: Context) => Promise<T>): Promise<T> {
  const ctx = new Context()
  let waiting: LogMessage[] | undefined = debug ? undefined : []
  const exporter = {
    levels: { default: debug ? DEBUG : WARN },
    export: (message: LogMessage): void => void (waiting ? waiting.push(message) : tell(message)),
  }
  const tell = (message: LogMessage): void => {
    const [line = '', ...rest] = Logger.format(exporter, message).split('\n')
    terminal.warn(`headrace: ${message.type === 'warn' ? 'warning' : message.type}: ${brief(line, 1_000)}`)
    if (debug) for (const other of rest) terminal.note(other)
  }
  // First: without an exporter a failing plugin would be silent.
  addLastingExporter(ctx, exporter)
  const app = await start(ctx)
  for (const message of waiting ?? []) tell(message)
  waiting = undefined
  return app
}

/** A plugin that waits for a service, or failed, says nothing by itself. @throws CommandError */
export function checkActive(ctx: Context): void {
  for (const fiber of fibersOf(ctx)) {
    const why = whyNotRunning(fiber)
    if (why) throw new CommandError(`the plugin ${fiber.name} does not run: ${wordsFor(why)}`)
  }
}

function wordsFor(why: NotRunning): string {
  switch (why.kind) {
    case 'waits': return `it waits for ${why.services.join(', ')}, which nobody provides`
    case 'failed': return `it failed: ${messageOf(why.error)}`
    default: return 'it did not come to an end of loading'
  }
}

/** Unloads all plugins; an error is shown and stops nothing. */
export async function shutDown(ctx: Context, terminal: Voice): Promise<void> {
  await ctx.fiber.dispose().catch((error: unknown) => terminal.warn(`headrace: warning: ${messageOf(error)}`))
}
