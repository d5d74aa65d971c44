import { sha256 } from '@headrace/message'

/** Bytes of an error's body that are read; a message is somewhere at their beginning. */
const MAX_ERROR_BODY = 65_536

const observers = new WeakMap<AbortSignal, (digest: string) => void>()

/** Calls back with the digest of the first body that {@link wireFetch} sends under a signal. */
export function onWire(signal: AbortSignal, observer: (digest: string) => void): void {
  observers.set(signal, observer)
}

/** A successful response that is no stream of events, such as a page of a proxy. */
export class NotAStream extends Error {
  readonly status: number
  readonly body: string

  constructor(status: number, type: string, body: string) {
    super(`answered ${status} with ${type} where a stream of events was expected; check the base URL`)
    this.status = status
    this.body = body
  }
}

/**
 * `fetch` for AI SDK providers: an adapter sees the exact body it sends, and error bodies are bounded.
 *
 * ```ts
 * aiSdkAdapter(createAnthropic({ fetch: wireFetch }))
 * ```
 */
export const wireFetch: typeof fetch = async (input, init) => {
  const observer = init?.signal ? observers.get(init.signal) : undefined
  if (observer && (typeof init?.body === 'string' || init?.body instanceof Uint8Array)) {
    observer(sha256(init.body))
    observers.delete(init.signal!)
  }
  const response = await fetch(input, init)
  if (!observer) return response
  const type = response.headers.get('content-type') ?? ''
  if (!response.ok) return shortened(response)
  if (!/^(application\/json|text\/html)\b/i.test(type)) return response
  throw new NotAStream(response.status, type, (await beginning(response, MAX_ERROR_BODY)).toString())
}

async function shortened(response: Response): Promise<Response> {
  const headers = new Headers(response.headers)
  // They tell of the whole body, as it was sent.
  headers.delete('content-length')
  headers.delete('content-encoding')
  const { status, statusText } = response
  return new Response(new Uint8Array(await beginning(response, MAX_ERROR_BODY)), { status, statusText, headers })
}

/** The first bytes of a body, as many as came before it broke; the rest is not read. */
export async function beginning(response: Response, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader()
  try {
    while (reader && size < limit) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      size += value.length
    }
  } catch {
    // What there is says more than that there is no more of it.
  }
  reader?.cancel().catch(() => {})
  return Buffer.concat(chunks).subarray(0, limit)
}
