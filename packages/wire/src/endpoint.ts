import { type Adapter, type AdapterTools, ModelError } from '@headrace/agent'
import { type AdapterRecord, type Chunk, type Request, type Usage, digestOf, sha256 } from '@headrace/message'
import { type BaseUrl, urlOf } from './base-url.ts'
import { type Clocks, Watch } from './clocks.ts'
import type { Mapping } from './conversation.ts'
import { type Traits, familyOf } from './families/index.ts'
import { fieldsOf } from './family.ts'
import { toModelError } from './failure.ts'
import { Halves } from './halves.ts'
import type { Connections } from './http.ts'
import { mappingOf } from './mapping.ts'
import { Secrets } from './secrets.ts'
import { PACKAGE } from './version.ts'

/** A fully resolved endpoint. */
export interface Endpoint {
  readonly name: string
  readonly base: BaseUrl
  /** What the provider supports for a model. */
  readonly traits: (model: string) => Traits
  /** Called when a request is sent. @throws ModelError `auth` */
  readonly key: () => string | undefined
  /** More headers. Their values are redacted from every error. */
  readonly headers?: Readonly<Record<string, string>>
  readonly clocks: Clocks
  /** The server silently cuts prompts that do not fit, and bills what is left. */
  readonly cutsSilently?: boolean
}

/** A body as it is sent. */
export interface Outgoing {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** What made the body. */
  readonly adapter: AdapterRecord
}

/**
 * The adapter of an endpoint: builds the body (a pure function), sends it once, gives the answer as chunks. It never
 * retries.
 */
export function endpointAdapter(endpoint: Endpoint, connections: () => Promise<Connections>, warn: (message: string) => void): Adapter {
  const bills = new Bills(warn)
  return {
    stream: (request, tools) => stream(endpoint, connections, warn, bills, request, tools),
    wire: async (request, tools) => {
      const { body, adapter } = outgoing(endpoint, await loaded(endpoint, request, tools), undefined).sent
      return { digest: sha256(body), adapter }
    },
    models: () => listModels(endpoint, connections),
  }
}

function loaded(endpoint: Endpoint, request: Request, tools: AdapterTools): Promise<Mapping> {
  const traits = endpoint.traits(tools.model)
  return mappingOf(request, tools, familyOf(traits).taking(traits, tools.model))
}

/** What is sent, and the fields of the config that the protocol does not support. */
interface Prepared {
  readonly sent: Outgoing
  readonly unsaid: readonly string[]
}

function outgoing({ name: provider, base, traits: traitsOf, headers }: Endpoint, mapping: Mapping, key: string | undefined): Prepared {
  const { model } = mapping.target
  const traits = traitsOf(model)
  const family = familyOf(traits)
  const { body, unsaid } = family.body(mapping, traits)
  const sent: Outgoing = {
    url: urlOf(base, family.path(encodeURI(model)), family.query),
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...family.headers(key), ...headers },
    body: JSON.stringify(body),
    adapter: { ...PACKAGE, options: digestOf(JSON.parse(JSON.stringify({ provider, traits })) as object) },
  }
  return { sent, unsaid }
}

function secretsOf({ url, headers }: Pick<Outgoing, 'url' | 'headers'>, endpoint: Endpoint, told?: (key: string) => void): Secrets {
  const secrets = new Secrets(told).request(url, Object.entries(headers))
  for (const value of [...Object.values(endpoint.headers ?? {}), ...Object.values(endpoint.base.query)]) secrets.value(value)
  return secrets
}

