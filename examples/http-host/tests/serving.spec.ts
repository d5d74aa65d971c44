import { connect } from 'node:net'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ModelServer, createModelServer } from '@headrace/model-server'
import { until } from '@headrace/testing/gate'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Client, type Message } from './client.ts'
import { Data, Host, KEY, TOKENS, expectNothingLeaked, heard } from './host.ts'
import { reply } from './model.ts'

let data: Data
let model: ModelServer
let host: Host
let alice: Client
let bob: Client
let carol: Client
beforeAll(async () => {
  data = new Data()
  model = await createModelServer((body) => reply(body), { apiKey: KEY })
  host = await Host.start(data, model.url, {
    turnsPerUser: 2,
    streamsPerUser: 3,
    maxBody: 10_000,
    maxPrompt: 1_000,
    heartbeat: 50,
  })
  alice = new Client(host, 'alice')
  bob = new Client(host, 'bob')
  carol = new Client(host, 'carol')
})
afterAll(async () => {
  await host.stop()
  await model.close()
  data.remove()
})
afterEach(expectNothingLeaked)

const isEnd = ({ data: said }: Message): boolean => (said as { type?: string }).type === 'turn/end'

type Body = string | Uint8Array<ArrayBuffer> | URLSearchParams
const json = { 'content-type': 'application/json' }

/** Sends bytes as they are, and gives what comes back until the server closes. */
function raw(bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(host.url)
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.setEncoding('utf8').on('data', (part: string) => { text += part }).on('error', reject).on('close', () => {
      heard(undefined, text)
      resolve(text)
    })
  })
}

describe('a turn', () => {
  it('streams to several users at once, each their own: pieces ahead of what they make up, events by seq, the result last', async () => {
    const turns = await Promise.all([alice, bob, carol].map(async (client) => {
      const stream = await client.turn(await client.create(), `call write ${client.user}.txt`)
      return { client, stream, result: await stream.result() }
    }))
    for (const { client, stream, result } of turns) {
      expect(result).toMatchObject({ reason: 'done', text: expect.stringMatching(/^results: Created/) as unknown })
      expect(readFileSync(join(data.workspace(client.user), `${client.user}.txt`), 'utf8')).toBe('written\n')
      expect(readdirSync(data.workspace(client.user))).toEqual([`${client.user}.txt`])
      const seqs = stream.events.map(({ seq }) => seq)
      expect(seqs).toEqual(seqs.map((_, index) => seqs[0]! + index))
      expect(stream.pieces('reasoning')).toBe('I call write.')
      expect(stream.pieces('text')).toBe(result.text)
      const order = stream.messages.map(({ event, data: said }) => (event === 'log' ? (said as { type: string }).type : event)).filter((kind, index, all) => kind !== all[index - 1])
      const [first, ...others] = order.flatMap((kind, index) => (kind === 'assistant/message' ? [index] : []))
      expect(order.indexOf('arguments')).toBeLessThan(first!)
      expect(order.indexOf('text')).toBeGreaterThan(order.indexOf('tool/result'))
      expect(order.indexOf('text')).toBeLessThan(others[0]!)
      expect(order.at(-1)).toBe('turn/end')
    }
  })

  it('goes on when its reader goes away; the rest is read from where that was', async () => {
    const id = await alice.create()
    const first = await alice.turn(id, 'slow the tide comes in and goes out')
    await first.until(({ event }) => event === 'text')
    const { id: cursor, data: event } = first.messages.findLast(({ event }) => event === 'log')!
    const last = (event as { seq: number }).seq
    first.leave()
    const second = await alice.events(id, '', { 'last-event-id': cursor! })
    await second.until(({ data: said }) => (said as { type?: string }).type === 'turn/end')
    second.leave()
    expect(second.events[0]!.seq).toBe(last + 1)
    expect(second.events.at(-1)!.data).toMatchObject({ reason: 'done' })
  })

  it('is cancelled by its user; then nothing runs, and the session takes the next prompt', async () => {
    const id = await alice.create()
    const stream = await alice.turn(id, 'hang')
    await stream.until(({ event }) => event === 'text')
    expect(await alice.cancel(id)).toBe(204)
    expect(await stream.result()).toMatchObject({ reason: 'cancelled', error: { code: 'CANCELLED' } })
    expect(await alice.cancel(id)).toBe(404)
    expect(await (await alice.turn(id, 'again')).result()).toMatchObject({ reason: 'done', text: 'you said: again' })
  })

  it('tells what went wrong without the key', async () => {
    const stream = await alice.turn(await alice.create(), 'fail')
    expect(await stream.result()).toMatchObject({ reason: 'error', error: { message: expect.stringContaining('Incorrect API key provided: [redacted]') as unknown } })
  })

  it('waits its turn in a session where another runs; beyond the limit of its user it is refused, while others go on', async () => {
    const id = await alice.create()
    const first = await alice.turn(id, 'hang')
    await first.until(({ event }) => event === 'text')
    const second = await alice.turn(id, 'second')
    expect((await host.health()).body).toMatchObject({ ready: true, draining: false, turns: 2 })
    expect(await alice.refusedPrompt(id, 'third')).toEqual({ status: 429, code: 'TOO_MANY_TURNS', retryAfter: '5' })
    expect(await alice.refusedPrompt(await alice.create(), 'third')).toMatchObject({ status: 429 })
    expect(await (await bob.turn(await bob.create(), 'mine')).result()).toMatchObject({ reason: 'done' })
    expect((await alice.list()).filter(({ state }) => state === 'running').map((session) => session.id)).toEqual([id])
    await alice.cancel(id)
    expect(await first.result()).toMatchObject({ reason: 'cancelled' })
    expect(await second.result()).toMatchObject({ reason: 'done', text: 'you said: second' })
    await until(async () => (await host.health()).body.turns === 0)
  })
})

