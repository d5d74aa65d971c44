import { type Context, Service } from 'cordis'
import { MemoryStore, type SessionStore } from '@headrace/session'
import { AgentError } from '../contract/error.ts'
import { pluginOf } from '../seams/owner.ts'

declare module 'cordis' {
  interface Context {
    sessions: SessionsService
  }
}

/** `ctx.sessions`: where logs are kept. Without a store plugin they stay in memory. */
export interface SessionsService {
  /** The store in use. */
  readonly current: SessionStore
  /** Registers the store; goes with the caller's plugin. @throws AgentError where another plugin registered one */
  store(store: SessionStore): () => void
}

/** The store that is registered, if one is. */
export class StoreRegistry {
  readonly entries: { readonly store: SessionStore; readonly plugin: string }[] = []
  private readonly memory = new MemoryStore()

  get current(): SessionStore {
    return this.entries[0]?.store ?? this.memory
  }
}

/** The service over a registry. */
export function sessionsService(registry: StoreRegistry): new (ctx: Context) => Service & SessionsService {
  const { entries } = registry
  return class Sessions extends Service implements SessionsService {
    constructor(ctx: Context) {
      super(ctx, 'sessions')
    }

    get current(): SessionStore {
      return registry.current
    }

    store(store: SessionStore): () => void {
      const [other] = entries
      if (other) throw new AgentError('STORE_TAKEN', `plugin ${other.plugin} has registered a session store already; load one store plugin`)
      const entry = { store, plugin: pluginOf(this.ctx) }
      return this.ctx.effect(() => {
        entries.push(entry)
        return () => void entries.splice(entries.indexOf(entry), 1)
      }, 'ctx.sessions.store()')
    }
  }
}
