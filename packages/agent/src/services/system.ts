import { type Context, Service } from 'cordis'
import type { SystemSection } from '../contract/system.ts'
import type { SectionEntry, SystemRegistry } from '../turn/system-registry.ts'
import { callerOf } from './caller.ts'

declare module 'cordis' {
  interface Context {
    system: SystemService
  }
}

/** `ctx.system`: sections of the system prompt. */
export interface SystemService {
  /**
   * Adds a section; goes with the caller's plugin. On `agent.ctx` it is that agent's alone.
   *
   * @throws AgentError for a wrong one, or a key that its plugin has used already
   */
  section(section: SystemSection): () => void
}

/** The service of a registry; only this closure holds the registry (L14). */
export function systemService({ entries, keys }: SystemRegistry): new (ctx: Context) => Service & SystemService {
  return class System extends Service implements SystemService {
    constructor(ctx: Context) {
      super(ctx, 'system')
    }

    section(section: SystemSection): () => void {
      const ctx = callerOf(this, 'ctx.system.section')
      const place = keys.place(ctx, section, { content: 'a text, or a function (agent) => text' })
      const entry: SectionEntry = { ...place, ctx, content: section.content }
      return ctx.effect(() => {
        const release = keys.take(place)
        entries.add(entry)
        return () => {
          release()
          entries.delete(entry)
        }
      }, `ctx.system.section(${JSON.stringify(place.key)})`)
    }
  }
}