describe('events', () => {
  it('are told again behind any cursor, and followed', async () => {
    const id = await alice.create()
    const all = await alice.turn(id, 'one')
    await all.result()
    const told = all.messages.filter(({ id: cursor }) => cursor !== undefined)
    const cursors = [...new Map(told.map(({ id: cursor, data: event }) => [cursor!, (event as { seq: number }).seq]))]
    for (const [cursor, seq] of cursors.slice(0, -1)) {
      const part = await alice.events(id, `?after=${cursor}`)
      await part.until(isEnd)
      part.leave()
      expect(part.events).toEqual(all.events.slice(seq + 1))
    }
  })

  it('are refused behind what is no cursor, and to more readers than a user may have', async () => {
    const id = await carol.create()
    for (const after of ['-1', '1.5', 'x', '1e3', '9'.repeat(20)]) expect(await carol.refused('GET', `/sessions/${id}/events?after=${after}`)).toMatchObject({ status: 400, code: 'CURSOR_INVALID' })
    expect(await carol.refused('GET', `/sessions/${id}/events`, { headers: { 'last-event-id': 'x' } })).toMatchObject({ status: 400 })
    const streams = await Promise.all([1, 2, 3].map(() => carol.events(id)))
    expect(await carol.refused('GET', `/sessions/${id}/events`)).toMatchObject({ status: 429, code: 'TOO_MANY_STREAMS', retryAfter: '5' })
    streams[0]!.leave()
    const again = await until(() => carol.events(id))
    for (const stream of [...streams, again]) stream.leave()
  })

  it('take no stream for a reader that asks for the head only', async () => {
    const id = await carol.create()
    for (const _ of [1, 2, 3, 4]) {
      const { status, headers } = await carol.request('HEAD', `/sessions/${id}/events`)
      expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    }
    const stream = await carol.events(id)
    await stream.until(({ event }) => event === 'log')
    stream.leave()
  })
})

describe('isolation', () => {
  it('another user\'s session and none at all are the same: 404, in every way to ask', async () => {
    const id = await alice.create()
    await (await alice.turn(id, 'a secret of mine')).result()
    const none = `alice.${'0'.repeat(32)}`
    const answers = await Promise.all([id, none].map(async (session) => ({
      turns: await bob.refusedPrompt(session, 'tell me'),
      events: await bob.refused('GET', `/sessions/${session}/events`),
      cancel: await bob.refused('POST', `/sessions/${session}/cancel`, { body: '{}', headers: json }),
    })))
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]).toEqual({ turns: expect.objectContaining({ status: 404, code: 'SESSION_NOT_FOUND' }) as unknown, events: answers[0]!.turns, cancel: answers[0]!.turns })
    expect(await alice.refusedPrompt(none, 'mine')).toEqual(answers[0]!.turns)
    const mine = await bob.create()
    expect((await bob.list()).map((session) => session.id)).toContain(mine)
    expect((await bob.list()).filter((session) => !session.id.startsWith('bob.'))).toEqual([])
    expect(id).toMatch(/^alice\.[0-9a-f]{32}$/)
  })

  it.each(['..%2f..%2fetc', 'bob.%00', '.', 'bob.', `bob.${'a'.repeat(500)}`, 'bob.%2e%2e%2fsessions', 'con', '%F0%9F%98%80', 'bob.%ZZ', ...['%0a', '..%2f..%2falice', 'a'.repeat(200), '%ff'].map((part) => `bob.${part}.${'a'.repeat(32)}`)])('the id %s is none of a user\'s', async (id) => {
    expect(await bob.refused('GET', `/sessions/${id}/events`)).toMatchObject({ status: 404 })
  })

  it('without a token that is known nothing is told', async () => {
    const id = await alice.create()
    for (const authorization of ['', 'Bearer', 'Bearer wrong', `Basic ${TOKENS.alice}`, `Bearer ${TOKENS.alice}x`, `Bearer ${TOKENS.alice} x`, TOKENS.alice]) {
      for (const [method, path] of [['GET', '/sessions'], ['POST', '/sessions'], ['POST', `/sessions/${id}/prompt`], ['GET', `/sessions/${id}/events`], ['POST', `/sessions/${id}/cancel`]] as const) {
        expect(await alice.refused(method, path, { headers: { authorization } })).toMatchObject({ status: 401, code: 'UNAUTHORIZED' })
      }
    }
  })

  it('tools stay in the folder of their user', async () => {
    mkdirSync(data.workspace('bob'), { recursive: true })
    writeFileSync(join(data.workspace('bob'), 'secret.txt'), 'the treasure of b0b\n')
    const id = await alice.create()
    const paths = ['../bob/secret.txt', `${data.root}/workspaces/./bob/secret.txt`, '../../sessions', '/etc/passwd', 'x/../../bob/secret.txt']
    for (const tool of ['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash']) {
      const stream = await alice.turn(id, `call ${tool} ${paths.join(' ')}`)
      const { text } = await stream.result()
      expect(text.split(' | ')).toHaveLength(paths.length)
      expect(stream.events.flatMap((event) => (event.type === 'tool/result' ? [event.data.outcome] : [])).slice(-paths.length)).toEqual(paths.map(() => 'error'))
      expect(JSON.stringify(stream.messages)).not.toMatch(/the treasure|root:/)
    }
    expect(readFileSync(join(data.workspace('bob'), 'secret.txt'), 'utf8')).toBe('the treasure of b0b\n')
    expect(readdirSync(data.workspace('bob')).sort()).toEqual(['bob.txt', 'secret.txt'])
  })

  it('a model is told of its own user only', () => {
    for (const { raw: body } of model.requests) {
      const others = Object.keys(TOKENS).filter((user) => body.includes(`working directory: ${data.workspace(user as never)}`))
      // None where a compaction took the environment away.
      expect(others.length).toBeLessThan(2)
    }
  })
})

