import { type Adapter, type AdapterTools, ModelError } from '@headrace/agent'
import { type AdapterRecord, type CallConfig, type Chunk, type JsonObject, type Request, digestOf } from '@headrace/message'
import { BadResponse, type Clocks, DEFAULT_CLOCKS, Halves, Secrets, Watch, mappingOf, toModelError } from '@headrace/wire'
import { providerOptions, toCall } from './call.ts'
import { ChunkReader } from './chunks.ts'
import { type KnownModel, type ModelSource, modelOf } from './model.ts'
import { NotSent, onWire, watchSecrets } from './outgoing.ts'
import { type PromptOptions, takingOf, toPrompt } from './prompt.ts'
import type { Call, StreamPart } from './specification.ts'
import { PACKAGE } from './version.ts'

/** Options of an adapter. */
export interface AiSdkOptions extends PromptOptions {
  /** Timeouts in milliseconds; 0 means no limit. A part of the stream counts as a byte. */
  readonly clocks?: Partial<Clocks>
  /** Headers of a call; called when it is sent. Their values are redacted from every error. */
  readonly headers?: () => Readonly<Record<string, string>>
  /** What else must be redacted from every error, such as a key that the model has by itself. */
  readonly secrets?: () => Iterable<string>
  /** Options of the AI SDK for a config. Default: `config.providerOptions`, with the reasoning effort where the provider looks for it. */
  readonly providerOptions?: (config: CallConfig) => JsonObject | undefined
  /** Called with what a model does not support. Default: nothing is called. */
  readonly warn?: (message: string) => void
  /** The names of its models. Default: the given model's, where one model is given. */
  readonly models?: () => Promise<readonly string[]>
  /**
   * The package that makes the bodies, where it is known and uses {@link wireFetch}: then a body can be built again
   * without being sent.
   */
  readonly package?: () => Promise<Pick<AdapterRecord, 'name' | 'version'>>
}

/**
 * Any AI SDK language model as an adapter. It calls `doStream` directly, once; it never retries.
 *
 * ```ts
 * ctx.llm.adapter('bedrock', aiSdkAdapter(createAmazonBedrock({ fetch: wireFetch })))
 * ```
 */
export function aiSdkAdapter(model: ModelSource, options: AiSdkOptions = {}): Adapter {
  const models = options.models ?? (typeof model === 'function' ? undefined : async () => [model.modelId])
  return {
    stream: (request, tools) => stream(model, options, request, tools),
    ...models ? { models } : {},
    wire: (request, tools) => (options.package ? wire(model, options, request, tools) : Promise.reject(unseen(tools))),
  }
}

async function* stream(source: ModelSource, options: AiSdkOptions, request: Request, tools: AdapterTools): AsyncGenerator<Chunk> {
  const { provider } = tools
  const watch = new Watch(request.signal, { ...DEFAULT_CLOCKS, ...options.clocks }, provider)
  const secrets = secretsOf(options, (key) => tools.key?.(key))
  const unwatch = watchSecrets(secrets)
  try {
    const { model, call } = await watch.race(prepared(source, options, request, tools, watch.signal))
    const { digest, result } = send(model, call)
    const adapter = await watch.race(recordOf(model, options))
    const sent = await watch.race(digest)
    if (sent !== undefined) yield { type: 'wire', digest: sent, adapter }
    const reader = (await watch.race(result)).stream.getReader()
    const chunks = new ChunkReader(request.tools ?? [], options.warn ?? (() => {}))
    const halves = new Halves()
    for (;;) {
      const { done, value } = await watch.race(reader.read())
      if (done) break
      watch.heard()
      yield* chunks.read(value as StreamPart).flatMap((chunk) => halves.read(chunk))
    }
    if (!chunks.finished) throw new ModelError({ kind: 'network', message: `the answer of ${provider} ended without a finish: it was cut off` })
  } catch (error) {
    throw toModelError(watch.error ?? known(error, provider), provider, secrets)
  } finally {
    unwatch()
    // A consumer that stops reading stops the model.
    watch.close()
  }
}

/** The digest of the body that would be sent; nothing is sent. */
async function wire(source: ModelSource, options: AiSdkOptions, request: Request, tools: AdapterTools): ReturnType<NonNullable<Adapter['wire']>> {
  const ended = new AbortController()
  const { model, call } = await prepared(source, options, request, tools, ended.signal)
  const digest = await new Promise<string>((resolve, reject) => {
    onWire(ended.signal, (seen) => {
      resolve(seen)
      return 'stop'
    })
    Promise.resolve(model.doStream(call as never)).then(() => reject(new NotSent('the package sends no body that can be seen')), reject)
  })
  return { digest, adapter: await recordOf(model, options) }
}

