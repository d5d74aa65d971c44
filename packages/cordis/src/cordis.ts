import { type Context, type Fiber, type Plugin, RegistryService } from 'cordis'

// Everything headrace relies on of Cordis' internals, none of which is public API. Pinned by `tests/cordis.spec.ts`.

// --- Listeners ---

/** One listener of an event, as Cordis holds it: the same object for as long as it is registered. */
export interface Listener {
  readonly ctx: Context
  /** What `ctx.on` was given. */
  readonly callback: (...args: unknown[]) => unknown
  /** Called even where a dispatch is filtered by context. */
  readonly global?: boolean
  readonly prepend?: boolean
}

type Lists = Readonly<Record<string, readonly Listener[] | undefined>>

const NONE: readonly Listener[] = Object.freeze([])

/** The listeners of an app. Cordis' lists are read once: each read of `ctx.events` makes a new proxy. */
export class Listeners {
  private readonly lists: Lists

  constructor(ctx: Context) {
    this.lists = ctx.events._hooks
  }

  /** Names of the events that somebody listens to. */
  events(): readonly string[] {
    return Object.keys(this.lists)
  }

  /** The listeners of an event, outermost first: the live list. */
  of(event: string): readonly Listener[] {
    return this.lists[event] ?? NONE
  }

  /** True while the listener is registered: its plugin was neither unloaded nor reloaded. */
  has(event: string, listener: Listener): boolean {
    return this.of(event).includes(listener)
  }
}

/**
 * Sorts the listeners of an app in place by the rank of their contexts; those without a rank keep their place. What is prepended stands
 * in the reverse order, as after a fresh boot.
 */
export function sortListeners(ctx: Context, rankOf: (ctx: Context) => number | undefined): void {
  for (const list of Object.values(ctx.events._hooks) as Listener[][]) {
    for (const prepend of [false, true]) {
      const places: number[] = []
      const ranked: { readonly listener: Listener; readonly rank: number }[] = []
      for (const [place, listener] of list.entries()) {
        const rank = (listener.prepend === true) === prepend ? rankOf(listener.ctx) : undefined
        if (rank === undefined) continue
        places.push(place)
        ranked.push({ listener, rank })
      }
      ranked.sort((a, b) => (prepend ? b.rank - a.rank : a.rank - b.rank))
      for (const [index, { listener }] of ranked.entries()) list[places[index]!] = listener
    }
  }
}

// --- Fibers ---

const STATES = ['pending', 'loading', 'active', 'failed', 'disposed', 'unloading'] as const

/** The state of a plugin's fiber. Cordis' own enum exists only at run time: its declaration cannot be used by isolated modules. */
export type FiberState = (typeof STATES)[number]

/** The state of a fiber, by name. */
export function stateOf(fiber: Fiber): FiberState {
  const state = STATES[fiber.state]
  // Cordis leaves a failed fiber in its state when it is disposed.
  return state === 'failed' && fiber.uid === null ? 'disposed' : state
}

/**
 * Tells one run of a plugin from the next: it is another object after a reload. `undefined` while the plugin does not run.
 */
export function runOf(fiber: Fiber): object | undefined {
  return ['active', 'loading'].includes(stateOf(fiber)) ? fiber.store : undefined
}

/** True for a plugin that runs. */
export function isActive(fiber: Fiber): boolean {
  return stateOf(fiber) === 'active'
}

/** True for a plugin whose `apply` or config failed. */
export function isFailed(fiber: Fiber): boolean {
  return stateOf(fiber) === 'failed'
}

/** All plugins of an app that are loaded, also those that do not run, in the order in which their plugin was first loaded. */
export function fibersOf(ctx: Context): readonly Fiber[] {
  return [...ctx.root.registry.values()].flatMap((runtime) => [...runtime.fibers])
}

/** The fiber and its ancestors, innermost first, without the app's root. */
function* upFrom(fiber: Fiber): Generator<Fiber> {
  for (let at = fiber; at.runtime; at = at.parent.fiber) yield at
}

/** True where `fiber` was loaded by `top`, or by a part of it. */
export function isBelow(fiber: Fiber, top: Fiber): boolean {
  for (const { parent } of upFrom(fiber)) if (parent.fiber === top) return true
  return false
}