async function* stream(
  endpoint: Endpoint,
  connections: () => Promise<Connections>,
  warn: (message: string) => void,
  bills: Bills,
  request: Request,
  tools: AdapterTools,
): AsyncGenerator<Chunk> {
  const connection = await connections()
  const watch = new Watch(request.signal, endpoint.clocks, endpoint.name)
  let secrets = new Secrets()
  try {
    const mapping = await watch.race(loaded(endpoint, request, tools))
    const { sent, unsaid } = outgoing(endpoint, mapping, endpoint.key())
    secrets = secretsOf(sent, endpoint, (key) => tools.key?.(key))
    for (const field of unsaid) warn(`the protocol has no word for ${field} of the config; it was left out`)
    yield { type: 'wire', digest: sha256(sent.body), adapter: sent.adapter }
    const response = await watch.race(connection.post(sent.url, sent.headers, sent.body, watch.signal))
    for await (const chunk of answer(
      endpoint,
      mapping,
      connection.events(response, () => watch.heard()),
      watch,
    )) {
      const isFalse =
        chunk.type === 'usage' && endpoint.cutsSilently === true && bills.isCut(request, sent.body.length, chunk.usage)
      if (!isFalse) yield chunk
    }
  } catch (error) {
    throw toModelError(watch.error ?? error, endpoint.name, secrets)
  } finally {
    // A consumer that stops reading stops the model.
    watch.close()
  }
}

/** An answer is complete once it has a stop reason; errors after that are ignored. */
async function* answer(endpoint: Endpoint, mapping: Mapping, events: AsyncIterator<Parameters<ReturnType<typeof reading>['read']>[0]>, watch: Watch): AsyncGenerator<Chunk> {
  const reader = reading(endpoint, mapping)
  const halves = new Halves()
  try {
    while (!reader.over) {
      const next = await watch.race(events.next())
      if (next.done) break
      yield* reader.read(fieldsOf(next.value)).flatMap((chunk) => halves.read(chunk))
    }
  } catch (error) {
    if (!reader.finished || watch.error?.failure.kind === 'aborted') throw error
  }
  if (!reader.finished) throw new ModelError({ kind: 'network', message: `the answer of ${endpoint.name} ended without a finish: it was cut off` })
  yield* reader.end().flatMap((chunk) => halves.read(chunk))
}

function reading({ traits }: Endpoint, mapping: Mapping): ReturnType<ReturnType<typeof familyOf>['reader']> {
  return familyOf(traits(mapping.target.model)).reader(mapping)
}

/** The most characters of a body per billed token; with more, the bill cannot be right. */
const IMPLAUSIBLE = 12
/** By how many characters a body must have grown, with the same bill, to count as cut. */
const GROWN = 2_000

/**
 * Watches the usage of a server that silently cuts prompts. A cut is an error and its usage is not passed on: estimates
 * would be corrected by it.
 */
class Bills {
  private readonly last = new Map<string, { readonly size: number; readonly input: number }>()
  private readonly warn: (message: string) => void

  constructor(warn: (message: string) => void) {
    this.warn = warn
  }

  isCut({ session = '', config, messages }: Request, size: number, { input }: Usage): boolean {
    if (messages.some((message) => JSON.stringify(message).includes('"mediaType"'))) return false
    const key = JSON.stringify([session, config.model])
    const before = this.last.get(key)
    this.last.delete(key)
    this.last.set(key, { size, input })
    if (this.last.size > 100) this.last.delete(this.last.keys().next().value!)
    const cut = size > input * IMPLAUSIBLE || (before !== undefined && size > before.size + GROWN && input <= before.input)
    if (cut) this.warn(`the server has cut the prompt without a word: it read ${input} tokens of ${size} characters; give its model a larger num_ctx`)
    return cut
  }
}

/** Reads the answer of `GET /models`, in either shape. */
async function listModels(endpoint: Endpoint, connections: () => Promise<Connections>): Promise<readonly string[]> {
  const watch = new Watch(new AbortController().signal, endpoint.clocks, endpoint.name)
  let secrets = new Secrets()
  try {
    const headers = { ...familyOf(endpoint.traits('')).headers(endpoint.key()), ...endpoint.headers }
    const url = urlOf(endpoint.base, '/models')
    secrets = secretsOf({ url, headers }, endpoint)
    const connection = await watch.race(connections())
    const { data, models } = fieldsOf(await watch.race(connection.get(url, headers, watch.signal)))
    const list = Array.isArray(data) ? data : Array.isArray(models) ? models : []
    return list.flatMap((item) => {
      const { id, name } = fieldsOf(item)
      return typeof id === 'string' ? [id] : typeof name === 'string' ? [name.replace(/^models\//, '')] : []
    })
  } catch (error) {
    throw toModelError(watch.error ?? error, endpoint.name, secrets)
  } finally {
    watch.close()
  }
}
