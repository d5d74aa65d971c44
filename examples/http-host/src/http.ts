import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type HttpBindings, createAdaptorServer } from '@hono/node-server'
import { type Context, Service } from 'cordis'
import { Hono } from 'hono'
import z from 'schemastery'

declare module 'cordis' {
  interface Context {
    http: HttpService
  }
}

/** Routes of one plugin. */
export type Routes = Hono<{ Bindings: HttpBindings }>

export interface HttpConfig {
  /** The address to listen at. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** Milliseconds that open connections have to end, once the server stops. */
  readonly closing: number
}

/** `ctx.http`: the app's HTTP server. Plugins mount their routes, which are removed with the plugin. */
export class HttpService extends Service {
  static Config = z.object({
    host: z.string().default('127.0.0.1').description('The address to listen at.'),
    port: z.natural().max(65_535).default(0).description('0 is any that is free.'),
    closing: z.natural().default(2_000).description('Milliseconds that open connections have to end in.'),
  }) as z<Partial<HttpConfig>, HttpConfig>

  private readonly config: HttpConfig
  private readonly own: Context
  private readonly mounted: Routes[] = []
  private root: Routes = new Hono()
  private address: AddressInfo | undefined

  constructor(ctx: Context, config: HttpConfig) {
    super(ctx, 'http')
    this.config = config
    this.own = ctx
  }

  async *[Service.init](): AsyncGenerator<() => Promise<void>> {
    // Leaves Node's global objects as they are: others use them too.
    const server = createAdaptorServer({ fetch: (request, env) => this.root.fetch(request, env), overrideGlobalObjects: false }) as Server
    this.compose()
    server.listen(this.config.port, this.config.host)
    await once(server, 'listening')
    this.address = server.address() as AddressInfo
    yield () => this.close(server)
  }

  /** Where it listens: `http://127.0.0.1:8080`. */
  get url(): string {
    if (!this.address) throw new Error('the HTTP server does not listen yet; wait for its plugin')
    const { address, family, port } = this.address
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** Adds routes; they are removed with the caller's plugin. */
  mount(routes: Routes): () => void {
    const { mounted } = this
    return this.ctx.effect(() => {
      mounted.push(routes)
      this.compose()
      return () => {
        mounted.splice(mounted.indexOf(routes), 1)
        this.compose()
      }
    }, 'ctx.http.mount()')
  }

  /** Hono cannot remove a route, so each change builds a new root. */
  private compose(): void {
    const root: Routes = new Hono()
    for (const routes of this.mounted) root.route('/', routes)
    root.notFound((c) => c.json({ error: { code: 'NOT_FOUND', message: 'there is nothing here' } }, 404))
    root.onError((error, c) => {
      // Not decoded: a decoded path may have line breaks, and forge lines of the log.
      this.own.logger.error('%s %s failed: %s', c.req.method, new URL(c.req.url).pathname, error.stack ?? error.message)
      return c.json({ error: { code: 'INTERNAL', message: 'something went wrong here; it is in the log of the server' } }, 500)
    })
    this.root = root
  }

  private async close(server: Server): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    server.closeIdleConnections()
    const timer = setTimeout(() => server.closeAllConnections(), this.config.closing)
    await closed
    clearTimeout(timer)
  }
}