/** All plugins that a plugin loaded, directly or not. */
export function partsOf(fiber: Fiber): readonly Fiber[] {
  return fibersOf(fiber.ctx).filter((other) => isBelow(other, fiber))
}

/** The first fiber of the app that is loading or unloading. */
export function loadingFiber(ctx: Context): Fiber | undefined {
  for (const runtime of ctx.root.registry.values()) {
    for (const fiber of runtime.fibers) if (['loading', 'unloading'].includes(stateOf(fiber))) return fiber
  }
  return undefined
}

/** A fiber, or a part of it, that is loading or unloading. */
export function movingPart(fiber: Fiber): Fiber | undefined {
  return [fiber, ...partsOf(fiber)].find(({ inertia }) => inertia !== undefined)
}

/** Calls back when a plugin unloads or fails. Uses one Cordis listener for all callers. */
export class Departures {
  private readonly waiting = new WeakMap<Fiber, Set<() => void>>()

  constructor(ctx: Context) {
    ctx.on('internal/status', (fiber) => {
      if (['active', 'loading'].includes(stateOf(fiber))) return
      for (const gone of this.waiting.get(fiber) ?? []) gone()
    }, { global: true })
  }

  /** Calls back when the fiber leaves; returns the call that stops waiting. The app itself never leaves. */
  watch(fiber: Fiber, gone: () => void): () => void {
    if (!fiber.runtime) return () => undefined
    let set = this.waiting.get(fiber)
    if (!set) this.waiting.set(fiber, (set = new Set()))
    set.add(gone)
    return () => void set.delete(gone)
  }
}

// --- Owners ---

/**
 * The name of the plugin that a context belongs to; a plugin without a name belongs to the one that loaded it. `undefined` for the app.
 *
 * @param boundary the `apply` of a plugin at which the walk ends: what is registered there counts as the app's
 * @throws TypeError for an object that is no context of a loaded plugin or of an app: a look-alike must not sign for another
 */
export function pluginOf(ctx: Context, boundary?: unknown): string | undefined {
  for (let fiber = fiberOf(ctx); fiber.runtime; fiber = fiberOf(fiber.parent)) {
    if (boundary !== undefined && fiber.runtime.callback === boundary) return undefined
    const name = nameOf(fiber)
    if (name) return name
  }
  return undefined
}

