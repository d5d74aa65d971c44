import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'cordis'
import { messageOf } from '@headrace/message'
import { forget, runAhead } from './common-js.ts'
import type { Entry } from './entry.ts'
import { filesOf, nextVersion } from './graph.ts'
import { NoPackage, NotFound, isPath, resolveModule } from './resolve.ts'
import { within } from './state.ts'
import { syntaxPlace } from './syntax.ts'

type Module = Readonly<Record<string, unknown>>

/** A module that was imported, and what its file held then. */
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
    // What could not be loaded is tried again at each look.
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

/** The plugin that a module exports: its default, or itself. One without a name goes by its entry's id, for it signs with its name. */
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
