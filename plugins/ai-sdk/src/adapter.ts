import type { LanguageModelV3, LanguageModelV3StreamResult, SharedV3ProviderOptions } from '@ai-sdk/provider'
import { type Adapter, type AdapterTools, ModelError } from '@headrace/agent'
import type { CallConfig, Chunk, Request } from '@headrace/message'
import { providerOptions, toCall } from './call.ts'
import { ChunkReader } from './chunks.ts'
import { toModelError } from './failure.ts'
import { type ModelSource, modelOf } from './model.ts'
import { type Mapping, toPrompt } from './prompt.ts'
import { redactor } from './redact.ts'
import { DEFAULT_TIMEOUT, Watch } from './watch.ts'
import { onWire } from './wire.ts'

/** Options of an adapter. */
export interface AiSdkOptions extends Partial<Mapping> {
  /** Milliseconds without a piece of the answer, after which the attempt fails. Default: 300,000. */
  readonly timeout?: number
  /** Headers of a call, asked for when it is sent. Their values are redacted from every error. */
  readonly headers?: () => Readonly<Record<string, string>>
  /** What else must be redacted from every error, such as a key that the model has by itself. */
  readonly secrets?: () => Iterable<string>
  /** Options of the AI SDK for a config. Default: `config.providerOptions`, with the reasoning effort where the provider looks for it. */
  readonly providerOptions?: (config: CallConfig) => SharedV3ProviderOptions | undefined
  /** Told of what a model could not do as asked. Default: nobody. */
  readonly warn?: (message: string) => void
  /** The models it can give. Default: the one, where it is one. */
  readonly models?: () => Promise<readonly string[]>
}

/**
 * Any AI SDK language model as an adapter. It calls `doStream` itself: nothing is retried or repeated here.
 *
 * ```ts
 * ctx.llm.adapter('anthropic', aiSdkAdapter(createAnthropic({ fetch: wireFetch })))
 * ```
 */
export function aiSdkAdapter(model: ModelSource, options: AiSdkOptions = {}): Adapter {
  const models = options.models ?? (typeof model === 'function' ? undefined : async () => [model.modelId])
  return {
    stream: (request, tools) => stream(model, options, request, tools),
    ...models ? { models } : {},
  }
}

async function* stream(source: ModelSource, options: AiSdkOptions, request: Request, tools: AdapterTools): AsyncGenerator<Chunk> {
  const { provider, model: modelId } = tools
  const watch = new Watch(request.signal, options.timeout ?? DEFAULT_TIMEOUT, provider)
  const secrets = new Set(options.secrets?.())
  try {
    const headers = options.headers?.() ?? {}
    for (const value of Object.values(headers)) secrets.add(value).add(value.replace(/^\w+ /, ''))
    const model = await watch.race(modelOf(source, modelId))
    const prompt = await watch.race(toPrompt(request, mappingOf(options), tools))
    const extras = options.providerOptions ? options.providerOptions(request.config) : providerOptions(request.config, model.provider)
    const call = toCall(request.config, request.tools, extras)
    const { wire, result } = send(model, { ...call, prompt, headers, abortSignal: watch.signal })
    const digest = await watch.race(wire)
    if (digest !== undefined) yield { type: 'wire', digest }
    const reader = (await watch.race(result)).stream.getReader()
    const chunks = new ChunkReader(provider, options.warn ?? (() => {}))
    for (;;) {
      const { done, value } = await watch.race(reader.read())
      if (done) break
      yield* chunks.read(value)
    }
    if (!chunks.finished) throw new ModelError({ kind: 'network', message: `the answer of ${provider} ended without a finish: it was cut off` })
  } catch (error) {
    throw toModelError(watch.error ?? error, provider, redactor(secrets))
  } finally {
    // Whoever stops listening stops the model.
    watch.close()
  }
}

interface Sent {
  /** Digest of the body, as soon as it is sent; nothing where it cannot be seen. */
  readonly wire: Promise<string | undefined>
  readonly result: Promise<LanguageModelV3StreamResult>
}

function send(model: LanguageModelV3, call: Parameters<LanguageModelV3['doStream']>[0]): Sent {
  const seen = new Promise<string>((resolve) => onWire(call.abortSignal!, resolve))
  const result = Promise.resolve(model.doStream(call))
  const settled = result.then(() => undefined, () => undefined)
  return { wire: Promise.race([seen, settled]), result }
}

function mappingOf({ systemMessages = 'system', reasoning = 'keep', toolImages = 'result', arguments: form = 'object' }: AiSdkOptions): Mapping {
  return { systemMessages, reasoning, toolImages, arguments: form }
}
