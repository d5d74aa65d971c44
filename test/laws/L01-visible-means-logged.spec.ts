import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Chunk, type Request, sha256 } from '@headrace/message'
import { MemoryStore, Session } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { app, bytesOf, eventsOf, expectRebuilds, plugin, system, textsOf, thrownBy, tool } from './help.ts'

const REFUSED = { code: 'REQUEST_NOT_LOGGED' }

const everything = plugin('everything', (ctx) => {
  ctx.agents.prefix({ key: 'opener', content: () => 'prefix' })
  ctx.agents.before({ key: 'frame', content: (_agent, turn) => `before, turn ${turn.number}` })
  ctx.agents.after({ key: 'fresh', content: (_agent, _turn, step) => `after, step ${step.number}` })
  ctx.system.section({ key: 'role', content: (agent) => `You are ${agent.id}.` })
  tool(ctx, 'look', () => 'seen')
  ctx.on('agent/pre-step', async (agent, _turn, step, next) => {
    agent.inject(`ahead of step ${step.number}`)
    return next()
  })
  ctx.on('agent/request', async (_agent, _turn, step, _config, next) => ({ ...await next(), temperature: step.number / 10 }))
  ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: ['after the batch'] }))
})

async function busy(): ReturnType<typeof app> {
  const made = await app({ script: [{ text: 'Let me look.', calls: [{ name: 'look' }, { name: 'look' }] }, 'Done.', 'A title.', { reasoning: 'hm', text: 'Again.' }], plugins: [everything] })
  await made.run('Fix it.')
  await made.agent.ask([{ role: 'user', content: 'A title, please.' }], { purpose: 'title', tools: 'none', config: { maxOutputTokens: 20 } })
  const image = await made.agent.putImage(Buffer.from('a picture'), 'image/png')
  await made.agent.prompt(['Look at this: ', image]).result
  return made
}

describe('L1 Visible means logged', () => {
  it('whatever reached the model is rebuilt, byte for byte, from the log alone', async () => {
    const made = await busy()
    expect(made.requests).toHaveLength(4)
    expect(textsOf(made.requests[1]!)).toContain('after the batch')
    await expectRebuilds(made)
  })

  it('by anyone, later, in another process', async () => {
    const { agent, requests, events, store } = await busy()
    await agent.dispose()
    const folder = mkdtempSync(join(tmpdir(), 'headrace-'))
    onTestFinished(() => removeFolder(folder))
    const file = join(folder, 'log.jsonl')
    writeFileSync(file, (await events()).map((event) => `${JSON.stringify(event)}\n`).join(''))
    const rebuilt = execFileSync(process.execPath, [fileURLToPath(new URL('rebuild-child.mjs', import.meta.url)), file], { encoding: 'utf8' })
    expect(rebuilt.trimEnd().split('\n')).toEqual(requests.map(bytesOf))
    expect(store).toBeInstanceOf(MemoryStore)
  })

  it('with the blobs that it names by digest', async () => {
    const { requests, events, store } = await busy()
    const named = [...JSON.stringify(await events()).matchAll(/"digest":"([0-9a-f]{64})","mediaType"/g)].map(([, digest]) => digest!)
    expect(new Set(named)).toEqual(new Set([sha256('a picture')]))
    expect(JSON.stringify(requests.at(-1)!.messages)).toContain(named[0])
    expect(Buffer.from((await store.getBlob('test', named[0]!))!).toString()).toBe('a picture')
  })

  it('a request that carries a session id and is in no log is refused', async () => {
    const { ctx, requests } = await app()
    expect(thrownBy(() => ctx.llm.stream(forged('test')))).toMatchObject(REFUSED)
    expect(thrownBy(() => ctx.llm.stream(forged('')))).toMatchObject(REFUSED)
    expect(requests).toHaveLength(0)
    for await (const chunk of ctx.llm.stream(forged())) expect(chunk).toBeDefined()
    expect(requests).toHaveLength(1)
  })

  it('so is a copy of a logged one, and one that left already', async () => {
    const tried: unknown[] = []
    const { ctx, run, requests } = await app({
      plugins: [plugin('copier', (ctx) => {
        ctx.on('llm/stream', (_agent, _turn, request, next) => {
          tried.push(thrownBy(() => ctx.llm.stream({ ...request })))
          return next()
        })
      })],
    })
    await run('Hi.')
    expect(tried).toMatchObject([REFUSED])
    expect(thrownBy(() => ctx.llm.stream(requests[0]!))).toMatchObject(REFUSED)
    expect(requests).toHaveLength(1)
  })

  it('and one whose attempt is over, though it never left', async () => {
    let kept: (() => AsyncIterable<Chunk>) | undefined
    const { run, requests } = await app({
      plugins: [plugin('replay', (ctx) => {
        ctx.on('llm/stream', async function* (_agent, _turn, _request, next) {
          kept = next
          yield { type: 'text', text: 'from memory' } as const
          yield { type: 'finish', reason: 'stop' } as const
        })
      })],
    })
    expect((await run('Hi.')).text).toBe('from memory')
    expect(thrownBy(() => kept!())).toMatchObject(REFUSED)
    expect(requests).toHaveLength(0)
  })

  it('a side request is one more entry in the log, and before the first step there is none to go by', async () => {
    const { agent, run, requests, events } = await app({ script: ['Hello.', 'A greeting.'] })
    await expect(agent.ask(['Title?'], { purpose: 'title' })).rejects.toMatchObject({ code: 'ASK_TOO_EARLY' })
    await run('Hi.')
    await agent.ask([system('Title?')], { purpose: 'title' })
    const [, side] = eventsOf(await events(), 'request/dispatch')
    expect(side).toMatchObject({ seq: requests[1]!.dispatch, data: { purpose: 'title', messages: [{ message: system('Title?') }] } })
    expect(eventsOf(await events(), 'request/end').at(-1)!.data.answer).toMatchObject({ content: [{ text: 'A greeting.' }] })
  })

  it('where memory and log disagree, the request does not leave', async () => {
    const session = await Session.create(new MemoryStore(), { id: 'a' }, { strict: true })
    session.append([
      { type: 'turn/start', data: { turn: 1, woke: 'wake' } },
      { type: 'step/start', data: { turn: 1, step: 1 } },
      () => session.headers.owed({ config: { model: 'p/m' }, owners: {} }),
    ])
    const wrong = session.append({ type: 'request/dispatch', data: { boundary: 2, history: '0'.repeat(64), digest: '0'.repeat(64) } })
    expect(thrownBy(() => session.checkDispatch(wrong))).toMatchObject({ code: 'LOG_DIFFERS' })
  })
})

function forged(session?: string): Request {
  const { signal } = new AbortController()
  return { ...(session !== undefined && { session }), config: { model: 'scripted/m' }, messages: [system('x')], owners: ['app'], segments: { prefix: 0, before: 0, history: 1, after: 0 }, signal }
}
