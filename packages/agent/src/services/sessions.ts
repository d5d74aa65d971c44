import { type Context, Service } from 'cordis'
import { MemoryStore, type SessionStore } from '@headrace/session'
import { namesOf } from '../contract/check-options.ts'
import { AgentError } from '../contract/error.ts'
import { describe } from '../seams/decision-rule.ts'
import { isObject } from '../seams/guards.ts'
import { pluginOf } from '../seams/owner.ts'
import { callerOf } from './caller.ts'

declare module 'cordis' {
  interface Context {
    sessions: SessionsService
  }
}

/** `ctx.sessions`: where logs are kept. Without a store plugin they stay in memory. */
export interface SessionsService {
  /** The store in use. */
  readonly current: SessionStore
  /** Registers the store; goes with the caller's plugin. @throws AgentError for what is no store, or where another plugin registered one */
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

const METHODS = namesOf<Omit<SessionStore, 'location'>>({
  create: true, lease: true, load: true, read: true, follow: true, post: true, letters: true, card: true, list: true, remove: true,
  putBlob: true, getBlob: true,
})

/** @throws AgentError that names the missing methods: otherwise the first prompt or letter would fail */
function checkStore(plugin: string, store: unknown): void {
  const fail = (problem: string): never => {
    throw new AgentError('STORE_INVALID', `plugin ${plugin}: ctx.sessions.store() ${problem}`)
  }
  if (!isObject(store)) return fail(`takes a SessionStore, not ${describe(store)}`)
  const missing = METHODS.filter((method) => typeof store[method] !== 'function')
  if (missing.length > 0) fail(`was given a store without ${missing.map((method) => `${method}()`).join(', ')}; see SessionStore of @headrace/session`)
  if (store.location !== undefined && typeof store.location !== 'string') fail(`was given a store with a location that is ${describe(store.location)}, not a text`)
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
      const ctx = callerOf(this, 'ctx.sessions.store')
      const plugin = pluginOf(ctx)
      checkStore(plugin, store)
      const [other] = entries
      if (other) throw new AgentError('STORE_TAKEN', `plugin ${other.plugin} has registered a session store already; load one store plugin`)
      const entry = { store, plugin }
      return ctx.effect(() => {
        entries.push(entry)
        return () => void entries.splice(entries.indexOf(entry), 1)
      }, 'ctx.sessions.store()')
    }
  }
}
