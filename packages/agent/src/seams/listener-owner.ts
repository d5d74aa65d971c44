import { type Listener, Listeners } from '@headrace/cordis'
import { pluginOf, scopeOf } from './owner.ts'

export { Departures, loadingFiber } from '@headrace/cordis'

/** Set on a listener by `ctx.agents.prefix()` and its like. */
export const kContribution = Symbol.for('headrace.contribution')

/** One listener of a seam, as Cordis holds it. */
export type Hook = Listener

export interface Contributor {
  readonly key: string
  readonly order: number
}

/** The listeners of an app, and those of one agent. */
export class Hooks extends Listeners {
  /** Those that serve an agent; all of them where none is given. */
  override of(event: string, agent?: string): readonly Hook[] {
    const all = super.of(event)
    if (agent === undefined) return all
    return all.filter((hook) => {
      const { scope } = placeOf(hook)
      return hook.global || scope === undefined || scope === agent
    })
  }
}

export function contributorOf(hook: Hook): Contributor | undefined {
  return (hook.callback as { [kContribution]?: Contributor })[kContribution]
}

export function pluginOfHook(hook: Hook): string {
  return placeOf(hook).plugin
}

/** Cached by listener: each read of a context goes through a proxy, and a step does dozens. */
const places = new WeakMap<Hook, { readonly plugin: string; readonly scope: string | undefined }>()

function placeOf(hook: Hook): { readonly plugin: string; readonly scope: string | undefined } {
  let place = places.get(hook)
  if (!place) places.set(hook, (place = { plugin: pluginOf(hook.ctx), scope: scopeOf(hook.ctx) }))
  return place
}
