import type { Context } from 'cordis'
import { nearest } from '@headrace/message'
import { AgentError } from '../contract/error.ts'
import { describe } from './decision-rule.ts'
import { disown, isPlainObject } from './guards.ts'
import { type Place, ownerOf, pluginOf, scopeOf } from './owner.ts'

/** Who registered an item, for which agent, and its position. */
export interface KeyedPlace extends Place {
  readonly owner: string
  /** The agent that it serves; absent: all agents. */
  readonly scope: string | undefined
}

/** What a registry takes beside key and order. */
export interface KeyedShape {
  /** What content may be, in words. */
  readonly content: string
  /** Fields of its own. */
  readonly more?: readonly string[]
  /** Whether content fits that is neither a text nor a function. Default: none does. */
  allows?(content: unknown): boolean
}

/** A registry of keyed items: checks each, and allows a key once per plugin. */
export class KeyedRegistry {
  /** The call, e.g. `ctx.system.section`. */
  readonly call: string
  /** The kind of item, for error messages. */
  private readonly what: string
  private readonly taken = new Set<KeyedPlace>()

  constructor(call: string, what: string) {
    this.call = call
    this.what = what
  }

  /**
   * Rejects an invalid registration, from JavaScript too: a wrong type, an unknown field, no content.
   *
   * @throws AgentError
   */
  place(ctx: Context, given: unknown, shape: KeyedShape): KeyedPlace {
    const plugin = pluginOf(ctx)
    const fail = (problem: string): never => {
      throw new AgentError('REGISTRATION_INVALID', `plugin ${plugin}: ${this.call}() ${problem}`)
    }
    const fields = ['key', 'order', 'content', ...shape.more ?? []]
    if (!isPlainObject(given)) return fail(`takes { ${fields.join(', ')} }, not ${describe(given)}`)
    const { key, order = 0, content } = given
    if (typeof key !== 'string' || key === '') {
      return fail(`needs a key, a text that is unique in its plugin; ${key === undefined ? 'it has none' : `it is ${describe(key)}`}`)
    }
    const at = (problem: string): never => fail(`of ${JSON.stringify(key)} ${problem}`)
    const unknown = Object.keys(given).find((field) => !fields.includes(field))
    if (unknown !== undefined) at(`has no ${JSON.stringify(unknown)}${nearest(unknown, fields)}; it takes ${fields.join(', ')}`)
    if (typeof order !== 'number' || !Number.isFinite(order)) at(`needs a number as order, not ${describe(order)}`)
    if (typeof content !== 'string' && typeof content !== 'function' && !shape.allows?.(content)) {
      disown(content)
      at(`needs content, ${shape.content}; ${content === undefined ? 'it has none' : `it is ${describe(content)}`}`)
    }
    const own = key.toWellFormed()
    return { plugin, key: own, order: order as number, owner: ownerOf(plugin, own), scope: scopeOf(ctx) }
  }

  /** Reserves the key; returns the call that releases it. @throws AgentError where its owner has it already */
  take(place: KeyedPlace): () => void {
    const { plugin, key, owner, scope } = place
    for (const other of this.taken) {
      if (other.owner !== owner || (scope !== undefined && other.scope !== undefined && scope !== other.scope)) continue
      throw new AgentError('KEY_TAKEN', `${plugin === 'app' ? 'the app' : `plugin ${plugin}`} has a ${this.what} ${JSON.stringify(key)} already; ${wayOut(plugin)}`)
    }
    this.taken.add(place)
    return () => void this.taken.delete(place)
  }
}

/** The way out, for an error message, where a plugin is loaded twice or registers a key twice. */
export function wayOut(plugin: string): string {
  if (plugin === 'app') return 'give this one another key'
  const base = plugin.split(':', 1)[0]!
  return `give this one another key, or, where the plugin is loaded twice, give one of the two a name of its own: id: ${base}:two in the app's file, { ...plugin, name: '${base}:two' } in code`
}
