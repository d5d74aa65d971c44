import { type Context, Service } from 'cordis'
import { type Owner, copyList, sameJson } from '@headrace/message'
import type { SectionOwner } from '@headrace/session'
import type { Agent } from '../life/agent.ts'
import { SeamError } from '../contract/error.ts'
import { disown } from '../seams/guards.ts'
import { messageOf } from '@headrace/message'
import { type Place, byPlace, ownerOf, pluginOf, serves } from '../seams/owner.ts'

declare module 'cordis' {
  interface Context {
    system: SystemService
  }
}

/** A section of the system prompt: who the agent is, how its tools behave; nothing about workspace, machine or day. */
export interface SystemSection {
  readonly key: string
  /** Lower stands first. Default 0. */
  readonly order?: number
  /** Synchronous: it is read in the frame of the boundary. Blank text is left out. */
  readonly text: string | ((agent: Agent) => string)
}

interface Entry extends Place {
  readonly ctx: Context
  readonly owner: Owner
  readonly text: SystemSection['text']
}

/** The system prompt at a boundary. Absent where no section has anything to say. */
export interface SystemSnapshot {
  readonly system?: string
  readonly owners?: readonly SectionOwner[]
}

/** The sections, apart from Cordis. */
export class SystemRegistry {
  readonly entries = new Set<Entry>()
  private readonly last = new Map<string, SystemSnapshot>()

  /** Sections in the order `(order, plugin, key)`, joined by a blank line. @throws SeamError that names the plugin of a section that throws */
  snapshot(agent: Agent, view: (plugin: string) => Agent): SystemSnapshot {
    const sections: { owner: Owner; text: string }[] = []
    for (const { ctx, plugin, owner, text } of [...this.entries].sort(byPlace)) {
      if (!serves(ctx, agent.id)) continue
      const value = typeof text === 'string' ? text : readSection(plugin, () => text(view(plugin)))
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

  /** Drops what was kept of an agent that is gone. */
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

/** `ctx.system`: sections of the system prompt. */
export class SystemService extends Service {
  readonly registry = new SystemRegistry()

  constructor(ctx: Context) {
    super(ctx, 'system')
  }

  /** Adds a section; goes with the caller's plugin. On `agent.ctx` it is that agent's alone. */
  section({ key, order = 0, text }: SystemSection): () => void {
    const { ctx, registry: { entries } } = this
    const plugin = pluginOf(ctx)
    const entry: Entry = { ctx, plugin, key, order, text, owner: ownerOf(plugin, key) }
    return ctx.effect(() => {
      entries.add(entry)
      return () => void entries.delete(entry)
    }, `ctx.system.section(${JSON.stringify(key)})`)
  }
}