/** This would really send: the `fetch` of a model that was made in code is not known. */
function unseen({ provider }: AdapterTools): ModelError {
  const message = `the model of ${provider} was made in code, and may send by a fetch of its own: make it with fetch: wireFetch, and give aiSdkAdapter() its package, { name, version }`
  return new ModelError({ kind: 'invalid', message })
}

interface Prepared {
  readonly model: KnownModel
  readonly call: Call
}

async function prepared(
  source: ModelSource,
  options: AiSdkOptions,
  request: Request,
  tools: AdapterTools,
  signal: AbortSignal,
): Promise<Prepared> {
  const model = await modelOf(source, tools.model)
  const taking = takingOf(options, model.provider)
  const prompt = toPrompt(await mappingOf(request, tools, taking), taking, options, model.specificationVersion)
  const extras = options.providerOptions
    ? options.providerOptions(request.config)
    : providerOptions(request.config, model.provider)
  return {
    model,
    call: {
      ...toCall(request.config, request.tools, extras),
      prompt,
      headers: options.headers?.() ?? {},
      abortSignal: signal,
    },
  }
}

async function recordOf({ provider, specificationVersion }: KnownModel, options: AiSdkOptions): Promise<AdapterRecord> {
  const { systemMessages, reasoning } = options
  const made = await options.package?.() ?? PACKAGE
  const told = {
    provider,
    specificationVersion,
    ...(systemMessages && { systemMessages }),
    ...(reasoning && { reasoning }),
    mapping: PACKAGE.version,
  }
  return { ...made, options: digestOf(told) }
}

function secretsOf(options: AiSdkOptions, told: (key: string) => void): Secrets {
  const secrets = new Secrets(told)
  for (const secret of options.secrets?.() ?? []) secrets.add(secret)
  for (const [name, value] of Object.entries(options.headers?.() ?? {})) secrets.request('', [[name, value]]).value(value)
  return secrets
}

interface Sent {
  /** Digest of the body, as soon as it is sent; nothing where it cannot be seen. */
  readonly digest: Promise<string | undefined>
  readonly result: Promise<{ readonly stream: ReadableStream<unknown> }>
}

function send(model: KnownModel, call: Call): Sent {
  const seen = new Promise<string>((resolve) => onWire(call.abortSignal!, (digest) => {
    resolve(digest)
    return 'go'
  }))
  const result = Promise.resolve(model.doStream(call as never))
  const settled = result.then(() => undefined, () => undefined)
  return { digest: Promise.race([seen, settled]), result }
}

/** An error of the AI SDK as ours: the provider's answer, or what the package refused before anything was sent. */
function known(error: unknown, provider: string): unknown {
  if (!(error instanceof Error)) return error
  const { statusCode, responseHeaders, responseBody, url, name, value } = error as Error & Readonly<Record<string, unknown>>
  if (typeof statusCode === 'number' && statusCode >= 400) {
    const body = typeof responseBody === 'string' && responseBody !== '' ? responseBody : error.message
    return new BadResponse({ status: statusCode, headers: (responseHeaders ?? {}) as Record<string, string>, body: body.slice(0, 65_536), url: typeof url === 'string' ? url : '' })
  }
  if (name === 'AI_LoadAPIKeyError') return new ModelError({ kind: 'auth', message: error.message })
  if (/^AI_(JSONParse|TypeValidation|InvalidResponseData|EmptyResponseBody)Error$/.test(name)) return malformed(error, value, provider)
  const isLocal = /^AI_/.test(name) && name !== 'AI_APICallError'
  return isLocal ? new ModelError({ kind: 'invalid', message: `${provider} cannot be asked this: ${error.message}` }) : error
}

/** What the package took for a malformed chunk may be a report in a shape it does not know. */
function malformed(error: Error, value: unknown, provider: string): unknown {
  if (typeof value === 'object' && value !== null && 'error' in value) return new BadResponse({ status: 500, headers: {}, body: JSON.stringify(value), url: '' })
  return new ModelError({ kind: 'network', message: `${provider} sent what is no part of an answer: ${error.message}` })
}
