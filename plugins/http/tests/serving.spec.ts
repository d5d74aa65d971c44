import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import * as agentPlugin from '@headrace/agent'
import * as desk from '@headrace/desk'
import { scriptedAdapter } from '@headrace/testing'
import { testFolder } from '@headrace/testing/folder'
import { until } from '@headrace/testing/gate'
import { getRequestListener } from '@hono/node-server'
import { Context, type Fiber } from 'cordis'
import { Hono } from 'hono'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import * as http from '../src/index.ts'
import { type App, Stream, TOKEN, app, isTurnEnd } from './kit.ts'

/** Loads the plugin as an app does. */
async function load(
  config: Partial<http.Config>,
): Promise<{ readonly ctx: Context; readonly url: string; readonly fiber: Fiber; readonly said: string }> {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, { strict: true, quiet: true })
  ctx.llm.adapter('scripted', scriptedAdapter(['ok']))
  ctx.agents.default({ model: 'scripted/model' })
  await ctx.plugin(desk, {})
  let url = ''
  ctx.on('http/listening', (at) => void (url = at))
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const fiber = await ctx.plugin(http, { port: 0, grace: 100, closing: 100, ...config })
  const said = stderr.mock.calls.map(([text]) => String(text)).join('')
  stderr.mockRestore()
  onTestFinished(() => ctx.fiber.dispose())
  return { ctx, url, fiber, said }
}

describe('the plugin', () => {
  it('listens on this machine, with a token that it prints once and keeps for the next start', async () => {
    const tokenFile = join(testFolder(), 'http-token')
    const first = await load({ tokenFile })
    const token = readFileSync(tokenFile, 'utf8').trim()
    expect(first.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(first.said).toContain(token)
    const ask = (url: string): Promise<Response> => fetch(`${url}/sessions`, { headers: { authorization: `Bearer ${token}` } })
    expect(await (await ask(first.url)).json()).toEqual({ sessions: [] })
    expect((await fetch(`${first.url}/sessions`)).status).toBe(401)
    await first.fiber.dispose()
    await expect(ask(first.url)).rejects.toThrow()
    const second = await load({ tokenFile })
    expect(second.said).not.toContain(token)
    expect((await ask(second.url)).status).toBe(200)
  })

  it('refuses an address that others reach without a token', async () => {
    await expect(load({ host: '0.0.0.0', token: false })).rejects.toThrow(/needs a token/)
  })

  it('goes down in order: nothing new is taken, streams end, and what outlasts the grace is parked', async () => {
    const { ctx, url, fiber } = await load({ token: TOKEN })
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    ctx.llm.adapter('hanging', scriptedAdapter([{ text: 'x', hang: true }]))
    const { id } = await (await fetch(`${url}/sessions`, { method: 'POST', headers, body: '{"model":"hanging/model"}' })).json() as { id: string }
    const stream = new Stream(await fetch(`${url}/sessions/${id}/events`, { headers }))
    await fetch(`${url}/sessions/${id}/prompt`, { method: 'POST', headers, body: '{"prompt":"Go."}' })
    await stream.until(({ event }) => event === 'piece')
    const gone = fiber.dispose()
    await until(async () => (await fetch(`${url}/health`)).status === 503)
    const refused = await fetch(`${url}/sessions`, { method: 'POST', headers, body: '{}' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    await stream.all()
    await gone
    expect(stream.messages.some(isTurnEnd)).toBe(false)
    await expect(fetch(url)).rejects.toThrow()
  })
})

describe('a handler', () => {
  const read = async (url: string, headers = {}): Promise<unknown> => (await fetch(`${url}/agents/sessions`, { headers: { authorization: `Bearer ${TOKEN}`, ...headers } })).json()

  it('is mounted in Hono, and in Node beside what is there', async () => {
    const { handler } = await app({ options: { base: '/agents' } })
    const hono = new Hono()
    hono.get('/', (c) => c.text('An app.'))
    hono.all('/agents/*', (c) => handler(c.req.raw))
    const listeners = [getRequestListener((request) => hono.fetch(request)), getRequestListener((request) => handler(request))]
    const servers = listeners.map((listener) => createServer(listener as never))
    for (const server of servers) {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      onTestFinished(() => void server.close())
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      expect(await read(url)).toEqual({ sessions: [] })
      // `fetch` sets the name itself.
      const status = await new Promise((resolve) => {
        httpRequest(`${url}/agents/sessions`, { headers: { host: 'evil.example' } }, (response) => resolve(response.resume().statusCode)).end()
      })
      expect(status).toBe(403)
      server.closeAllConnections()
    }
  })

  it('is a route of Next.js: a function of a Request', async () => {
    const { handler } = await app({ options: { base: '/agents', hosts: ['app.example.com'] } })
    const [GET, headers] = [handler, { authorization: `Bearer ${TOKEN}`, host: 'app.example.com' }]
    const response = await GET(new Request('https://app.example.com/agents/sessions', { headers }), { params: Promise.resolve({}) } as never)
    expect(await response.json()).toEqual({ sessions: [] })
  })
})

describe('readers that take nothing', () => {
  const [size, steps] = [200_000, 60]
  const long = (stall: number, count = steps): Promise<App> => app({
    script: (_, index) => (index < count ? { text: 'x'.repeat(count === steps ? size : 3_900_000), pieces: 20, calls: [{ name: 'go' }] } : 'done'),
    options: { streamsPerUser: 100, stall, heartbeat: 50 },
    setup: (ctx) => void ctx.tools.define({ name: 'go', description: 'goes', parameters: { type: 'object' }, execute: () => 'on' }),
  })
  const ended = async ({ json }: App, id: string): Promise<void> => {
    await json('POST', `/sessions/${id}/prompt`, { prompt: 'Go.' })
    await until(async () => (await json<{ turn?: { reason?: string } }>('GET', `/sessions/${id}`)).body.turn?.reason === 'done')
  }

  it('hold nothing of what happens: 100 of them, while a turn says 12 MB', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const used = (): number => {
      collect()
      return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
    }
    const one = await long(600_000)
    const id = await one.create()
    const before = used()
    const readers = await Promise.all(Array.from({ length: 100 }, async () => {
      const reader = (await one.call('GET', `/sessions/${id}/events`)).body!.getReader()
      await reader.read()
      return reader
    }))
    expect((await one.json('GET', `/sessions/${id}/events`)).status).toBe(429)
    await ended(one, id)
    // The log itself is there twice, and once more what was sent to the model; a hundred copies of it would be 1,200 MB.
    expect(used() - before).toBeLessThan(8 * size * steps)
    for (const reader of readers) await reader.cancel()
  })
})
