import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agent } from '@headrace/agent'
import type { Digest, Request } from '@headrace/message'
import { type Call, type ModelServer, type Reply, createModelServer, lastUser, overflow, rateLimit, toolResults, turnOf } from '@headrace/model-server'
import { readLog } from '@headrace/plugin-store-jsonl'
import { type SessionEvent, rebuild, verify } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { until } from '@headrace/testing/gate'
import { Context } from 'cordis'
import headrace from 'headrace'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Ended, Lab } from '../../packages/headrace/tests/command.ts'
import { RULES } from '../../packages/wire/tests/rules.ts'

let root: string
let server: ModelServer
const apps: Context[] = []

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-wire-'))
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(root, name), `${name} says hello\n`)
  server = await createModelServer(script)
})

afterEach(async () => {
  for (const app of apps.splice(0)) await app.fiber.dispose()
  await server.close()
  removeFolder(root)
})

/** Failures that happen once each: a turn goes on behind them. */
const failed = new Set<string>()
beforeEach(() => failed.clear())
const once = (word: string, call: Call): boolean => {
  const key = `${call.request.path} ${word}`
  return !failed.has(key) && Boolean(failed.add(key))
}

/** A model that does what it is told to. */
function script(body: Parameters<typeof toolResults>[0], call: Call): Reply | string {
  const word = lastUser(body)
  if (toolResults(body, { prompt: /./ }).length > 0) return { reasoning: 'Both say it.', text: 'They say hello.' }
  if (word === 'read') return { reasoning: 'I read both.', text: 'I look.', toolCalls: ['a.txt', 'b.txt'].map((path) => ({ name: 'read', arguments: { path } })) }
  if (word === 'hang') return { reasoning: 'I think and think and think', stallAfter: 1 }
  if (word === 'cut' && once(word, call)) return { reasoning: 'Hm.', text: 'This is cut in the middle of', breakAfter: 2 }
  if (word === 'wait' && once(word, call)) return rateLimit(5)
  if (word === 'overflow' && once(word, call)) return overflow(body, 2_000)
  return { reasoning: 'It is easy.', text: `Turn ${turnOf(body).number}.` }
}

/** The four protocols at the server, each under a name of its provider. */
async function app(): Promise<Context> {
  const ctx = new Context()
  apps.push(ctx)
  await ctx.plugin(headrace, configOf(server.url))
  return ctx
}

function configOf(url: string): Parameters<typeof headrace.apply>[1] {
  const providers = { openai: { baseURL: url, protocol: 'openai-responses' as const }, anthropic: { baseURL: url }, google: { baseURL: url }, deepseek: { baseURL: url } }
  return { store: { directory: join(root, 'logs'), fsync: 'never' }, providers, retry: { base: 1 }, skills: false, agentsMd: false }
}

const MODELS = { openai: 'openai/gpt-5', anthropic: 'anthropic/claude-sonnet-4-5', google: 'google/gemini-3-pro', deepseek: 'deepseek/deepseek-flash' } as const
const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

async function cancelled(agent: Agent): Promise<void> {
  const sent = server.requests.length
  const handle = agent.prompt('hang')
  await until(() => server.requests.length > sent)
  handle.cancel()
  expect((await handle.result).reason).toBe('cancelled')
}

/** Every body that reached the server is one that its provider's published rules accept. */
function accepted(): void {
  expect(server.refused).toEqual([])
  for (const { path, raw } of server.requests) {
    const body: unknown = JSON.parse(raw)
    const problems = path.includes('/responses') ? RULES.responses(body) : path.includes('/messages') ? RULES.anthropic(body)
      : path.includes(':stream') ? RULES.google(body, { signed: path.includes('gemini-3') }) : RULES.chat(body)
    expect([path, problems]).toEqual([path, []])
  }
}

/** Every body is made again in an app that never saw the session, and is the one that left. */
async function provenOnTheWire(id: string): Promise<number> {
  const events: SessionEvent[] = []
  for await (const batch of readLog(join(root, 'logs', `${id}.jsonl`))) events.push(...batch)
  expect(verify(events).difference).toBeUndefined()
  const ctx = await app()
  const ends = events.flatMap((event) => event.type === 'request/end' && event.data.wire !== undefined ? [event.data] : [])
  for (const { dispatch, wire, adapter } of ends) {
    const request = { ...rebuild(events, dispatch), signal: new AbortController().signal } as Request
    const made = await ctx.llm.wire(request, (digest: Digest) => ctx.sessions.current.getBlob(id, digest))
    expect([dispatch, made]).toEqual([dispatch, { digest: wire, adapter }])
  }
  return ends.length
}

/** Another process goes on with it, then a third proves it: every request, and every body of all four families. */
async function provenElsewhere(id: string): Promise<void> {
  const lab = new Lab()
  const [file, directory] = [join(root, 'app.yml'), join(root, 'logs')]
  writeFileSync(file, JSON.stringify([{ name: 'headrace', config: configOf(server.url) }]))
  const run = async (...args: string[]): Promise<Ended> => lab.start(args, { cwd: root }).ended
  expect(await run('run', 'read', '--session', id, '--app', file)).toMatchObject({ code: 0, out: expect.stringMatching(/They say hello\.\n$/) })
  expect(await run('verify', id, '--store', `jsonl:${directory}`)).toMatchObject({ code: 0, out: expect.stringMatching(/^ok: /) })
  const wired = await run('verify', id, '--wire', '--app', file, '--store', `jsonl:${directory}`)
  expect(wired).toMatchObject({ code: 0, out: expect.stringMatching(/^[12]\d equal, 0 differ, 0 not comparable/) })
  await lab.close()
}

describe.each(Object.keys(MODELS) as (keyof typeof MODELS)[])('ten turns that begin with %s', (family) => {
  it('with parallel calls, an image, a cancel, a cut stream, a limit, an overflow, and each other family in between', async () => {
    const ctx = await app()
    const agent = await ctx.agents.create({ cwd: root, model: MODELS[family], config: { reasoningEffort: 'low' } })
    const said = async (input: Parameters<Agent['prompt']>[0], model?: string): Promise<void> => {
      if (model !== undefined) agent.configure({ model })
      expect(await agent.prompt(input).result).toMatchObject({ reason: 'done' })
    }
    await said('read')
    await cancelled(agent)
    await said([await agent.putImage(PIXEL, 'image/png'), 'look'])
    await said('cut')
    for (const other of Object.keys(MODELS) as (keyof typeof MODELS)[]) if (other !== family) await said('read', MODELS[other])
    await said('wait', MODELS[family])
    await said('overflow')
    await said('read')
    accepted()
    const { id } = agent
    await agent.dispose()
    expect(await provenOnTheWire(id)).toBeGreaterThan(14)
    // Children cost: the session of one family has the bodies of all.
    if (family === 'google') await provenElsewhere(id)
  })
})
