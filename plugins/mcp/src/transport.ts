import type { StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client'
import { hideInitialSecrets } from '@headrace/files'
import type { Sdk } from './sdk.ts'
import type { SignIn } from './sign-in.ts'
import type { HttpServer, StdioServer } from './server-config.ts'

/** Characters of a server's stderr that are kept. */
const MAX_STDERR = 2_000
/** Milliseconds that a process has to end once its stdin is closed, before SIGTERM; then again, before SIGKILL. */
const GRACE = 300

/** A connection to a server. */
export interface Link {
  readonly transport: Transport
  /** OAuth, where it may be needed. */
  readonly signIn?: SignIn
  /** The end of what the process wrote to stderr. */
  stderr(): string
  /** Ends it; the process too. */
  close(): Promise<void>
}

/** Starts a server as a process when it is connected: with the SDK's few safe variables, and those of the config. */
export function stdioLink(sdk: Sdk, server: StdioServer, cwd: string, maxMessage: number): Link {
  hideInitialSecrets()
  const transport = new sdk.StdioClientTransport({
    command: server.command, args: [...server.args], env: { ...server.env }, cwd: server.cwd ?? cwd, stderr: 'pipe', maxBufferSize: maxMessage,
  })
  let text = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-MAX_STDERR)
  })
  return {
    transport,
    stderr: () => text.trim(),
    async close() {
      const { pid } = transport
      const timers = (['SIGTERM', 'SIGKILL'] as const).map((signal, index) => setTimeout(() => endProcess(pid, signal), GRACE * (1 + 3 * index)))
      // The SDK closes stdin and waits, for seconds where the process does not end.
      await transport.close().finally(() => timers.forEach((timer) => clearTimeout(timer)))
    },
  }
}

function endProcess(pid: number | null, signal: NodeJS.Signals): void {
  try {
    if (pid !== null) process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}

/** Reaches a server by HTTP, by the streamable protocol or the older one. */
export function httpLink(sdk: Sdk, server: HttpServer, kind: 'http' | 'sse', maxMessage: number, signIn?: SignIn): Link {
  const options = {
    requestInit: { headers: { ...server.headers } },
    fetch: boundedFetch(maxMessage),
    ...(signIn && { authProvider: signIn }),
  }
  const url = new URL(server.url)
  const transport = kind === 'sse' ? new sdk.SSEClientTransport(url, options) : endingStreams(new sdk.StreamableHTTPClientTransport(url, options))
  return {
    transport,
    ...(signIn && { signIn }),
    stderr: () => '',
    async close() {
      signIn?.close()
      // Ends the session at servers that have sessions; not all do.
      if ('terminateSession' in transport) await Promise.race([transport.terminateSession().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, GRACE).unref())])
      await transport.close()
    },
  }
}

/** Code of the error that answers a request whose stream ended without an answer. */
export const STREAM_ENDED = -32_099

/**
 * Each request has its own stream, which may end without its answer; the SDK would keep waiting. A second answer is
 * ignored.
 */
function endingStreams(transport: StreamableHTTPClientTransport): StreamableHTTPClientTransport {
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    if (Array.isArray(message) || !('method' in message) || !('id' in message)) return send(message, options)
    const { id } = message
    const ended = (): void => transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: STREAM_ENDED, message: 'its answer was cut short' } })
    return send(message, { ...options, onRequestStreamEnd: ended })
  }
  return transport
}

/** `fetch` that ends a body whose message is longer than `max` bytes; in a stream of events each is a message. */
function boundedFetch(max: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!response.body) return response
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    let size = 0
    const body = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size = isStream && chunk.includes(10) && endsEvent(chunk) ? 0 : size + chunk.length
        if (size > max) controller.error(new Error(`a message has more than ${max} bytes`))
        else controller.enqueue(chunk)
      },
    }))
    const { status, statusText, headers } = response
    return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: response.url })
  }
}

/** Whether an event ends in a chunk: it contains an empty line. */
function endsEvent(chunk: Uint8Array): boolean {
  return /\r?\n\r?\n/.test(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1'))
}
