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
export class SessionsService extends Service {
  private readonly memory = new MemoryStore()
  private readonly stores: { readonly store: SessionStore; readonly plugin: string }[] = []

  constructor(ctx: Context) {
    super(ctx, 'sessions')
  }

  /** The store in use. */
  get current(): SessionStore {
    return this.stores[0]?.store ?? this.memory
  }

  /** Registers the store; goes with the caller's plugin. @throws AgentError where another plugin registered one */
  store(store: SessionStore): () => void {
    const [other] = this.stores
    if (other) throw new AgentError('STORE_TAKEN', `plugin ${other.plugin} has registered a session store already; load one store plugin`)
    const entry = { store, plugin: pluginOf(this.ctx) }
    const { stores } = this
    return this.ctx.effect(() => {
      stores.push(entry)
      return () => void stores.splice(stores.indexOf(entry), 1)
    }, 'ctx.sessions.store()')
  }
}
