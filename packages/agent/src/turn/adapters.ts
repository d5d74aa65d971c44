import { type Chunk, type Digest, Keys, type Request, nearest, splitModel } from '@headrace/message'
import type { Adapter, AdapterTools } from '../contract/adapter.ts'
import { type ModelInfo, type ModelTable, modelInfo } from '@headrace/tokens'
import { AgentError, ModelError } from '../contract/error.ts'
import { describe } from '../seams/decision-rule.ts'
import { disown, isObject } from '../seams/guards.ts'

/** The adapters that are registered; lets a request of a session leave once, and only when its log holds it (L1). */
export class AdapterRegistry {
  readonly adapters = new Map<string, { readonly adapter: Adapter; readonly plugin: string }>()
  /** Keys that were sent with any request. */
  readonly keys = new Keys()
  private readonly models: ModelTable
  /** What was looked up before: each step asks. */
  private readonly found = new Map<string, ModelInfo | undefined>()
  /** Requests that a loop logged and may send, once each. */
  private readonly issued = new WeakMap<Request, Blobs>()

  constructor(models: ModelTable) {
    this.models = models
  }

  /** What the app knows of a model. */
  readonly info = (model: string): ModelInfo | undefined => {
    if (!this.found.has(model)) this.found.set(model, modelInfo(model, this.models))
    return this.found.get(model)
  }

  /** Allows a logged request to be sent, once. */
  issue(request: Request, blobs: Blobs): void {
    this.issued.set(request, blobs)
  }

  /** Its attempt is over: it must not be sent any more, even if nobody has sent it. */
  revoke(request: Request): void {
    this.issued.delete(request)
  }

  /** Why nothing can be sent to a provider; `undefined` where it can. */
  refusal(provider: string): string | undefined {
    if (this.adapters.has(provider)) return undefined
    const known = [...this.adapters.keys()]
    return `there is no provider ${JSON.stringify(provider)}${nearest(provider, known)}; ${known.length === 0 ? 'load a model plugin, e.g. @headrace/plugin-models' : `there is ${known.join(', ')}`}`
  }

  /** @throws AgentError for a request of a session that its log does not hold (L1); ModelError for an unknown provider */
  stream(request: Request): AsyncIterable<Chunk> {
    const blobs = this.issued.get(request)
    if (request.session !== undefined && !blobs) {
      throw new AgentError('REQUEST_NOT_LOGGED', `this request carries session ${request.session} and is not in its log, was sent before, or comes too late; use agent.ask() for side requests (L1)`)
    }
    this.issued.delete(request)
    const parts = splitModel(request.config.model)
    const refusal = this.refusal(parts.provider)
    if (refusal !== undefined) throw new ModelError({ kind: 'invalid', message: refusal })
    const { adapter, plugin } = this.adapters.get(parts.provider)!
    const blob = (digest: Digest): Promise<Uint8Array | undefined> => (blobs ?? NO_BLOBS).blob(digest)
    const tools: AdapterTools = { ...parts, blob, key: (key) => this.keys.add(String(key)) }
    const stream: unknown = adapter.stream(request, Object.freeze(tools))
    if (isObject(stream) && Symbol.asyncIterator in stream) return stream as unknown as AsyncIterable<Chunk>
    disown(stream)
    throw new AgentError('ADAPTER_INVALID', `the adapter ${JSON.stringify(parts.provider)} of plugin ${plugin} gave ${stream instanceof Promise ? 'a promise' : describe(stream)}, not an async iterable`)
  }
}

type Blobs = Pick<AdapterTools, 'blob'>

const NO_BLOBS: Blobs = { blob: async () => undefined }
