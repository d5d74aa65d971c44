import { type Context, Service } from 'cordis'
import { type Chunk, type Request, isA, splitModel } from '@headrace/message'
import type { ModelInfo } from '@headrace/tokens'
import type { Adapter, AdapterTools, WireRecord } from '../contract/adapter.ts'
import { AgentError } from '../contract/error.ts'
import { describe } from '../seams/decision-rule.ts'
import { isObject } from '../seams/guards.ts'
import { pluginOf } from '../seams/owner.ts'
import type { AdapterRegistry } from '../turn/adapters.ts'
import { callerOf } from './caller.ts'

declare module 'cordis' {
  interface Context {
    llm: LlmService
  }
}

/** `ctx.llm`: models. */
export interface LlmService {
  /**
   * Registers an adapter under the name that models have in front of the first slash; goes with the caller's plugin.
   *
   * @throws AgentError for a wrong adapter, or a name that is taken
   */
  adapter(name: string, adapter: Adapter): () => void
  /** Names of the providers. */
  providers(): readonly string[]
  /** Window and prices of `provider/name`, of the app's own rows or the known ones; `undefined` where nothing is known. */
  info(model: string): ModelInfo | undefined
  /** Models that a provider knows of; empty where it cannot tell. @throws AgentError for an unknown provider; ModelError */
  models(provider: string): Promise<readonly string[]>
  /**
   * Makes the body of a request again, and sends nothing; `undefined` where its provider's adapter cannot.
   *
   * @throws AgentError for an unknown provider; ModelError
   */
  wire(request: Request, blob?: AdapterTools['blob']): Promise<WireRecord | undefined>
  /** Sends a request that belongs to no session. One that carries a session id is refused unless its loop logged it (L1). */
  stream(request: Request): AsyncIterable<Chunk>
}

/** @throws AgentError for a name that no model can have, or an adapter without `stream()` */
function checkAdapter(plugin: string, name: unknown, adapter: unknown): void {
  const problem = typeof name !== 'string' || name === '' || name.includes('/')
    ? `the name of an adapter is what models have in front of the first slash, not ${typeof name === 'string' ? JSON.stringify(name) : describe(name)}`
    : isObject(adapter) && typeof adapter.stream === 'function' ? undefined : `the adapter ${JSON.stringify(name)} needs stream(); it is ${describe(adapter)}`
  if (problem !== undefined) throw new AgentError('ADAPTER_INVALID', `plugin ${plugin}: ${problem}`)
}

/** @throws AgentError for what is no request of a model */
function checkRequest(call: string, request: unknown): void {
  const fail = (problem: string): never => {
    throw new AgentError('REQUEST_INVALID', `${call}() takes a Request { config, messages, segments, owners, signal }; ${problem}`)
  }
  if (!isObject(request)) return fail(`it was given ${describe(request)}`)
  const { config, messages, segments, owners, signal } = request
  if (!isObject(config) || typeof config.model !== 'string') fail('its config needs a model, provider/name')
  if (!Array.isArray(messages)) fail('its messages are no list')
  if (!isObject(segments)) fail('its segments are { prefix, before, history, after }, four lengths')
  if (!Array.isArray(owners)) fail('its owners are no list')
  if (!isA(signal, AbortSignal)) fail('its signal is no AbortSignal')
}

/** The service of a registry; only this closure holds the registry (L1). */
export function llmService(registry: AdapterRegistry): new (ctx: Context) => Service & LlmService {
  const { adapters } = registry
  return class Llm extends Service implements LlmService {
    constructor(ctx: Context) {
      super(ctx, 'llm')
    }

    adapter(name: string, adapter: Adapter): () => void {
      const ctx = callerOf(this, 'ctx.llm.adapter')
      const plugin = pluginOf(ctx)
      checkAdapter(plugin, name, adapter)
      return ctx.effect(() => {
        const taken = adapters.get(name)
        if (taken) throw new AgentError('ADAPTER_TAKEN', `plugin ${taken.plugin} has registered the provider ${JSON.stringify(name)} already`)
        const entry = { adapter, plugin }
        adapters.set(name, entry)
        return () => void (adapters.get(name) === entry && adapters.delete(name))
      }, `ctx.llm.adapter(${JSON.stringify(name)})`)
    }

    providers(): readonly string[] {
      return [...adapters.keys()].sort()
    }

    info(model: string): ModelInfo | undefined {
      if (typeof model !== 'string') throw new AgentError('OPTION_INVALID', `ctx.llm.info() takes the name of a model, not ${describe(model)}`)
      return registry.info(model)
    }

    async models(provider: string): Promise<readonly string[]> {
      if (typeof provider !== 'string') throw new AgentError('OPTION_INVALID', `ctx.llm.models() takes the name of a provider, not ${describe(provider)}`)
      const refusal = registry.refusal(provider)
      if (refusal !== undefined) throw new AgentError('PROVIDER_UNKNOWN', refusal)
      return (await adapters.get(provider)!.adapter.models?.()) ?? []
    }

    async wire(request: Request, blob: AdapterTools['blob'] = async () => undefined): Promise<WireRecord | undefined> {
      checkRequest('ctx.llm.wire', request)
      const parts = splitModel(request.config.model)
      const refusal = registry.refusal(parts.provider)
      if (refusal !== undefined) throw new AgentError('PROVIDER_UNKNOWN', refusal)
      return adapters.get(parts.provider)!.adapter.wire?.(request, Object.freeze({ ...parts, blob }))
    }

    stream(request: Request): AsyncIterable<Chunk> {
      checkRequest('ctx.llm.stream', request)
      return registry.stream(request)
    }
  }
}
