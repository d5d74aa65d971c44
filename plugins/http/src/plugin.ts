import type { Context } from 'cordis'
import { Config } from './config.ts'
import { createHandler } from './handler.ts'
import { type Access, LOOPBACK_HOSTS } from './options.ts'
import { tokenIn, tokenPath } from './safety/token-file.ts'
import { isLoopback } from './safety/tokens.ts'
import { listen } from './server.ts'

declare module 'cordis' {
  interface Events {
    /** The plugin `http` listens, at `http://127.0.0.1:8787`. */
    'http/listening'(url: string): void
  }
}

export { Config }
export const name = 'http'
export const inject = ['agents', 'desk', 'sessions']

/** Serves the app's sessions. @throws TypeError for a config that is wrong; Error where it cannot listen */
export async function apply(ctx: Context, given: Partial<Config> = {}): Promise<void> {
  const config = Config(given)
  const { host, port, closing, hosts, cwd = process.cwd(), token: _token, tokenFile: _file, users: _users, ...bounds } = config
  if (config.token === false && !isLoopback(host)) throw new TypeError(`http: ${host} can be reached from other machines, so it needs a token`)
  const log = ctx.logger('headrace')
  const { access, told } = await accessOf(config)
  const own = isLoopback(host) || host === '0.0.0.0' || host === '::' ? [] : [host.includes(':') ? `[${host}]` : host]
  const handler = createHandler(ctx, { ...bounds, ...access, cwd, hosts: [...LOOPBACK_HOSTS, ...own, ...hosts] })
  const server = await listen(handler, { host, port, closing })
  ctx.effect(() => async () => {
    await handler.drain()
    handler.close()
    await server.close()
  }, 'http server')
  log.info('listening at %s', server.url)
  await ctx.parallel('http/listening', server.url)
  if (told !== undefined) process.stderr.write(`http: ${told}\n`)
}

/** Who may ask, and what to tell of it once. */
async function accessOf({ token, tokenFile, users }: Config): Promise<{ readonly access: Access; readonly told?: string }> {
  if (users !== undefined) return { access: { users } }
  if (token !== undefined) return { access: { token } as Access }
  const path = tokenFile ?? tokenPath()
  const kept = await tokenIn(path)
  return { access: { token: kept.token }, ...(kept.made && { told: `the token of this server is ${kept.token}; it is kept in ${path}` }) }
}
