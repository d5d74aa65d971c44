import { type Context, type Fiber, Logger } from 'cordis'
import { addLastingExporter, fibersOf, whyNotRunning } from '@headrace/cordis'
import { nearest, oneLine } from '@headrace/message'

type Exporter = Parameters<typeof Logger.format>[0]
type LogMessage = Parameters<typeof Logger.format>[1]

/** Cordis' level of warnings; that of errors is below. */
const WARN = 1
/** Milliseconds that a plugin may wait for a service before that is reported. */
const PATIENCE = 5_000
/** Characters of a line. */
const LONGEST = 2_000
/** On an exporter of ours: it does not count as the app's own. */
const kHeard = Symbol.for('headrace.heard')

/** The last message written, by log: after a reload nothing is written twice. */
const told = new WeakMap<object, number>()

/**
 * Writes the warnings and errors of Cordis' log to stderr, a line each, while the app has no exporter of its own: Cordis itself keeps them
 * in memory, and an app in which a plugin failed would say nothing. What was logged before is told first. An exporter that the app, or a
 * door that owns the terminal, adds takes over from its first message on.
 */
export function hear(ctx: Context, write: (line: string) => void = (line) => void process.stderr.write(`${line}\n`)): void {
  const { exporters, buffer } = ctx.logger
  const exporter: Exporter & { readonly [kHeard]: true } = {
    [kHeard]: true, colors: false, levels: { default: WARN },
    export: (message) => {
      if (message.level > WARN || message.sn <= (told.get(exporters) ?? 0)) return
      told.set(exporters, message.sn)
      if (!hasOwn(exporters)) write(lineOf(exporter, message))
    },
  }
  if (!hasOwn(exporters)) for (const message of [...buffer]) exporter.export(message)
  addLastingExporter(ctx, exporter)
  watchWaiting(ctx)
}

/** True where somebody else listens to the log; the first exporter is Cordis' own memory. */
function hasOwn(exporters: ReadonlyMap<number, Exporter>): boolean {
  return [...exporters.values()].filter((exporter) => !(kHeard in exporter)).length > 1
}

/** `headrace: warning: clock: no moon`. Of an error, its first line. */
function lineOf(exporter: Exporter, message: LogMessage): string {
  const [first] = message.args as readonly unknown[]
  const text = first instanceof Error ? `${first.name}: ${first.message}` : Logger.format(exporter, message)
  const name = message.name === 'headrace' ? '' : `${message.name}: `
  const line = oneLine(`${name}${text.trim().replace(/\s*\n\s*/g, ' ')}`)
  return `headrace: ${message.type === 'error' ? 'error' : 'warning'}: ${line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line}`
}

/** Warns once of each plugin that keeps waiting for a service: Cordis says nothing about it. */
function watchWaiting(ctx: Context): void {
  const since = new WeakMap<Fiber, number>()
  const seen = new WeakSet<Fiber>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    timer = undefined
    let again = false
    for (const fiber of fibersOf(ctx)) {
      const why = whyNotRunning(fiber)
      if (why?.kind !== 'waits') {
        since.delete(fiber)
        seen.delete(fiber)
      } else if (!seen.has(fiber)) {
        if (performance.now() - (since.get(fiber) ?? performance.now()) < PATIENCE - 1) again = true
        else {
          seen.add(fiber)
          const meant = why.services.map((service) => nearest(service, why.provided)).join('')
          ctx.logger('headrace').warn('plugin %s waits for %s, which nobody provides%s', fiber.name, why.services.join(', '), meant)
        }
      }
    }
    if (again) start()
  }
  const start = (): void => {
    timer ??= setTimeout(look, PATIENCE)
    timer.unref()
  }
  const changed = (fiber: Fiber): void => {
    if (!since.has(fiber)) since.set(fiber, performance.now())
    start()
  }
  for (const fiber of fibersOf(ctx)) changed(fiber)
  ctx.on('internal/plugin', changed, { global: true })
  ctx.on('internal/status', changed, { global: true })
  ctx.effect(() => () => clearTimeout(timer), 'heard')
}
