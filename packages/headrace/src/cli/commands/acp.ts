import * as desk from '@headrace/desk'
import type { Context, Plugin } from 'cordis'
import { shutDown } from '../base/app.ts'
import { CommandError, DONE, FAILED, UsageError, describeError, version } from '../base/error.ts'
import type { StoreOptions } from '../base/store.ts'
import type { Terminal } from '../show/terminal.ts'
import { bootApp, bootSet, configOf } from './run.ts'

export interface AcpOptions extends StoreOptions {
  /** The file of an app, instead of the usual set. */
  readonly app?: string
  readonly model?: string
  readonly baseUrl?: string
  readonly debug?: true
}

/**
 * `headrace acp`: serves an editor over stdin and stdout, by the Agent Client Protocol, until it closes them. Sessions are parked then.
 * Returns the exit code.
 */
export async function acp(options: AcpOptions, terminal: Terminal): Promise<number> {
  if (options.app !== undefined && options.store !== undefined) throw new UsageError('where sessions are kept is said in the file of --app; leave --store out')
  // Nothing but frames goes to stdout, whatever a plugin prints.
  const { error } = globalThis.console
  Object.assign(globalThis.console, { log: error, info: error, debug: error })
  const { onWire, openWire } = await door()
  // Answers at once: editors give up on what takes its time to start.
  const wire = openWire({ input: process.stdin, output: process.stdout, version: version() })
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
  let app: Context | undefined
  try {
    app = options.app === undefined
      ? await bootSet(configOf(options, undefined), options, terminal)
      : await bootApp(options.app, terminal, options.debug === true)
    if (app.get('desk') === undefined) await app.plugin(desk, {})
    await app.plugin(onWire(wire), {})
  } catch (error) {
    for (const line of describeError(error, options.debug === true)) terminal.warn(line)
    // The editor shows it with whatever it asks for.
    wire.fail(error)
    await Promise.race([wire.closed, stopped])
    if (app) await shutDown(app, terminal)
    return FAILED
  }
  await Promise.race([wire.closed, stopped])
  await shutDown(app, terminal)
  wire.close()
  return DONE
}

/** What this command needs of `@headrace/plugin-acp`, which is installed beside it by those who want it. */
interface AcpPackage {
  openWire(options: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream; readonly version: string }): Wire
  onWire(wire: Wire): Plugin<object>
}

interface Wire {
  readonly closed: Promise<void>
  fail(error: unknown): void
  close(): void
}

// By a name that no bundler and no type follows: the package is no dependency of this one.
const PACKAGE: string = '@headrace/plugin-acp'

/** @throws CommandError where the package is not installed */
async function door(): Promise<AcpPackage> {
  try {
    return await import(PACKAGE) as AcpPackage
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CommandError(`headrace acp needs a package that is not installed here: npm i ${PACKAGE}`)
  }
}
