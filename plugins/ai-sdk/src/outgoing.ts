import diagnostics from 'node:diagnostics_channel'
import { sha256 } from '@headrace/message'
import type { Secrets } from '@headrace/wire'

/** Called with the first body under a signal; on `stop` nothing is sent. */
type Observer = (digest: string) => 'go' | 'stop'

const observers = new WeakMap<AbortSignal, Observer>()

/** Calls back with the digest of the first body that {@link wireFetch} sends under a signal. */
export function onWire(signal: AbortSignal, observer: Observer): void {
  observers.set(signal, observer)
}

/** The body was built, and is not sent. */
export class NotSent extends Error {}

/**
 * `fetch` for AI SDK providers: an adapter sees the exact body it sends.
 *
 * ```ts
 * aiSdkAdapter(createAnthropic({ fetch: wireFetch }))
 * ```
 */
export const wireFetch: typeof fetch = async (input, init) => {
  const observer = init?.signal ? observers.get(init.signal) : undefined
  if (observer && (typeof init?.body === 'string' || init?.body instanceof Uint8Array)) {
    observers.delete(init.signal!)
    if (observer(sha256(init.body)) === 'stop') throw new NotSent('not sent')
  }
  return fetch(input, init)
}

/**
 * Learns the keys in requests that leave this process while it listens: packages do not expose them, and providers
 * quote them in errors.
 */
export function watchSecrets(secrets: Secrets): () => void {
  const listener = (message: unknown): void => {
    const { request } = message as { request?: { origin?: unknown; path?: unknown; headers?: unknown } }
    if (request) secrets.request(`${String(request.origin)}${String(request.path)}`, headersOf(request.headers))
  }
  diagnostics.subscribe('undici:request:create', listener)
  return () => void diagnostics.unsubscribe('undici:request:create', listener)
}

/** Headers as Node's own `fetch` has them, in this version or the next: one text, or a list of names and values. */
function headersOf(headers: unknown): [string, string][] {
  const text = (value: unknown): string => Buffer.isBuffer(value) ? value.toString('latin1') : String(value)
  if (typeof headers === 'string') {
    return headers.split('\r\n').flatMap((line): [string, string][] => {
      const colon = line.indexOf(':')
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1).trim()]] : []
    })
  }
  if (!Array.isArray(headers)) return []
  return headers.flatMap((item: unknown, index): [string, string][] => {
    if (Array.isArray(item)) return [[text(item[0]), text(item[1])]]
    return index % 2 === 0 && index + 1 < headers.length ? [[text(item), text(headers[index + 1])]] : []
  })
}
