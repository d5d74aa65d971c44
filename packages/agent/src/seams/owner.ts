import type { Context } from 'cordis'
import { pluginOf as nameOfPlugin } from '@headrace/cordis'
import type { Owner } from '@headrace/message'

/** On a context: the id of the one agent that its listeners, tools and sections serve. */
export const kScope = Symbol.for('headrace.scope')

/** On a context that a plugin took from its view of an agent: the plugin. */
const kAuthor = Symbol.for('headrace.author')

/** A plugin's name that only this file can create: a plugin may put anything on its context, but cannot forge this (L14). */
class Author {
  readonly #plugin: string

  constructor(plugin: string) {
    this.#plugin = plugin
  }

  static nameOf(value: unknown): string | undefined {
    return typeof value === 'object' && value !== null && #plugin in value ? value.#plugin : undefined
  }
}

/** The properties that bind a context to a plugin. */
export function authoredBy(plugin: string): object {
  return { [kAuthor]: new Author(plugin) }
}

/** The plugin in which `agent.ctx` lives; a direct registration there belongs to the plugin whose view `agent.ctx` was read from. */
export const scopePlugin = { name: 'agent-scope', inject: ['sessions', 'llm', 'tools', 'system', 'agents'], apply: (): void => undefined }

/** The agent a context is bound to; `undefined` on the app's own context, which serves every agent. */
export function scopeOf(ctx: Context): string | undefined {
  return Reflect.get(ctx, kScope) as string | undefined
}

/** True where what was registered on `ctx` serves the agent. */
export function serves(ctx: Context, agent: string): boolean {
  const scope = scopeOf(ctx)
  return scope === undefined || scope === agent
}

/** The plugin a context belongs to, or `app`; one without a name is its parent's. No name makes a plugin the app or the loop (L14). */
export function pluginOf(ctx: Context): string {
  const name = nameOfPlugin(ctx, scopePlugin.apply)
  if (name !== undefined) return name.toWellFormed().replace(/\s+/g, '-').replace(/^(app|loop)(?=\/|$)/, '$1-plugin')
  return Author.nameOf(Reflect.get(ctx, kAuthor)) ?? 'app'
}

/** The owner to sign with (L14): `plugin/key` where there is a key; else `app` for the app, `plugin/place` for a plugin. */
export function ownerOf(plugin: string, key: string | undefined, place = ''): Owner {
  if (key !== undefined) return `${plugin}/${key}`
  return plugin === 'app' ? 'app' : `${plugin}/${place}`
}

/** The order in which contributions stand on the wire: neither load order nor a hot reload moves a byte. */
export interface Place {
  readonly order: number
  readonly plugin: string
  readonly key: string
}

/** Compares two places by order, then plugin, then key (code units): the order on the wire. */
export function byPlace(a: Place, b: Place): number {
  return a.order - b.order || compare(a.plugin, b.plugin) || compare(a.key, b.key)
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
