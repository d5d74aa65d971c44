import { setMaxListeners } from 'node:events'
import { resolve } from 'node:path'
import { messageOf } from '@headrace/message'
import type { Context } from 'cordis'
import { chatRoutes } from './ai-sdk/routes.ts'
import { sessionRoutes } from './native/routes.ts'
import { type Authenticate, BOUNDS, type HandlerOptions, type HandlerSettings, LOOPBACK_HOSTS } from './options.ts'
import { Problem, problemOf } from './problem.ts'
import { type Asked, type Connection, type Parts, Router } from './router.ts'
import { allowOrigin, checkSite, preflight } from './safety/site.ts'
import { checkUsers, isToken, isUser } from './safety/tokens.ts'
import { Users } from './safety/users.ts'
import { UserSessions } from './sessions.ts'

/** Answers requests. Give it to a server as its `fetch`. */
export interface Handler {
  (request: Request, connection?: Connection): Promise<Response>
  /** What `GET /health` says. */
  readonly health: { readonly ready: boolean; readonly draining: boolean; readonly turns: number; readonly sessions: number }
  /** Accepts nothing new, and gives running turns their grace period: call it before the app is unloaded. */
  drain(): Promise<void>
  /** Ends all streams. */
  close(): void
}

/** The one user where no name is asked for. */
const OWNER = 'owner'

/**
 * Makes a handler of the sessions of an app, to be mounted in a server of its own:
 *
 * ```ts
 * const handler = createHandler(ctx, { token: process.env.AGENTS_TOKEN!, base: '/agents' })
 * hono.all('/agents/*', (c) => handler(c.req.raw))
 * ```
 *
 * @param ctx a plugin's context that injects `desk` and `sessions`; what is open ends with that plugin
 * @throws TypeError for options that are wrong
 */
export function createHandler(ctx: Context, options: HandlerOptions): Handler {
  const settings: HandlerSettings = { hosts: LOOPBACK_HOSTS, origins: [], base: '', cwd: process.cwd(), ...BOUNDS, ...options }
  const authenticate = authenticator(options)
  checkSettings(settings)
  const end = new AbortController()
  // One a stream.
  setMaxListeners(0, end.signal)
  const sessions = new UserSessions(ctx, settings)
  const parts: Parts = { ctx, settings, sessions, closing: end.signal }
  const router = new Router([...sessionRoutes(parts), ...chatRoutes(parts)])
  const health = (): Handler['health'] => ({ ready: !sessions.draining, draining: sessions.draining, turns: sessions.running, sessions: sessions.used })

  const answer = async (asked: Omit<Asked, 'user' | 'params'>): Promise<Response> => {
    const { request, url } = asked
    const path = pathIn(url, settings.base)
    if (request.method === 'GET' && path === '/health/live') return Response.json({ live: true })
    if (request.method === 'GET' && path === '/health') return Response.json({ live: true, ...health() }, { status: sessions.draining ? 503 : 200 })
    const user = await authenticate(request)
    if (user === undefined) throw new Problem(401, 'UNAUTHORIZED', 'send a token that is known: Authorization: Bearer …')
    if (!isUser(user)) throw new Problem(403, 'USER_INVALID', 'that name cannot be a user')
    return router.answer({ ...asked, user }, path)
  }

  const handler = async (request: Request, connection: Connection = {}): Promise<Response> => {
    let origin: string | undefined
    try {
      const url = new URL(request.url)
      origin = checkSite(request, url, settings)
      return allowOrigin(preflight(request, origin) ?? await answer({ request, url, connection }), origin)
    } catch (error) {
      const problem = problemOf(error) ?? internal(ctx, request, error)
      return allowOrigin(problem.response, origin)
    }
  }
  const close = (): void => {
    sessions.draining = true
    end.abort()
  }
  ctx.effect(() => close, 'http handler')
  return Object.defineProperty(Object.assign(handler, { drain: () => sessions.drain(), close }), 'health', { get: health }) as unknown as Handler
}

function internal(ctx: Context, request: Request, error: unknown): Problem {
  // Not decoded: a decoded path may have line breaks, and forge lines of the log.
  ctx.logger('headrace').error('%s %s failed: %s', request.method, new URL(request.url).pathname, error instanceof Error ? error.stack ?? error.message : messageOf(error))
  return new Problem(500, 'INTERNAL', 'something went wrong here; it is in the log of the server')
}

function authenticator(options: HandlerOptions): Authenticate {
  if ('authenticate' in options) return options.authenticate
  if ('users' in options) {
    checkUsers(options.users)
    const users = new Users(options.users)
    return (request) => users.of(request, new URL(request.url))
  }
  const { token } = options
  if (token === false) return () => OWNER
  if (!isToken(token)) throw new TypeError('http: token must be a text of 8 to 200 letters, digits and ._~+/-; or give users, or authenticate')
  const users = new Users({ [OWNER]: token })
  return (request) => users.of(request, new URL(request.url))
}

function checkSettings({ base, workspaces, origins, hosts }: HandlerSettings): void {
  if (base !== '' && !/^(\/[\w.~-]+)+$/.test(base)) throw new TypeError('http: base must be a path without a slash at its end, such as /agents')
  if (workspaces !== undefined && resolve(workspaces) !== workspaces) throw new TypeError('http: workspaces must be an absolute path')
  const wild = [...origins, ...hosts].find((name) => name.includes('*') || name === 'null')
  if (wild !== undefined) throw new TypeError(`http: ${JSON.stringify(wild)} is no name; hosts and origins are listed one by one`)
}

function pathIn(url: URL, base: string): string {
  if (base === '') return url.pathname
  return url.pathname.startsWith(`${base}/`) ? url.pathname.slice(base.length) : ''
}
