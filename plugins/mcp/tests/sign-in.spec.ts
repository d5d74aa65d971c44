import { readFileSync, readdirSync, statSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Harness } from '@headrace/testing'
import { HttpWorld } from './http-server.ts'
import { World, calling, resultOf, setup, toolsOf } from './kit.ts'

let world: World
let server: HttpWorld
/** Tokens that count, by what they are for. */
const valid = { access: 'access-one', refresh: 'refresh-one' }
let registered: { redirect_uris?: string[] } = {}

beforeEach(async () => {
  world = new World()
  server = new HttpWorld()
  await server.open()
  server.guard = (request, response) => authority(request, response)
  Object.assign(valid, { access: 'access-one', refresh: 'refresh-one' })
  vi.stubEnv('XDG_STATE_HOME', join(world.base, 'state'))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.close()
  world.remove()
})

/** An authorization server in front of the MCP server: metadata, registration, a page that agrees at once, tokens. */
function authority(request: IncomingMessage, response: ServerResponse): boolean {
  const { pathname, origin, searchParams } = new URL(request.url!, new URL(server.url).origin)
  const json = (value: object, status = 200): boolean => Boolean(response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value)))
  const body = (use: (text: string) => void): boolean => {
    let text = ''
    request.on('data', (chunk) => (text += String(chunk))).on('end', () => use(text))
    return true
  }
  if (pathname.startsWith('/.well-known/oauth-protected-resource')) return json({ resource: server.url, authorization_servers: [origin] })
  if (pathname.startsWith('/.well-known/oauth-authorization-server')) {
    return json({
      issuer: origin, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, registration_endpoint: `${origin}/register`,
      response_types_supported: ['code'], code_challenge_methods_supported: ['S256'], grant_types_supported: ['authorization_code', 'refresh_token'],
    })
  }
  if (pathname === '/register') return body((text) => json({ ...(registered = JSON.parse(text) as object), client_id: 'client' }, 201))
  if (pathname === '/authorize') {
    const back = new URL(searchParams.get('redirect_uri')!)
    back.search = new URLSearchParams({ code: 'code', state: searchParams.get('state')! }).toString()
    return Boolean(response.writeHead(302, { location: back.href }).end())
  }
  if (pathname === '/token') {
    return body((text) => {
      const form = new URLSearchParams(text)
      const isRight = form.get('code') === 'code' || form.get('refresh_token') === valid.refresh
      json(isRight ? { access_token: valid.access, refresh_token: valid.refresh, token_type: 'Bearer', expires_in: 3600 } : { error: 'invalid_grant' }, isRight ? 200 : 400)
    })
  }
  if (pathname !== '/mcp' || request.headers.authorization === `Bearer ${valid.access}`) return false
  return Boolean(response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"` }).end())
}

/** The page that the user is sent to. */
async function page(h: Harness): Promise<string> {
  await expect.poll(() => h.ctx.mcp.servers()[0]!.problem).toMatch(/^it waits for you to sign in; open http/)
  return h.ctx.mcp.servers()[0]!.problem!.replace(/^.* open /, '')
}

it('a server that wants it gets a sign-in by the user\'s browser; its tokens are the user\'s alone, in no log, and serve the next process', async () => {
  const config = { mcpServers: { web: { url: server.url } } }
  const h = await setup(world, config, { script: calling('web__echo') })
  await h.run('Go')
  expect(toolsOf(h)[0]).toEqual([])
  const url = new URL(await page(h))
  expect(registered.redirect_uris).toEqual([url.searchParams.get('redirect_uri')])
  expect(url.searchParams.get('code_challenge_method')).toBe('S256')
  // Nobody else's answer counts.
  const callback = url.searchParams.get('redirect_uri')!
  expect((await fetch(`${callback}?code=code&state=guessed`)).status).toBe(404)
  expect(await (await fetch(url)).text()).toBe('Signed in. This page can be closed.\n')
  await expect.poll(() => h.ctx.mcp.servers()[0]!.state).toBe('ready')
  const folder = join(world.base, 'state/headrace/mcp')
  const [file, ...others] = readdirSync(folder)
  expect(others).toEqual([])
  expect(statSync(join(folder, file!)).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(JSON.parse(readFileSync(join(folder, file!), 'utf8'))).toMatchObject({ url: server.url, client: { client_id: 'client' }, tokens: { access_token: 'access-one' } })
  expect(JSON.stringify(await h.events())).not.toMatch(/access-one|refresh-one/)
  await h.dispose()
  // Another process; the access token is over, the refresh token is not.
  valid.access = 'access-two'
  const again = await setup(world, config, { script: calling('web__echo') })
  await again.run('Go')
  expect(resultOf(again)).toMatchObject({ text: 'Hi.', error: false })
  await again.dispose()
  // Nothing counts any more: the user is asked again.
  Object.assign(valid, { access: 'access-three', refresh: 'refresh-three' })
  const last = await setup(world, config)
  await last.run('Go')
  await fetch(await page(last))
  await expect.poll(() => last.ctx.mcp.servers()[0]!.state).toBe('ready')
  await last.dispose()
})

it('without it, or where nobody does it, the agent goes on', async () => {
  const h = await setup(world, { mcpServers: { web: { url: server.url, oauth: false }, wanted: { url: server.url } } })
  await h.run('Go')
  expect(toolsOf(h)[0]).toEqual([])
  expect(h.ctx.mcp.servers().map(({ state }) => state)).toEqual(['down', 'down'])
  await h.dispose()
})
