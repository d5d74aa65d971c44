import { type Context, Service } from 'cordis'
import type { SystemSection } from '../contract/system.ts'
import { ownerOf, pluginOf } from '../seams/owner.ts'
import type { SystemRegistry } from '../turn/system-registry.ts'

declare module 'cordis' {
  interface Context {
    system: SystemService
  }
}

/** `ctx.system`: sections of the system prompt. */
export interface SystemService {
  /** Adds a section; goes with the caller's plugin. On `agent.ctx` it is that agent's alone. */
  section(section: SystemSection): () => void
}

/** The service over a registry, which nothing but this closure holds (L14). */
export function systemService({ entries }: SystemRegistry): new (ctx: Context) => Service & SystemService {
  return class System extends Service implements SystemService {
    constructor(ctx: Context) {
      super(ctx, 'system')
    }

    section({ key, order = 0, text }: SystemSection): () => void {
      const { ctx } = this
      const plugin = pluginOf(ctx)
      const entry = { ctx, plugin, key, order, text, owner: ownerOf(plugin, key) }
      return ctx.effect(() => {
        entries.add(entry)
        return () => void entries.delete(entry)
      }, `ctx.system.section(${JSON.stringify(key)})`)
    }
  }
}
