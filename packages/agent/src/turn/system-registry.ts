import type { Context } from 'cordis'
import { type Owner, copyList, messageOf, sameJson } from '@headrace/message'
import type { SectionOwner } from '@headrace/session'
import type { Agent } from '../contract/agent.ts'
import { SeamError } from '../contract/error.ts'
import type { SystemSection } from '../contract/system.ts'
import { disown } from '../seams/guards.ts'
import { type KeyedPlace, KeyedRegistry } from '../seams/keyed.ts'
import { byPlace, serves } from '../seams/owner.ts'

/** A section that is registered. */
export interface SectionEntry extends KeyedPlace {
  readonly ctx: Context
  readonly content: SystemSection['content']
}

/** The system prompt at a boundary. Absent where no section has anything to say. */
export interface SystemSnapshot {
  readonly system?: string
  readonly owners?: readonly SectionOwner[]
}

/** The sections that are registered. */
export class SystemRegistry {
  readonly keys = new KeyedRegistry('ctx.system.section', 'section')
  readonly entries = new Set<SectionEntry>()
  private readonly last = new Map<string, SystemSnapshot>()

  /**
   * Sections in the order `(order, plugin, key)`, joined by a blank line. @throws SeamError that names the plugin of a
   * section that throws
   */
  snapshot(agent: Agent, view: (plugin: string) => Agent): SystemSnapshot {
    const sections: { owner: Owner; text: string }[] = []
    for (const { ctx, plugin, owner, content } of [...this.entries].sort(byPlace)) {
      if (!serves(ctx, agent.id)) continue
      const value = typeof content === 'string' ? content : readSection(plugin, () => content(view(plugin)))
      if (value.trim() !== '') sections.push({ owner, text: value.toWellFormed() })
    }
    if (sections.length === 0) return {}
    const next = { system: sections.map(({ text }) => text).join('\n\n'), owners: sections.map(({ owner, text }) => ({ owner, length: text.length })) }
    const last = this.last.get(agent.id)
    if (last?.system === next.system && sameJson(last.owners, next.owners)) return last
    const snapshot = { system: next.system, owners: copyList(next.owners) }
    this.last.set(agent.id, snapshot)
    return snapshot
  }

  /** Drops the cache of an agent that was disposed. */
  forget(agent: string): void {
    this.last.delete(agent)
  }
}

function readSection(plugin: string, read: () => unknown): string {
  try {
    const value = read()
    if (typeof value === 'string') return value
    disown(value)
    throw new TypeError(`returned ${value instanceof Promise ? 'a promise; a section is synchronous text' : typeof value}`)
  } catch (error) {
    throw new SeamError(plugin, 'system', messageOf(error), { cause: error })
  }
}
