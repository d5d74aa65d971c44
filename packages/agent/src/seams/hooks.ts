import type { Context, Fiber } from 'cordis'
import { pluginOf, scopeOf } from './owner.ts'

/** Set on a listener by `ctx.agents.prefix()` and its like. */
export const kContribution = Symbol.for('headrace.contribution')

/** One listener of a seam, as Cordis holds it. */
export interface Hook {
  readonly ctx: Context
  readonly callback: (...args: unknown[]) => unknown
  readonly global?: boolean
}

export interface Contributor {
  readonly key: string
  readonly order: number
}

const NONE: readonly Hook[] = Object.freeze([])

/** The listeners of an app. This reads Cordis' own lists; a test pins that they stand there. Held, for each look at `ctx.events` makes a new proxy. */
export class Hooks {
  private readonly lists: Readonly<Record<string, readonly Hook[] | undefined>>

  constructor(ctx: Context) {
    this.lists = ctx.events._hooks
  }

  /** Names of all that is listened to. */
  events(): readonly string[] {
    return Object.keys(this.lists)
  }

  /** Those of an event, in Cordis' order. */
  all(event: string): readonly Hook[] {
    return this.lists[event] ?? NONE
  }

  /** Those that serve an agent. */
  of(event: string, agent: string): readonly Hook[] {
    return this.lists[event]?.filter((hook) => {
      const { scope } = placeOf(hook)
      return hook.global || scope === undefined || scope === agent
    }) ?? NONE
  }

  /** True while the listener is still registered: its plugin was neither unloaded nor reloaded. */
  has(event: string, hook: Hook): boolean {
    return this.all(event).includes(hook)
  }
}

export function contributorOf(hook: Hook): Contributor | undefined {
  return (hook.callback as { [kContribution]?: Contributor })[kContribution]
}

export function pluginOfHook(hook: Hook): string {
  return placeOf(hook).plugin
}

/** Each look at a context goes through a proxy, and a step looks dozens of times; a listener stays where it is. */
const places = new WeakMap<Hook, { readonly plugin: string; readonly scope: string | undefined }>()

function placeOf(hook: Hook): { readonly plugin: string; readonly scope: string | undefined } {
  let place = places.get(hook)
  if (!place) places.set(hook, (place = { plugin: pluginOf(hook.ctx), scope: scopeOf(hook.ctx) }))
  return place
}

const ACTIVE = 2
const LOADING = 1
const UNLOADING = 5

/** Tells what runs on behalf of a plugin that the plugin has gone (L19). One Cordis listener for all. */
export class Departures {
  private readonly waiting = new WeakMap<Fiber, Set<() => void>>()

  constructor(ctx: Context) {
    ctx.on('internal/status', (fiber) => {
      if (fiber.state === ACTIVE || fiber.state === LOADING) return
      for (const gone of this.waiting.get(fiber) ?? []) gone()
    }, { global: true })
  }

  /** Calls back when the fiber unloads; returns the call that stops waiting. */
  watch(fiber: Fiber, gone: () => void): () => void {
    if (!fiber.runtime) return () => undefined
    let set = this.waiting.get(fiber)
    if (!set) this.waiting.set(fiber, (set = new Set()))
    set.add(gone)
    return () => void set.delete(gone)
  }
}

/** The first fiber of the app that is still loading or unloading. */
export function loadingFiber(ctx: Context): Fiber | undefined {
  for (const runtime of ctx.root.registry.values()) {
    for (const fiber of runtime.fibers) if (fiber.state === LOADING || fiber.state === UNLOADING) return fiber
  }
  return undefined
}
