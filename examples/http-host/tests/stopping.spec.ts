import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { verify } from '@headrace/session'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { type ModelServer, createModelServer } from '@headrace/model-server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '@headrace/testing/gate'
import { Client, type Message } from './client.ts'
import { Data, Host, KEY, type User, expectNothingLeaked } from './host.ts'
import { reply } from './model.ts'

let data: Data
let model: ModelServer
const hosts: Host[] = []
beforeEach(async () => {
  data = new Data()
  const seen = new Set<string>()
  model = await createModelServer((body) => reply(body, seen), { apiKey: KEY })
})
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.stop()
  await model.close()
  data.remove()
  expectNothingLeaked()
})

async function start(
  options: Parameters<typeof Host.start>[2] = {}, env: NodeJS.ProcessEnv = {},
): Promise<{ readonly host: Host; readonly as: (user: User) => Client }> {
  const host = await Host.start(data, model.url, options, env)
  hosts.push(host)
  return { host, as: (user) => new Client(host, user) }
}

const isEnd = ({ data: said }: Message): boolean => (said as { type?: string }).type === 'turn/end'
const locks = (): string[] => readdirSync(data.sessions).filter((name) => name.endsWith('.lock'))

/** Every request of a session's log rebuilds. */
async function expectVerified(id: string): Promise<void> {
  const events = []
  for await (const batch of new JsonlStore({ directory: data.sessions, fsync: 'never' }).load(id)) events.push(...batch)
  expect(verify(events)).not.toHaveProperty('difference')
}

it('a port that is taken is one line that says the way out', async () => {
  const { host } = await start()
  const second = Host.run({ HOST_PORT: new URL(host.url).port, HOST_DATA: join(data.root, 'second') })
  await expect(second).rejects.toThrow(/^it ended with 1: http-host: listen EADDRINUSE: .*; say another port with HOST_PORT\n$/)
})

describe('SIGTERM', () => {
  it('lets a turn finish within the grace: nothing new is taken, health says so, and it exits with 0', async () => {
    const { host, as } = await start()
    const id = await as('alice').create()
    const stream = await as('alice').turn(id, `slow ${'the tide goes out '.repeat(5)}`)
    await stream.until(({ event }) => event === 'text')
    host.kill('SIGTERM')
    await until(async () => (await host.health()).body.draining)
    expect(await host.health()).toMatchObject({ status: 503, body: { ready: false, draining: true, turns: 1 } })
    expect((await fetch(`${host.url}/health/live`)).status).toBe(200)
    expect(await as('alice').refusedPrompt(id, 'more')).toEqual({ status: 503, code: 'DRAINING', retryAfter: '2' })
    expect(await as('bob').refused('POST', '/sessions')).toMatchObject({ status: 503, code: 'DRAINING' })
    expect(await stream.result()).toMatchObject({ reason: 'done' })
    expect(await host.exit()).toBe(0)
    expect(locks()).toEqual([])
    await expect(fetch(host.url)).rejects.toThrow()
  })

  it('parks what outlasts the grace and gives its session back; the next process finishes it with the same request, for whoever reads on', async () => {
    const first = await start({ grace: 100 })
    const id = await first.as('alice').create()
    const stream = await first.as('alice').turn(id, 'once upon a time')
    const reader = await first.as('alice').events(id)
    await stream.until(({ event }) => event === 'text')
    const queued = await first.as('alice').turn(id, 'and then')
    first.host.kill('SIGTERM')
    expect(await stream.result()).toMatchObject({ reason: 'parked' })
    expect(await queued.result()).toMatchObject({ reason: 'parked' })
    await reader.all()
    expect(await first.host.exit()).toBe(0)
    expect(locks()).toEqual([])
    const last = reader.events.at(-1)!.seq
    const cursor = reader.messages.findLast(({ id: told }) => told !== undefined)!.id!

    const { as } = await start()
    const next = await as('alice').events(id, '', { 'last-event-id': cursor })
    const ends: Message[] = []
    await next.until((message) => isEnd(message) && ends.push(message) === 2)
    next.leave()
    expect(next.events[0]!.seq).toBe(last + 1)
    expect(ends.map(({ data: said }) => said)).toMatchObject([{ data: { turn: 1, reason: 'done' } }, { data: { turn: 2, reason: 'done' } }])
    expect(next.pieces('text')).toBe('at last: upon a timeyou said: and then')
    expect(model.requests[1]!.raw).toBe(model.requests[0]!.raw)
    await expectVerified(id)
  })

  it('leaves at once when it comes twice', async () => {
    const { host, as } = await start({ grace: 600_000 })
    const stream = await as('alice').turn(await as('alice').create(), 'hang')
    await stream.until(({ event }) => event === 'text')
    host.kill('SIGTERM')
    await until(async () => (await host.health()).body.draining)
    host.kill('SIGINT')
    expect(await host.exit()).toBe(1)
  })

  it('ends streams that nobody closes', async () => {
    const { host, as } = await start()
    const reader = await as('alice').events(await as('alice').create())
    await reader.until(({ event }) => event === 'log')
    host.kill('SIGTERM')
    await reader.all()
    expect(await host.exit()).toBe(0)
  })
})