describe('what comes in', () => {
  const post = (body: Body, headers: Record<string, string> = json): ReturnType<Client['refused']> => alice.refused('POST', `/sessions/${aliceId}/prompt`, { body, headers })
  let aliceId: string
  beforeAll(async () => { aliceId = await alice.create() })

  it.each<[string, Body, number, string, Record<string, string>?]>([
    ['no JSON', '{"prompt":', 400, 'BODY_INVALID'],
    ['nothing', '', 400, 'BODY_INVALID'],
    ['another value', '["prompt"]', 400, 'BODY_INVALID'],
    ['null', 'null', 400, 'BODY_INVALID'],
    ['a prompt that is no text', '{"prompt":1}', 400, 'BODY_INVALID'],
    ['a key too many', '{"prompt":"x","cwd":"/"}', 400, 'BODY_INVALID'],
    ['a prototype', '{"__proto__":{"prompt":"x"}}', 400, 'BODY_INVALID'],
    ['half of a surrogate pair', '{"prompt":"x\\ud800"}', 400, 'BODY_INVALID'],
    ['no UTF-8', new Uint8Array([...Buffer.from('{"prompt":"'), 0xff, 0xfe, 0x22, 0x7d]), 400, 'BODY_INVALID'],
    ['blank', '{"prompt":" \\n\\t"}', 400, 'PROMPT_EMPTY'],
    ['a prompt that is too long', JSON.stringify({ prompt: 'x'.repeat(1_001) }), 413, 'PROMPT_LARGE'],
    ['a body that is too long', JSON.stringify({ prompt: 'x'.repeat(10_001) }), 413, 'BODY_LARGE'],
    ['a body of another type', '{"prompt":"x"}', 415, 'NOT_JSON', { 'content-type': 'text/plain' }],
    ['a form', new URLSearchParams({ prompt: 'x' }), 415, 'NOT_JSON', {}],
  ])('is refused where it is %s', async (_, body, status, code, headers) => {
    expect(await post(body, headers ?? json)).toMatchObject({ status, code })
  })

  it('is refused as soon as it is too long, whatever it says of its length', async () => {
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    const answer = await raw(`POST /sessions/${aliceId}/prompt HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKENS.alice}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk}0\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*BODY_LARGE/)
  })

  it.each([
    ['headers beyond measure', `GET /sessions HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(17_000)}\r\n\r\n`, 431],
    ['no HTTP', 'EHLO example.com\r\n\r\n', 400],
    ['a host that is none', 'GET /sessions HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
  ])('is refused where it is %s', async (_, bytes, status) => {
    expect(await raw(bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  })

  it('may hold what JSON can hold, and is told as it is', async () => {
    const prompt = 'two\r\nlines: \u0000 \u2028 \u{1f600} data: x\n\nid: 7'
    const stream = await alice.turn(aliceId, prompt)
    expect(await stream.result()).toMatchObject({ reason: 'done', text: `you said: ${prompt}` })
  })

  it('is not found elsewhere; what the app had before is there as it was', async () => {
    expect(await alice.refused('GET', '/nothing')).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect(await alice.refused('PUT', '/sessions')).toMatchObject({ status: 405 })
    expect(await (await fetch(host.url)).text()).toBe('An app.\n')
    expect(await (await fetch(`${host.url}/health/live`)).json()).toEqual({ live: true })
  })

  it('has left nothing in the log of the host', () => {
    expect(host.err.split('\n').slice(1)).toEqual([''])
  })
})