/** The genuine fiber of a context. A fake one put on top of a context is skipped: the real one is further up the prototypes. */
function fiberOf(ctx: Context): Fiber {
  for (let at: unknown = ctx; isObject(at); at = Object.getPrototypeOf(at)) {
    const fiber: unknown = Reflect.get(at, 'fiber')
    if (isObject(fiber) && isLoaded(fiber as unknown as Fiber)) return fiber as unknown as Fiber
  }
  throw new TypeError('this is no context of a plugin that was loaded; call a method of a service on the service, as in ctx.agents.get(id)')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** True for a fiber that Cordis made: a plugin's, or an app's own. */
function isLoaded(fiber: Fiber): boolean {
  if (names.has(fiber) || apps.has(fiber)) return true
  // A plugin may have been loaded before this module was.
  const { runtime, ctx } = fiber
  const app = isObject(ctx) && isObject(ctx.root) ? apps.get(ctx.root.fiber) : undefined
  const isRegistered = runtime !== null && app?.registry.get(runtime?.callback as Plugin) === runtime && [...runtime.fibers].includes(fiber)
  if (isRegistered) names.set(fiber, runtime.name ?? null)
  return isRegistered
}

/**
 * The name that a plugin was loaded under. Cordis keeps one name for all plugins that share an `apply`: the first one's. Signatures
 * would depend on what else is loaded.
 */
export function nameOf(fiber: Fiber): string | undefined {
  const name = names.get(fiber)
  return name === undefined ? fiber.runtime?.name : (name ?? undefined)
}

/** A plugin under another name. */
export function renamed(plugin: Plugin, name: string): Plugin {
  if (typeof plugin !== 'function') return { ...plugin, name }
  const { inject, Config } = plugin as Plugin.Base
  return { name, apply: plugin, ...(inject && { inject }), ...(Config && { Config }) } as Plugin
}

/** The name that a fiber's plugin had when it was loaded; `null` where that had none. No plugin can reach it. */
const names = new WeakMap<Fiber, string | null>()

/** Apps by their own fiber. */
const apps = new WeakMap<Fiber, Context>()

/** Registers the app of a genuine context, so that plugins loaded by another copy of Cordis are recognised too. */
export function noteApp({ root }: Context): void {
  if (!apps.has(root.fiber)) apps.set(root.fiber, root)
}

/** Records each plugin's name when it is loaded, before its `apply` runs. Each copy of this module records for itself. */
function noteNames(registry: { plugin: RegistryService['plugin'] }): void {
  const load = registry.plugin as (this: RegistryService, plugin: Plugin, ...rest: unknown[]) => Fiber
  registry.plugin = function (this: RegistryService, plugin: Plugin, ...rest: unknown[]) {
    const loading = load.call(this, plugin, ...rest)
    const { fiber } = loading.ctx
    const { name } = plugin as { readonly name?: unknown }
    names.set(fiber, typeof name === 'string' && name !== '' && name !== 'apply' ? name : null)
    noteApp(loading.ctx)
    return loading
  } as unknown as RegistryService['plugin']
}

noteNames(RegistryService.prototype)

/** What a plugin registered: `on` with an event, `provide` with a service, `tools.define` with a name. */
export interface Registration {
  /** The call on its context, without `ctx.`. */
  readonly what: string
  /** Its first argument, where that is a text. */
  readonly key?: string
}

/** What a plugin registered itself, without its parts, from the labels of its effects. */
export function registrationsOf(fiber: Fiber): readonly Registration[] {
  type Effect = ReturnType<Fiber['getEffects']>[number]
  const labels = (effects: readonly Effect[]): readonly string[] => effects.flatMap(({ label, children }) => [label, ...labels(children)])
  return labels(fiber.getEffects()).flatMap((label) => {
    const [, what, key] = /^ctx\.([\w.]+)\((?:"(.*)")?\)$/.exec(label) ?? []
    if (what === undefined || what === 'plugin' || key?.startsWith('internal/')) return []
    return [{ what, ...(key !== undefined && { key }) }]
  })
}

/** The service itself, behind the proxy that a context returns. */
export function originalOf<T extends object>(service: T): T {
  return (Reflect.get(service, Symbol.for('cordis.original')) as T | undefined) ?? service
}

// --- Why a plugin does not run ---

/** Why a plugin does not run. `waits`: for services that nobody provides; `provided` are those that somebody does. */
export type NotRunning =
  | { readonly kind: 'waits'; readonly services: readonly string[]; readonly provided: readonly string[] }
  | { readonly kind: 'failed'; readonly error: unknown; /** The part of it that failed. */ readonly part?: Fiber }
  | { readonly kind: 'loading' }
  | { readonly kind: 'unloaded' }

/** Why a plugin does not run; nothing where it does. A part of it that failed counts, one that waits for a service does not. */
export function whyNotRunning(fiber: Fiber): NotRunning | undefined {
  const state = stateOf(fiber)
  if (state === 'active') {
    const part = partsOf(fiber).find(isFailed)
    return part && { kind: 'failed', error: errorOf(part), part }
  }
  if (state === 'disposed') return { kind: 'unloaded' }
  // A config that its schema refuses leaves the fiber pending, with an error.
  if (state === 'failed' || errorOf(fiber) !== undefined) return { kind: 'failed', error: errorOf(fiber) }
  const services = state === 'pending' ? missingServices(fiber) : []
  return services.length > 0 ? { kind: 'waits', services, provided: servicesOf(fiber.ctx) } : { kind: 'loading' }
}

/** The error of a failed fiber, kept until it is updated. */
function errorOf(fiber: Fiber): unknown {
  return (fiber as unknown as { readonly _error?: unknown })._error
}

/** Services that a plugin injects and that nobody provides where it stands. */
export function missingServices(fiber: Fiber): readonly string[] {
  return Object.keys(fiber.inject).filter((service) => (fiber.ctx.get(service) as unknown) === undefined)
}

/** Names of the services of an app, wherever they are provided, by plugins that run. */
export function servicesOf(ctx: Context): readonly string[] {
  const { store } = ctx.reflect
  const provided = Object.getOwnPropertySymbols(store).map((key) => store[key]!).filter(({ fiber }) => isActive(fiber))
  return [...new Set(provided.map(({ name }) => name))]
}
