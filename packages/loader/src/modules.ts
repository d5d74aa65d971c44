import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'cordis'
import { messageOf } from '@headrace/message'
import type { Entry } from './entry.ts'
import { NotFound, isPath, resolveModule } from './resolve.ts'

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
  /** How often a module was imported, by its path. */
  private readonly own = new Map<string, number>()

  /** @param fallbacks files whose packages count where the app's own folder has none of that name */
  constructor(file: string, fallbacks: readonly string[]) {
    this.file = file
    this.fallbacks = fallbacks
  }

  /** Paths of the app's own modules that were asked for. */
  get paths(): Iterable<string> {
    return this.own.keys()
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
      throw error
    }
  }

  private async once(url: string): Promise<Loaded> {
    const known = this.loaded.get(url)
    return known ?? this.keep(url, undefined, await importModule(url))
  }

  private async fresh(url: string): Promise<Loaded> {
    const path = fileURLToPath(url)
    const version = this.own.get(path) ?? 0
    this.own.set(path, version)
    const stamp = createHash('sha256').update(await readFile(path)).digest('hex')
    const known = this.loaded.get(url)
    if (known?.stamp === stamp) return known
    this.own.set(path, version + 1)
    delete createRequire(path).cache[await realpath(path)]
    // Under the same URL Node gives what it has. The first one goes without a version, for whoever else imports the file.
    return this.keep(url, stamp, await importModule(version === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}v=${version}`))
  }

  private keep(url: string, stamp: string | undefined, module: Module): Loaded {
    const loaded = { stamp, module, plugins: new Map<string, Plugin>() }
    this.loaded.set(url, loaded)
    return loaded
  }
}

async function importModule(url: string): Promise<Module> {
  try {
    return await import(/* @vite-ignore */ url) as Module
  } catch (error) {
    throw new Error(`its module cannot be loaded: ${error instanceof SyntaxError ? 'SyntaxError: ' : ''}${messageOf(error)}`, { cause: error })
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
