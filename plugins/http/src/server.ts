import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import type { Handler } from './handler.ts'

export interface ListenOptions {
  readonly host: string
  readonly port: number
  /** Milliseconds that open connections have to end, once it closes. */
  readonly closing: number
}

/** A server that listens. */
export interface Listening {
  /** `http://127.0.0.1:8787` */
  readonly url: string
  close(): Promise<void>
}

/** Serves a handler by Node's own server. @throws where the address is taken */
export async function listen(handler: Handler, { host, port, closing }: ListenOptions): Promise<Listening> {
  // Late: an app that mounts the handler needs no server.
  const { createAdaptorServer } = await import('@hono/node-server')
  const server = createAdaptorServer({
    fetch: (request, env) => handler(request, { cut: () => void (env as HttpBindings).outgoing.destroy() }),
    // Leaves Node's global objects as they are: others use them too.
    overrideGlobalObjects: false,
  }) as Server
  server.listen(port, host)
  await once(server, 'listening')
  const at = server.address() as AddressInfo
  return { url: `http://${at.family === 'IPv6' ? `[${at.address}]` : at.address}:${at.port}`, close: () => close(server, closing) }
}

async function close(server: Server, closing: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), closing)
  await closed
  clearTimeout(timer)
}
