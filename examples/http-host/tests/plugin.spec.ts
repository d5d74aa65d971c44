import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as agentPlugin from '@headrace/agent'
import { type Lease, MemoryStore, StoreError } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { type Script, scriptedAdapter } from '@headrace/testing'
import { Context, type Fiber } from 'cordis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { HttpService, agentsHttp, frontPage } from '../src/index.ts'

const TOKEN = 'token-of-alice'
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }

let ctx: Context
let fiber: Fiber
let folder: string
let script: Script
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headrace-agents-http-'))
  script = () => 'ok'
  ctx = new Context()
  await ctx.plugin(HttpService, {})
  await ctx.plugin(frontPage)
  await ctx.plugin(agentPlugin, { strict: true })
  ctx.llm.adapter('scripted', scriptedAdapter((request, index) => (script as (...args: unknown[]) => string)(request, index)))
  ctx.agents.default({ model: 'scripted/model' })
  await load()
})
afterEach(async () => {
  await ctx.fiber.dispose()
  removeFolder(folder)
})

async function load(config: object = {}): Promise<void> {
  fiber = await ctx.plugin(agentsHttp, { users: { alice: TOKEN }, workspaces: join(folder, 'workspaces'), heartbeat: 10, ...config })
}

async function create(): Promise<string> {
  return (await (await fetch(`${ctx.http.url}/sessions`, { method: 'POST', headers })).json() as { id: string }).id
}

function turn(id: string): Promise<Response> {
  return fetch(`${ctx.http.url}/sessions/${id}/turns`, { method: 'POST', headers, body: JSON.stringify({ prompt: 'Go.' }) })
}

it('goes with its plugin: routes, streams and agents; what the app had before stays; loaded anew it knows its sessions', async () => {
  const id = await create()
  await (await turn(id)).text()
  const stream = await fetch(`${ctx.http.url}/sessions/${id}/events`, { headers })
  await fiber.dispose()
  expect(await stream.text()).toContain('turn/end')
  expect(ctx.agents.ids()).toEqual([])
  expect((await fetch(`${ctx.http.url}/health`)).status).toBe(404)
  expect(await (await fetch(ctx.http.url)).text()).toBe('An app.\n')
  await load()
  expect(await (await turn(id)).text()).toContain('"turn":2')
})

it('says that it lives while a turn is silent', async () => {
  let go: () => void = () => undefined
  script = () => new Promise<string>((resolve) => (go = () => resolve('at last'))) as never
  const reader = (await turn(await create())).body!.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes(':\n\n:\n\n')) text += decoder.decode((await reader.read()).value)
  go()
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value)
  expect(text).toMatch(/event: result\ndata: .*"text":"at last"/)
})

it('allows of what asks only what the config names; an agent of somebody else is none of its business', async () => {
  const ran: string[] = []
  for (const name of ['write', 'danger']) ctx.tools.define({ name, description: name, parameters: { type: 'object' }, ask: true, execute: () => { ran.push(name); return 'done' } })
  const both = { calls: [{ name: 'write' }, { name: 'danger' }] }
  script = ((request: { messages: readonly { role: string }[] }) => (request.messages.at(-1)!.role === 'tool' ? 'ok' : both)) as never
  await (await turn(await create())).text()
  expect(ran).toEqual(['write'])
  const other = await ctx.agents.create({ cwd: folder })
  await other.prompt('Go.').result
  expect(ran).toEqual(['write'])
})

it('gives a session back whose store failed: who asks again gets it anew', async () => {
  let fails = false
  class Failing extends MemoryStore {
    override async lease(id: string): Promise<Lease> {
      return failing(await super.lease(id))
    }

    override async create(id: string): Promise<Lease> {
      return failing(await super.create(id))
    }
  }
  const failing = (lease: Lease): Lease => ({ ...lease, flush: async () => {
    if (fails) throw new StoreError('the disk at /var/lib/host is full')
    return lease.flush()
  } })
  ctx.sessions.store(new Failing())
  const id = await create()
  await (await turn(id)).text()
  fails = true
  const refused = await turn(id)
  expect(refused.status).toBe(503)
  expect(await refused.text()).not.toContain('/var/lib')
  fails = false
  expect(await (await turn(id)).text()).toContain('event: result\ndata: {"reason":"done"')
})

it('signs a prompt as the user\'s', async () => {
  const id = await create()
  await (await turn(id)).text()
  expect(ctx.agents.get(id)!.session.entries()[0]).toMatchObject({ owner: 'user', message: { content: [{ text: 'Go.' }] } })
})
