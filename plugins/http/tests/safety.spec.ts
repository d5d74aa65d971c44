import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { problemsOf } from '@headrace/config'
import { testFolder } from '@headrace/testing/folder'
import { Context } from 'cordis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Config, createHandler } from '../src/index.ts'
import { tokenIn } from '../src/safety/token-file.ts'
import { Stream, TOKEN, app } from './kit.ts'

const PAGE = 'https://app.example.com'

/** Sends bytes as they are, and gives what comes back until the server closes. */
function raw(url: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.setEncoding('utf8').on('data', (part: string) => { text += part }).on('error', reject).on('close', () => resolve(text))
  })
}

describe('a name', () => {
  it.each(['evil.example', 'evil.example:8787', 'localhost.evil.example', '127.0.0.1.nip.io', '127.0.0.1@evil.example', '', '[::2]:80'])(
    'that is made to point here is refused: Host: %s', async (host) => {
      const { json } = await app()
      for (const path of ['/sessions', '/health', '/chat/x/stream']) {
        expect(await json('GET', path, undefined, { host })).toMatchObject({ status: 403, body: { error: { code: 'HOST_REFUSED' } } })
      }
    })

  it('is that of this machine, at any port, or one that is listed', async () => {
    const { json } = await app({ options: { hosts: ['localhost', '127.0.0.1', '[::1]', 'agents.example.com:8443'] } })
    for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1:8787', '[::1]:9', 'agents.example.com:8443']) expect((await json('GET', '/sessions', undefined, { host })).status).toBe(200)
    expect((await json('GET', '/sessions', undefined, { host: 'agents.example.com' })).status).toBe(403)
  })

  it('is looked at in what a socket sends, too', async () => {
    const { listen } = await app()
    const { url } = await listen()
    expect(await raw(url, `GET /sessions HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 403 [^]*HOST_REFUSED/)
    expect(await raw(url, `GET /sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('a page', () => {
  it.each(['null', 'https://evil.example', 'http://localhost:5173', 'https://app.example.com.evil.example', 'http://app.example.com', `${PAGE}:8443`, PAGE.toUpperCase()])(
    'of another origin is refused, and may read nothing: %s', async (origin) => {
      const { call } = await app({ options: { origins: [PAGE] } })
      for (const method of ['GET', 'OPTIONS']) {
        const response = await call(method, '/sessions', undefined, { origin, host: '127.0.0.1:8787' })
        expect(response.status).toBe(403)
        expect(response.headers.get('access-control-allow-origin')).toBeNull()
      }
    })

  it('that is listed may ask, after a preflight; what it may read is for it alone', async () => {
    const { call } = await app({ options: { origins: [PAGE] } })
    const preflight = await call('OPTIONS', '/sessions/x/prompt', undefined, { origin: PAGE, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type,idempotency-key' })
    expect(preflight.status).toBe(204)
    expect(Object.fromEntries(preflight.headers)).toMatchObject({ 'access-control-allow-origin': PAGE, 'access-control-allow-methods': 'GET, POST, DELETE', vary: 'Origin' })
    expect(preflight.headers.get('access-control-allow-headers')).toContain('idempotency-key')
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
    const response = await call('GET', '/sessions', undefined, { origin: PAGE })
    expect([response.status, response.headers.get('access-control-allow-origin'), response.headers.get('vary')]).toEqual([200, PAGE, 'Origin'])
    const refused = await call('GET', '/sessions', undefined, { origin: PAGE, authorization: 'Bearer wrong-token' })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, PAGE])
  })

  it('of this server itself may ask; a simple request that another made a browser send may not', async () => {
    const { call } = await app()
    expect((await call('GET', '/sessions', undefined, { host: 'localhost:8787', origin: 'http://localhost:8787' })).status).toBe(200)
    for (const site of ['cross-site', 'same-site']) expect((await call('GET', '/sessions', undefined, { 'sec-fetch-site': site })).status).toBe(403)
    for (const site of ['same-origin', 'none']) expect((await call('GET', '/sessions', undefined, { 'sec-fetch-site': site })).status).toBe(200)
    expect((await call('POST', '/chat', '{}', { 'content-type': 'text/plain' })).status).toBe(415)
  })

  it('of any origin is no choice', () => {
    for (const options of [{ origins: ['*'] }, { origins: ['https://*.example.com'] }, { origins: ['null'] }, { hosts: ['*'] }]) {
      expect(() => createHandler(new Context(), { token: TOKEN, ...options })).toThrow(/listed one by one/)
    }
  })
})

describe('a token', () => {
  it('is asked for on every route but health, and never told', async () => {
    const { call, create } = await app()
    const id = await create()
    const routes = [
      ['GET', '/sessions'], ['POST', '/sessions'], ['GET', `/sessions/${id}`], ['DELETE', `/sessions/${id}`], ['GET', `/sessions/${id}/events`], ['GET', `/sessions/${id}/items`],
      ...['prompt', 'steer', 'cancel', 'answer'].map((what) => ['POST', `/sessions/${id}/${what}`] as const),
      ['POST', '/chat'], ['GET', `/chat/${id}/stream`], ['GET', `/chat/${id}/messages`], ['POST', `/chat/${id}/stop`],
    ] as const
    for (const authorization of ['', 'Bearer', 'Bearer wrong', `Basic ${TOKEN}`, `Bearer ${TOKEN}x`, `Bearer ${TOKEN} x`, TOKEN]) {
      for (const [method, path] of routes) {
        const response = await call(method, path, method === 'POST' ? '{}' : undefined, { authorization })
        expect([method, path, response.status, response.headers.get('www-authenticate')]).toEqual([method, path, 401, 'Bearer'])
        expect(await response.text()).not.toContain(TOKEN)
      }
    }
    for (const path of ['/health', '/health/live']) expect((await call('GET', path, undefined, { authorization: '' })).status).toBe(200)
  })

  it('stands in the query of a GET, where a browser can send no header, and nowhere else', async () => {
    const { handler, create } = await app()
    const id = await create()
    const ask = (method: string, path: string): Promise<Response> => handler(new Request(`http://127.0.0.1${path}?access_token=${TOKEN}`, { method }))
    const response = await ask('GET', `/sessions/${id}/events`)
    expect(response.status).toBe(200)
    await new Stream(response).leave()
    expect((await ask('POST', '/sessions')).status).toBe(401)
  })

  it('is made once, in a file that nobody else can read, and the same after a restart', async () => {
    const path = join(testFolder(), 'state', 'http-token')
    const { token, made } = await tokenIn(path)
    expect(made).toBe(true)
    expect(readFileSync(path, 'utf8')).toBe(`${token}\n`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(await tokenIn(path)).toEqual({ token, made: false })
    chmodSync(path, 0o644)
    await expect(tokenIn(path)).rejects.toThrow(/mode 0600/)
    const link = join(testFolder(), 'http-token')
    symlinkSync(path, link)
    await expect(tokenIn(link)).rejects.toThrow()
    const empty = join(testFolder(), 'http-token')
    writeFileSync(empty, '', { mode: 0o600 })
    await expect(tokenIn(empty)).rejects.toThrow(/holds no token/)
  })

  it('is needed where other machines can ask', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.2', 'localhost.evil.example', '127.0.0.1.nip.io']) {
      expect(problemsOf(Config, { host, token: false })).toMatchObject([{ path: ['host'], message: expect.stringContaining('needs a token') as string }])
    }
    for (const host of ['127.0.0.1', '127.9.9.9', 'localhost', '::1']) expect(problemsOf(Config, { host, token: false })).toEqual([])
    expect(problemsOf(Config, { host: '0.0.0.0' })).toEqual([])
    expect(JSON.stringify(problemsOf(Config, { token: 's3cret' }))).toMatch(/^(?!.*s3cret).*8 to 200/)
    expect(problemsOf(Config, { users: { alice: 'token-of-alice' } })).toMatchObject([{ path: ['workspaces'] }])
    expect(() => createHandler(new Context(), {} as never)).toThrow(/token must be/)
    expect(() => createHandler(new Context(), { users: { '../x': 'token-of-x-1' } })).toThrow(/cannot be a user/)
    expect(() => createHandler(new Context(), { users: { a: 'the-same-1', b: 'the-same-1' } })).toThrow(/the same token/)
  })
})

describe('what comes in', () => {
  it.each<[string, string, number, string, Record<string, string>?]>([
    ['no JSON', '{"prompt":', 400, 'BODY_INVALID'],
    ['nothing', '', 400, 'BODY_INVALID'],
    ['another value', '["prompt"]', 400, 'BODY_INVALID'],
    ['null', 'null', 400, 'BODY_INVALID'],
    ['a prompt that is no text', '{"prompt":1}', 400, 'BODY_INVALID'],
    ['a key too many', '{"prompt":"x","cwd":"/"}', 400, 'BODY_INVALID'],
    ['a prototype', '{"__proto__":{"prompt":"x"}}', 400, 'BODY_INVALID'],
    ['half of a surrogate pair', '{"prompt":"x\\ud800"}', 400, 'BODY_INVALID'],
    ['blank', '{"prompt":" \\n\\t"}', 400, 'PROMPT_EMPTY'],
    ['a prompt that is too long', JSON.stringify({ prompt: 'x'.repeat(1_001) }), 413, 'PROMPT_LARGE'],
    ['a body that is too long', JSON.stringify({ prompt: 'x'.repeat(10_001) }), 413, 'BODY_LARGE'],
    ['a body of another type', '{"prompt":"x"}', 415, 'NOT_JSON', { 'content-type': 'text/plain' }],
    ['a key that is none', '{"prompt":"x"}', 400, 'BODY_INVALID', { 'idempotency-key': 'a b' }],
    ['a model that is none', '{"prompt":"x","model":""}', 400, 'CONFIG_INVALID'],
  ])('is refused where it is %s', async (_, body, status, code, headers) => {
    const { json, create } = await app({ options: { maxBody: 10_000, maxPrompt: 1_000 } })
    expect(await json('POST', `/sessions/${await create()}/prompt`, body, headers)).toMatchObject({ status, body: { error: { code } } })
  })

  it('may be nothing where a session is begun', async () => {
    const { call, json } = await app()
    expect((await call('POST', '/sessions', undefined, { 'content-type': 'application/json' })).status).toBe(201)
    expect((await json('POST', '/sessions', '{"title":"Mine"}')).status).toBe(201)
    expect((await json('POST', '/sessions', '{"title":"Mine"}', { 'content-type': 'text/plain' })).status).toBe(415)
  })

  it.each(['..%2f..%2fetc', '%00', '.', 'a'.repeat(500), 'con', '%F0%9F%98%80', '%ZZ', 'x%0a', '%ff'])('the id %s is no session', async (id) => {
    const { json } = await app()
    expect((await json('GET', `/sessions/${id}/events`)).status).toBe(404)
    expect((await json('GET', `/chat/${id}/stream`)).status).toBe(404)
  })

  it('is not found elsewhere', async () => {
    const { json } = await app({ options: { base: '/agents' } })
    expect((await json('GET', '/agents/sessions')).status).toBe(200)
    for (const path of ['/', '/sessions', '/agents', '/agentsessions', '/agents/nothing']) expect(await json('GET', path)).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } })
    expect(await json('DELETE', '/agents/sessions')).toMatchObject({ status: 405 })
  })

  it('an error of the server tells nothing of it', async () => {
    const { json, store } = await app()
    store.list = () => { throw new Error('the disk at /var/lib/host is full; the key is sk-live-123') }
    expect(await json('GET', '/sessions')).toEqual({ status: 500, body: { error: { code: 'INTERNAL', message: 'something went wrong here; it is in the log of the server' } } })
  })
})

describe('users', () => {
  const users = { alice: 'token-of-alice', bob: 'token-of-bob' }
  const as = (user: keyof typeof users): { authorization: string } => ({ authorization: `Bearer ${users[user]}` })

  it('have sessions of their own: another user\'s and none at all are the same', async () => {
    const folder = testFolder()
    const { json } = await app({ options: { users, workspaces: folder, token: undefined } as never })
    const { body: { id } } = await json<{ id: string }>('POST', '/sessions', undefined, as('alice'))
    expect(id).toMatch(/^alice\.[0-9a-f]{32}$/)
    const none = `alice.${'0'.repeat(32)}`
    for (const [method, path, body] of [
      ['GET', '', undefined], ['DELETE', '', undefined], ['GET', '/events', undefined], ['GET', '/items', undefined],
      ['POST', '/prompt', { prompt: 'x' }], ['POST', '/steer', { prompt: 'x' }], ['POST', '/cancel', {}], ['POST', '/answer', { question: 3, answer: 'allow' }],
    ] as const) {
      const [hers, nobodys] = await Promise.all([id, none].map((session) => json(method, `/sessions/${session}${path}`, body, as('bob'))))
      expect(hers).toEqual(nobodys)
      expect(hers).toMatchObject({ status: 404, body: { error: { code: 'SESSION_NOT_FOUND' } } })
    }
    expect((await json<{ sessions: unknown[] }>('GET', '/sessions', undefined, as('bob'))).body.sessions).toEqual([])
    const { body: { sessions } } = await json<{ sessions: { id: string; cwd: string }[] }>('GET', '/sessions', undefined, as('alice'))
    expect(sessions).toMatchObject([{ id, cwd: join(folder, 'alice') }])
    expect(statSync(join(folder, 'alice')).mode & 0o777).toBe(0o700)
    // A chat's id is the user's, whoever else uses it.
    await json('POST', '/chat', { id, messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }], trigger: 'submit-message' }, as('bob')).catch(() => undefined)
    expect((await json<{ prompt?: string }>('GET', `/sessions/${id}`, undefined, as('alice'))).body.prompt).toBeUndefined()
  })

  it('are those of the app\'s own login, where it has one', async () => {
    const { json } = await app({ options: { token: undefined, authenticate: (request: Request) => request.headers.get('x-user') ?? undefined } as never })
    expect((await json('GET', '/sessions', undefined, { 'x-user': 'alice' })).status).toBe(200)
    expect((await json('GET', '/sessions')).status).toBe(401)
    expect((await json('GET', '/sessions', undefined, { 'x-user': '../x' })).status).toBe(403)
  })

  it('have so many turns and streams, and no more', async () => {
    const { json, call, create } = await app({ script: [{ text: 'x', hang: true }], options: { turnsPerUser: 1, streamsPerUser: 2 } })
    const [one, two] = [await create(), await create()]
    await json('POST', `/sessions/${one}/prompt`, { prompt: 'Go.' })
    const refused = await call('POST', `/sessions/${two}/prompt`, { prompt: 'Go.' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    const streams = [new Stream(await call('GET', `/sessions/${one}/events`)), new Stream(await call('GET', `/sessions/${two}/events`))]
    expect(await json('GET', `/sessions/${one}/events`)).toMatchObject({ status: 429, body: { error: { code: 'TOO_MANY_STREAMS' } } })
    await streams[0]!.leave()
    const third = await call('GET', `/sessions/${one}/events`)
    expect(third.status).toBe(200)
    onTestFinished(() => third.body?.cancel())
    expect((await call('HEAD', `/sessions/${one}/events`)).status).toBe(200)
  })
})
