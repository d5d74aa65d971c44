import { basename, resolve } from 'node:path'
import type { Context, Fiber } from 'cordis'
import { messageOf } from '@headrace/message'
import { Modules } from './modules.ts'
import { type Environment, type Wanted, missingServices, readApp } from './plan.ts'
import { LoaderError, type Problem, lineOf } from './problem.ts'
import { RunningEntries } from './running.ts'
import { FileWatch } from './watch.ts'

/** Milliseconds. */
const TIMEOUT = 30_000

declare module 'cordis' {
  interface Events {
    /** Reports what a loader did, or could not do. */
    'loader/report'(report: LoaderReport): void
  }
}

/** `changed`: an entry was added, updated, reloaded or removed. `problem`: something could not be done; what ran before runs on. */
export interface LoaderReport {
  readonly kind: 'changed' | 'problem'
  readonly entry?: string
  readonly message: string
}

/** Options of `boot()`. */
export interface BootOptions {
  /** The app. Default: `cordis.yml` in the working directory. */
  readonly file?: string
  /** Whether the app follows its file and its own modules while it runs. Default: no. */
  readonly watch?: boolean
  /** Boots also where an entry does not run, and reports it; otherwise all is unloaded again. Default: no. */
  readonly partial?: boolean
  /** What `${NAME}` reads. Default: `process.env`. */
  readonly env?: Environment
  /** Milliseconds that an entry may take to load or unload. Default: 30 s. */
  readonly timeout?: number
  /** Files from which packages are looked for that the app's own folder does not have. */
  readonly fallbacks?: readonly string[]
}

/** Options of `check()`. */
export interface CheckOptions extends BootOptions {
  /** Modules whose services are known, and which each provides. What waits for another one is a problem where the file names no others. */
  readonly provided?: Readonly<Record<string, readonly string[]>>
}

/** An entry that was started. */
export interface Running {
  readonly id: string
  readonly name: string
  readonly fiber: Fiber
}

/**
 * Boots an app. Nothing is started before all of the file is read and checked; what does not run after boot is an error.
 *
 * ```ts
 * const ctx = new Context()
 * const loader = await boot(ctx, { file: 'cordis.yml', watch: true })
 * ```
 *
 * @throws LoaderError with every problem and its place
 */
export async function boot(ctx: Context, options: BootOptions = {}): Promise<Loader> {
  const loader = new Loader(ctx, options)
  await loader.start(options)
  return loader
}

/** Reads and checks an app, its modules and configs, and starts nothing. Returns all problems, in the order of the file. */
export async function check({ file = 'cordis.yml', env = process.env, timeout = TIMEOUT, fallbacks = [], provided = {} }: CheckOptions = {}): Promise<readonly Problem[]> {
  try {
    const { problems, plans } = await readApp(resolve(file), file, new Modules(resolve(file), fallbacks, timeout), env)
    return problems.length > 0 ? problems : missingServices(plans, provided)
  } catch (error) {
    if (error instanceof LoaderError) return error.problems
    throw error
  }
}

/** A running app. Changes to it are serialised. */
export class Loader {
  private readonly ctx: Context
  private readonly file: string
  private readonly shown: string
  private readonly env: Environment
  private readonly modules: Modules
  private readonly running: RunningEntries
  private queue: Promise<unknown> = Promise.resolve()
  private watching: FileWatch | undefined
  private stopped = false
  /** Problems of the last refresh: each is reported once while it lasts. */
  private told = new Set<string>()

  constructor(ctx: Context, { file = 'cordis.yml', env = process.env, timeout = TIMEOUT, fallbacks = [] }: BootOptions) {
    this.ctx = ctx
    this.shown = file
    this.file = resolve(file)
    this.env = env
    this.modules = new Modules(this.file, fallbacks, timeout)
    this.running = new RunningEntries(ctx, timeout, (entry, message) => this.report({ kind: 'changed', entry, message }))
  }

  /** The entries that were started, in the order of the file. */
  get entries(): readonly Running[] {
    return this.running.all().map(({ plan: { entry: { id, name } }, fiber }) => ({ id, name, fiber }))
  }

  /** Called once, by {@link boot}. */
  async start({ watch = false, partial = false }: BootOptions): Promise<void> {
    // Before the first read, so that changes during the boot are not missed.
    if (watch) this.watch()
    const problems = await this.enqueue(() => this.first()).catch((error: unknown) => {
      this.close()
      throw error
    }) ?? []
    if (problems.length > 0 && !partial) {
      await this.stop()
      throw new LoaderError('APP_NOT_ACTIVE', problems)
    }
    await this.tell(problems)
  }

  private watch(): void {
    this.watching = new FileWatch(() => void this.refresh(), (folder, error) => void this.tell([this.problem(`${folder} cannot be watched: ${messageOf(error)}`)]))
    this.watching.follow([this.file])
  }

  private async first(): Promise<readonly Problem[]> {
    const wanted = await this.read()
    if (wanted.problems.length > 0) throw new LoaderError('APP_INVALID', wanted.problems)
    this.ctx.effect(() => () => this.close(), 'boot()')
    this.watching?.follow(this.modules.paths)
    return this.running.realise(wanted)
  }

  /** Applies the current file and modules to the app. What cannot be applied is reported, and keeps running as it was. */
  async refresh(): Promise<void> {
    await this.enqueue(async () => {
      try {
        const wanted = await this.read()
        await this.tell([...wanted.problems, ...await this.running.realise(wanted)])
      } catch (error) {
        await this.tell(error instanceof LoaderError ? error.problems : [this.problem(messageOf(error))])
      }
      this.watching?.follow(this.modules.paths)
    })
  }

  /** Unloads all entries, the last one first, each when the one before has gone. */
  async stop(): Promise<void> {
    this.close()
    await this.queue
    for (const id of [...this.running.ids()].reverse()) await this.running.remove(id)
  }

  private close(): void {
    this.stopped = true
    this.watching?.close()
  }

  private read(): Promise<Wanted> {
    return readApp(this.file, this.shown, this.modules, this.env)
  }

  private enqueue<T>(task: () => Promise<T>): Promise<T | undefined> {
    const run = this.queue.then(() => (this.stopped ? undefined : task()))
    this.queue = run.catch(() => undefined)
    return run
  }

  private problem(message: string): Problem {
    return { place: { file: this.shown, line: 1, column: 1 }, message }
  }

  /** Reports problems that are new since the last refresh. */
  private async tell(problems: readonly Problem[]): Promise<void> {
    const lines = new Set(problems.map(lineOf))
    for (const problem of problems) {
      const line = lineOf(problem)
      if (!this.told.has(line)) await this.report({ kind: 'problem', ...(problem.entry !== undefined && { entry: problem.entry }), message: line })
    }
    this.told = lines
  }

  private async report(report: LoaderReport): Promise<void> {
    const logger = this.ctx.logger('loader')
    if (report.kind === 'problem') logger.warn('%s', report.message)
    else logger.info('%s: %s %s', basename(this.file), report.entry, report.message)
    // A listener that throws must not stop the loader.
    await this.ctx.parallel('loader/report', Object.freeze(report)).catch((error: unknown) => {
      for (const each of error instanceof AggregateError ? (error.errors as unknown[]) : [error]) logger.warn('a listener of loader/report failed: %s', messageOf(each))
    })
  }
}
