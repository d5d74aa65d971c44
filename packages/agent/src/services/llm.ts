import { type Context, Service } from 'cordis'
import { type CallConfig, type Chunk, type Digest, type Request, nearest, splitModel } from '@headrace/message'
import { type Adapter, type AdapterTools, ModelError } from '../contract/adapter.ts'
import { describe } from '../seams/decision-rule.ts'
import { AgentError } from '../contract/error.ts'
import { disown, isObject } from '../seams/guards.ts'
import { pluginOf } from '../seams/owner.ts'

declare module 'cordis' {
  interface Context {
    llm: LlmService
  }
}

/** The adapters, apart from Cordis; and what keeps requests of sessions honest. */
export class AdapterRegistry {
  readonly adapters = new Map<string, { readonly adapter: Adapter; readonly plugin: string }>()
  /** Requests that a loop logged and may send, once each. */
  private readonly issued = new WeakMap<Request, Blobs>()

  /** Allows a request that is in the log to leave, once. */
  issue(request: Request, blobs: Blobs): void {
    this.issued.set(request, blobs)
  }

  /** Its attempt is over: it may not leave any more, though nobody sent it. */
  revoke(request: Request): void {
    this.issued.delete(request)
  }

  /** Says why a config cannot be sent; `undefined` where it can. */
  refusal({ model }: CallConfig): string | undefined {
    const { provider } = splitModel(model)
    if (this.adapters.has(provider)) return undefined
    const known = [...this.adapters.keys()]
    return `there is no provider ${JSON.stringify(provider)}${nearest(provider, known)}; ${known.length === 0 ? 'load a model plugin, e.g. @headrace/plugin-ai-sdk' : `there is ${known.join(', ')}`}`
  }

  /** @throws AgentError for a request of a session that its log does not hold (L1); ModelError for an unknown provider */
  stream(request: Request): AsyncIterable<Chunk> {
    const blobs = this.issued.get(request)
    if (request.session !== undefined && !blobs) {
      throw new AgentError('REQUEST_NOT_LOGGED', `this request carries session ${request.session} and is not in its log, was sent before, or comes too late; use agent.ask() for side requests (L1)`)
    }
    this.issued.delete(request)
    const refusal = this.refusal(request.config)
    if (refusal !== undefined) throw new ModelError({ kind: 'invalid', message: refusal })
    const parts = splitModel(request.config.model)
    const { adapter, plugin } = this.adapters.get(parts.provider)!
    const stream: unknown = adapter.stream(request, Object.freeze({ ...parts, blob: (digest: Digest) => (blobs ?? NO_BLOBS).blob(digest) }))
    if (isObject(stream) && Symbol.asyncIterator in stream) return stream as unknown as AsyncIterable<Chunk>
    disown(stream)
    throw new AgentError('ADAPTER_INVALID', `the adapter ${JSON.stringify(parts.provider)} of plugin ${plugin} gave ${stream instanceof Promise ? 'a promise' : describe(stream)}, not an async iterable`)
  }
}

type Blobs = Pick<AdapterTools, 'blob'>

const NO_BLOBS: Blobs = { blob: async () => undefined }

/** `ctx.llm`: models. */
export class LlmService extends Service {
  readonly registry = new AdapterRegistry()

  constructor(ctx: Context) {
    super(ctx, 'llm')
  }

  /** Registers an adapter under the name that models have in front of the first slash; goes with the caller's plugin. @throws AgentError for a name that is taken */
  adapter(name: string, adapter: Adapter): () => void {
    const { ctx, registry: { adapters } } = this
    const plugin = pluginOf(ctx)
    return ctx.effect(() => {
      const taken = adapters.get(name)
      if (taken) throw new AgentError('ADAPTER_TAKEN', `plugin ${taken.plugin} has registered the provider ${JSON.stringify(name)} already`)
      const entry = { adapter, plugin }
      adapters.set(name, entry)
      return () => void (adapters.get(name) === entry && adapters.delete(name))
    }, `ctx.llm.adapter(${JSON.stringify(name)})`)
  }

  /** Names of the providers. */
  providers(): readonly string[] {
    return [...this.registry.adapters.keys()].sort()
  }

  /** Sends a request that belongs to no session. One that carries a session id is refused unless its loop logged it (L1). */
  stream(request: Request): AsyncIterable<Chunk> {
    return this.registry.stream(request)
  }
}