describe('a restart', () => {
  it('after a kill finishes what was begun, for whoever asks, and keeps what was there', async () => {
    const first = await start()
    const [alice, bob] = [first.as('alice'), first.as('bob')]
    const [mine, yours] = [await alice.create(), await bob.create()]
    await (await bob.turn(yours, 'before')).result()
    const stream = await alice.turn(mine, 'once upon a time')
    await stream.until(({ event }) => event === 'text')
    const cursor = stream.messages.findLast(({ id }) => id !== undefined)!.id!
    first.host.kill('SIGKILL')
    expect(await first.host.exit()).toBe('SIGKILL')

    const { as } = await start()
    expect((await as('alice').list()).map(({ id }) => id)).toEqual([mine])
    const next = await as('alice').events(mine, `?after=${cursor}`)
    expect((await next.until(isEnd)).data).toMatchObject({ data: { turn: 1, reason: 'done' } })
    next.leave()
    expect(await (await as('bob').turn(yours, 'after')).result()).toMatchObject({ reason: 'done', text: 'you said: after' })
    expect(model.requests.at(-1)!.raw).toContain('you said: before')
    expect(await as('bob').refusedPrompt(mine, 'mine?')).toMatchObject({ status: 404 })
    await Promise.all([expectVerified(mine), expectVerified(yours)])
  })

  it('is not needed to give a session to another process: one that nobody uses is given back, and resumed when it is asked for', async () => {
    const { host, as } = await start({}, { HOST_IDLE: '0.005' })
    const alice = as('alice')
    const id = await alice.create()
    await (await alice.turn(id, 'one')).result()
    await until(async () => (await host.health()).body.sessions === 0)
    await until(() => locks().length === 0)
    const other = await start()
    expect(await (await other.as('alice').turn(id, 'two')).result()).toMatchObject({ text: 'you said: two' })
    // Where another process has the session, what its user says is posted there.
    expect(await (await alice.turn(id, 'three')).result()).toMatchObject({ text: 'you said: three' })
  })

  it('under many who ask at once opens a session once', async () => {
    const first = await start()
    const id = await first.as('alice').create()
    first.host.kill('SIGTERM')
    expect(await first.host.exit()).toBe(0)
    const { as } = await start({ turnsPerUser: 10 })
    const streams = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((text) => as('alice').turn(id, text)))
    const results = await Promise.all(streams.map((stream) => stream.result()))
    expect(results.map(({ text }) => text)).toEqual(['a', 'b', 'c', 'd', 'e'].map((text) => `you said: ${text}`))
  })
})

describe('what is set wrong', () => {
  const env = (more: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ HOST_PORT: '0', HOST_DATA: data.root, HEADRACE_MODEL: 'scripted', HEADRACE_BASE_URL: model.url, ...more })

  it.each([
    ['no users', {}, /HOST_USERS must give each user a token/],
    ['a user that would be a path', { HOST_USERS: '../x=token-of-x-1f3a' }, /"\.\.\/x" cannot be a user/],
    ['a token that is too short', { HOST_USERS: 'alice=s3cret' }, /the token of user alice must be/],
    ['two users with one token', { HOST_USERS: 'alice=s3cret-s3cret,bob=s3cret-s3cret' }, /two users have the same token/],
    ['options that are no JSON', { HOST_USERS: 'alice=token-of-alice', HOST_OPTIONS: '{' }, /HOST_OPTIONS must be JSON/],
    ['a port that is none', { HOST_USERS: 'alice=token-of-alice', HOST_PORT: 'x' }, /HOST_PORT must be a number/],
  ])('%s: it says so without the token, and exits with 1', async (_, more, message) => {
    const error = await Host.run(env(more)).then(() => undefined, (problem: Error) => problem)
    expect(error!.message).toMatch(message)
    expect(error!.message).toMatch(/^it ended with 1: (?:[^]*\n)?http-host: .*\n$/)
    expect(error!.message).not.toContain('s3cret')
    expect(existsSync(join(data.root, 'sessions'))).toBe(false)
  })
})

it('keeps folders for their owner only', async () => {
  const { as } = await start()
  await (await as('alice').turn(await as('alice').create(), 'call write a.txt')).result()
  expect(readFileSync(join(data.workspace('alice'), 'a.txt'), 'utf8')).toBe('written\n')
  expect(statSync(data.workspace('alice')).mode & 0o777).toBe(0o700)
})
