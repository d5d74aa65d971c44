import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'cordis'
import { messageOf } from '@headrace/message'
import type { Entry } from './entry.ts'
import { filesOf, nextVersion } from './graph.ts'
import { NoPackage, NotFound, isPath, resolveModule } from './resolve.ts'

/** Milliseconds for Node to read one file. */
const SYNTAX_LIMIT = 5_000

type Module = Readonly<Record<string, unknown>>

/** An imported module, and a digest of its file at that time. */
interface Loaded {
  readonly stamp: string | undefined
  readonly module: Module
  /** By the id of its entry. */
  readonly plugins: Map<string, Plugin>
}

/** The modules of an app. Its own files are imported again when they have changed; packages once. */
export class Modules {
  private readonly file: string
  private readonly fallbacks: readonly string[]
  private readonly loaded = new Map<string, Loaded>()
  private readonly own = new Set<string>()
  private readonly timeout: number

  /**
   * @param fallbacks files whose packages count where the app's own folder has none of that name
   * @param timeout milliseconds that a module may take
   */
  constructor(file: string, fallbacks: readonly string[], timeout: number) {
    this.file = file
    this.fallbacks = fallbacks
    this.timeout = timeout
  }

  /** Paths of the app's own modules that were asked for, and of the files beside them that they import. */
  get paths(): Iterable<string> {
    return this.own
  }

  /** The plugin of an entry; the same one until its file changes. @throws Error in one line */
  async plugin({ name, id }: Entry): Promise<Plugin> {
    const url = this.resolve(name)
    const { module, plugins } = isPath(name) ? await this.fresh(url) : await this.once(url)
    const plugin = plugins.get(id) ?? pluginOf(module, id, name)
    plugins.set(id, plugin)
    return plugin
  }

  private resolve(name: string): string {
    try {
      return resolveModule(name, this.file)
    } catch (error) {
      if (isPath(name) || !(error instanceof NotFound)) throw error
      for (const fallback of this.fallbacks) {
        try {
          return resolveModule(name, fallback)
        } catch { /* The app's own folder is the one to tell of. */ }
      }
      throw error instanceof NoPackage ? new NoPackage(error.packageName, [this.file, ...this.fallbacks]) : error
    }
  }

  private async once(url: string): Promise<Loaded> {
    const known = this.loaded.get(url)
    return known ?? this.keep(url, undefined, await this.import(url, [fileURLToPath(url)]))
  }

  private async fresh(url: string): Promise<Loaded> {
    const files = await filesOf(fileURLToPath(url))
    for (const path of files.keys()) this.own.add(path)
    const stamp = createHash('sha256').update(JSON.stringify([...files])).digest('hex')
    const known = this.loaded.get(url)
    if (known?.stamp === stamp) return known
    forget(files.keys())
    // A module that failed to load is retried at each refresh.
    return this.keep(url, stamp, await this.import(nextVersion(url), [...files.keys()]))
  }

  /** @param files of the module, where they are known: the module's own first, then what it imports from beside it */
  private async import(url: string, files: readonly string[]): Promise<Module> {
    try {
      runAhead(files.slice(1))
      const loading = import(/* @vite-ignore */ url) as Promise<Module>
      if (!await within(this.timeout, loading)) throw new Error(`it took longer than ${this.timeout} ms`)
      return await loading
    } catch (error) {
      const place = error instanceof SyntaxError ? await syntaxPlace(error, files, this.file) : undefined
      const kind = error instanceof SyntaxError ? `SyntaxError${place === undefined ? '' : ` in ${place}`}: ` : ''
      throw new Error(`its module cannot be loaded: ${kind}${messageOf(error)}`, { cause: error })
    }
  }

  private keep(url: string, stamp: string | undefined, module: Module): Loaded {
    const loaded = { stamp, module, plugins: new Map<string, Plugin>() }
    this.loaded.set(url, loaded)
    return loaded
  }
}

/** The plugin that a module exports: its default, or itself. One without a name is named by its entry's id, to sign with. */
function pluginOf(module: Module, id: string, name: string): Plugin {
  // A default inside a default is a CommonJS module that was compiled from an ES module.
  const candidates = [module.default, (module.default as { readonly default?: unknown } | null | undefined)?.default, module]
  const plugin = candidates.find(isPlugin)
  if (!plugin) throw new Error(`${name} exports no plugin: that is a default export that is a function or has apply(), or an export apply; it exports ${Object.keys(module).join(', ') || 'nothing'}`)
  const known = plugin.name
  if (known !== undefined && known !== '' && known !== 'apply' && known !== 'default') return plugin
  const apply = typeof plugin === 'function' ? plugin : plugin.apply
  return { name: id, apply, ...(plugin.inject && { inject: plugin.inject }), ...(plugin.Config && { Config: plugin.Config }) } as Plugin
}

function isPlugin(value: unknown): value is Plugin {
  if (typeof value === 'function') return true
  return typeof value === 'object' && value !== null && 'apply' in value && typeof value.apply === 'function'
}

/** Waits at most `limit` ms; false where it took longer. Errors are ignored: the fiber's state has them. */
export async function within(limit: number, promise: PromiseLike<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limit)
  })
  return Promise.race([Promise.resolve(promise).then(() => true as const, () => true as const), late]).finally(() => clearTimeout(timer))
}

// --- CommonJS ---

/** Evicts CommonJS modules from Node's cache, so that they run again. */
function forget(paths: Iterable<string>): void {
  for (const path of paths) {
    const real = realPath(path)
    delete createRequire(real).cache[real]
  }
}

/**
 * Runs the CommonJS modules that an ES module imports. Where one throws while Node 20 imports it from an ES module, the import rejects
 * twice, and the second rejection cannot be caught: it would end the app. Here it is thrown once.
 *
 * @throws what a module throws
 */
function runAhead(paths: Iterable<string>): void {
  for (const path of paths) if (isCommonJs(path)) createRequire(path)(path)
}

function isCommonJs(path: string): boolean {
  const extension = extname(path)
  return extension === '.cjs' || (extension === '.js' && typeOf(dirname(realPath(path))) !== 'module')
}

/** `type` of the package that a folder belongs to. */
function typeOf(folder: string): unknown {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly type?: unknown }).type
  } catch {
    const parent = dirname(folder)
    return parent === folder ? undefined : typeOf(parent)
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

// --- Syntax errors ---

/**
 * Where a syntax error stands, as `./clock.js:3` from the app's folder. What `import()` throws for a module of ES does not say, so Node is
 * asked to read the files, and to run none of them.
 *
 * @param files of the module and those that it imports
 */
async function syntaxPlace(error: SyntaxError, files: Iterable<string>, app: string): Promise<string | undefined> {
  const own = placeIn(error.stack ?? '', app)
  if (own !== undefined) return own
  for (const file of files) {
    const place = placeIn(await complaintOf(file), app)
    if (place !== undefined) return place
  }
  return undefined
}

function complaintOf(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', file], { timeout: SYNTAX_LIMIT }, (_error, _stdout, stderr) => resolve(stderr))
  })
}

/** Node's first line of a syntax error is `path:line`, or a file's URL so. */
function placeIn(text: string, app: string): string | undefined {
  const [, file, line] = /^((?:file:\/\/|\/|[A-Za-z]:\\).*?)(?:\?[^:\n]*)?:(\d+)\n/.exec(text) ?? []
  if (file === undefined) return undefined
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const near = relative(dirname(app), path)
  return `${near.startsWith('..') ? path : `./${near}`}:${line}`
}
