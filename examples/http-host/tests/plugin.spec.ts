import * as agentPlugin from '@headrace/agent'
import * as desk from '@headrace/desk'
import { scriptedAdapter } from '@headrace/testing'
import { testFolder } from '@headrace/testing/folder'
import { until } from '@headrace/testing/gate'
import { Context } from 'cordis'
import { expect, it, onTestFinished } from 'vitest'
import { HttpService, agentsHttp, frontPage } from '../src/index.ts'

const headers = { authorization: 'Bearer token-of-alice', 'content-type': 'application/json' }

it('goes with its plugin: routes and streams; what the app had before stays; loaded anew it knows its sessions', async () => {
  const ctx = new Context()
  onTestFinished(() => ctx.fiber.dispose())
  await ctx.plugin(HttpService, { closing: 100 })
  await ctx.plugin(frontPage)
  await ctx.plugin(agentPlugin, { strict: true })
  ctx.llm.adapter('scripted', scriptedAdapter(['ok']))
  ctx.agents.default({ model: 'scripted/model' })
  await ctx.plugin(desk, {})
  const config = { users: { alice: 'token-of-alice' }, workspaces: testFolder(), heartbeat: 10 }
  const fiber = await ctx.plugin(agentsHttp, config)
  const { id } = await (await fetch(`${ctx.http.url}/sessions`, { method: 'POST', headers, body: '{}' })).json() as { id: string }
  const prompt = (): Promise<Response> => fetch(`${ctx.http.url}/sessions/${id}/prompt`, { method: 'POST', headers, body: '{"prompt":"Go."}' })
  const turn = async (): Promise<unknown> => (await (await fetch(`${ctx.http.url}/sessions/${id}`, { headers })).json() as { turn?: unknown }).turn
  expect((await prompt()).status).toBe(202)
  await until(async () => JSON.stringify(await turn()) === '{"number":1,"reason":"done"}')
  expect(ctx.agents.get(id)!.session.entries()[0]).toMatchObject({ owner: 'user', message: { content: [{ text: 'Go.' }] } })
  const stream = await fetch(`${ctx.http.url}/sessions/${id}/events`, { headers })
  await fiber.dispose()
  expect(await stream.text()).toContain('turn/end')
  expect((await fetch(`${ctx.http.url}/health`)).status).toBe(404)
  expect(await (await fetch(ctx.http.url)).text()).toBe('An app.\n')
  await ctx.plugin(agentsHttp, config)
  expect((await prompt()).status).toBe(202)
  await until(async () => JSON.stringify(await turn()) === '{"number":2,"reason":"done"}')
})
