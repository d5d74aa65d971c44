import { inspect } from 'node:util'
import { createModelServer } from '@headrace/model-server'
import { collect, failed, rawServer, request, toolsFor, use } from '@headrace/testing/adapter'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Secrets } from '@headrace/wire'
import { endpoint, streaming } from './help.ts'

const KEY = 'q7F/Zk+very:secret"key=='

afterEach(() => vi.unstubAllEnvs())

describe('a key', () => {
  it('that the server echoes is in no message, code, stack or field of the error', async () => {
    const seen: string[] = []
    const url = await rawServer((request, response) => {
      const key = request.headers.authorization!
      seen.push(key)
      response.writeHead(401, { 'content-type': 'application/json', 'x-echo': encodeURIComponent(key) })
      response.end(JSON.stringify({ error: { message: `Bad key ${key} in ${JSON.stringify(request.headers)} ${encodeURIComponent(key)}`, code: key.slice(7), type: key } }))
    })
    const { failure, error } = await failed(endpoint(url, { apiKey: KEY }))
    expect(seen).toEqual([`Bearer ${KEY}`])
    expect(failure).toMatchObject({ kind: 'auth', status: 401, message: expect.stringContaining('[redacted]') })
    const everything = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(failure) + error.stack
    for (const form of [KEY, encodeURIComponent(KEY), JSON.stringify(KEY).slice(1, -1), KEY.slice(4, 16)])
      expect(everything).not.toContain(form)
  })

  it('that the server echoes in mid-stream, in a page, or in a list of models is not told either', async () => {
    const echoes = [
      ['text/event-stream', (key: string) => `data: ${JSON.stringify({ error: { message: key } })}\n\n`],
      ['text/event-stream', (key: string) => `data: {"broken ${key}\n\n`],
      ['text/html', (key: string) => `<html><body>${key}</body></html>`],
    ] as const
    for (const [type, body] of echoes) {
      const url = await rawServer((request, response) => response.writeHead(200, { 'content-type': type }).end(body(request.headers.authorization!)))
      const adapter = endpoint(url, { apiKey: 'plain-but-secret' })
      expect((await failed(adapter)).failure.message).not.toContain('plain-but-secret')
      await expect(adapter.models!()).rejects.toThrow(/^(?!.*plain-but-secret)/)
    }
  })

  it('in a header, a query or a URL is not told either', async () => {
    const url = await rawServer((request, response) => response.writeHead(400).end(`${request.url} ${String(request.headers['x-api-key'])}`))
    const { failure } = await failed(endpoint(url, { headers: { 'x-api-key': 'header-secret' }, query: { code: 'query-secret' } }))
    expect(failure.message).toContain('[redacted]')
    expect(failure.message).not.toMatch(/header-secret|query-secret/)
    expect((await failed(endpoint('http://me:url-secret@127.0.0.1:1/v1'))).failure.message).not.toContain('url-secret')
  })

  it('that goes out is told, so that it is taken out of what tools say', async () => {
    const url = await streaming({ choices: [{ delta: { content: 'Hi.' }, finish_reason: 'stop' }] }, 'data: [DONE]\n\n')
    const [told, sent] = [[] as string[], request()]
    const adapter = endpoint(url, { apiKey: KEY, headers: { 'x-api-key': 'header-secret', 'x-team': 'red' }, query: { key: 'query-secret' } })
    for await (const _ of adapter.stream(sent, { ...toolsFor(sent), key: (key) => void told.push(key) }));
    expect(told.toSorted()).toEqual(['header-secret', KEY, 'query-secret'].toSorted())
  })

  it('is redacted before a message is cut, so that no half of it is left', async () => {
    const url = await rawServer((_, response) => response.writeHead(400).end(`${'x'.repeat(365)}${'k'.repeat(60)}`))
    expect((await failed(endpoint(url, { apiKey: 'k'.repeat(60) }))).failure.message).not.toContain('kk')
  })

  it('is redacted however it is escaped', () => {
    const redact = (text: string): string => new Secrets().add(KEY).redact(text)
    for (const form of [KEY, encodeURIComponent(KEY), JSON.stringify({ KEY })]) expect(redact(form)).toMatch(/^(\{"KEY":")?\[redacted\]("\})?$/)
  })

  it('leaves ordinary words alone', () => {
    const redact = (text: string): string => new Secrets().add('abc').redact(text)
    for (const words of ['Bearer authentication required', 'the abc of it', 'ask-me-anything', 'basic understanding']) expect(redact(words)).toBe(words)
  })
})

describe('where a key comes from', () => {
  async function sentWith(source: Parameters<typeof endpoint>[1]): Promise<string | undefined> {
    let authorization: string | undefined
    const url = await rawServer((request, response) => {
      authorization = request.headers.authorization
      response.writeHead(500).end()
    })
    await failed(endpoint(url, source))
    return authorization
  }

  it('is the config, else its variable, else HEADRACE_API_KEY, else nowhere', async () => {
    vi.stubEnv('HEADRACE_API_KEY', 'fallback')
    vi.stubEnv('ACME_KEY', 'own')
    expect(await sentWith({ apiKey: 'configured', apiKeyEnv: 'ACME_KEY' })).toBe('Bearer configured')
    expect(await sentWith({ apiKeyEnv: 'ACME_KEY' })).toBe('Bearer own')
    expect(await sentWith({ apiKeyEnv: 'OTHER_KEY' })).toBe('Bearer fallback')
    vi.stubEnv('HEADRACE_API_KEY', '')
    expect(await sentWith({})).toBeUndefined()
  })

  it('is read when a request is sent, without white space around it', async () => {
    const server = use(await createModelServer(() => 'ok', { apiKey: 'second' }))
    const adapter = endpoint(server.url, { apiKeyEnv: 'ACME_KEY' })
    vi.stubEnv('ACME_KEY', 'first')
    expect((await failed(adapter)).failure.kind).toBe('auth')
    vi.stubEnv('ACME_KEY', ' second\n')
    expect((await collect(adapter)).at(-1)).toEqual({ type: 'finish', reason: 'stop' })
  })

  it('is told by name where it is missing or cannot be one, and nothing is sent', async () => {
    vi.stubEnv('HEADRACE_API_KEY', '')
    const server = use(await createModelServer(() => 'ok'))
    const adapter = endpoint(server.url, { name: 'acme', apiKeyEnv: 'ACME_KEY' })
    expect((await failed(adapter)).failure).toEqual({ kind: 'auth', message: 'there is no key for acme: set ACME_KEY (or HEADRACE_API_KEY)' })
    vi.stubEnv('ACME_KEY', 'sk–dash')
    const { failure } = await failed(adapter)
    expect(failure).toMatchObject({ kind: 'auth', message: expect.stringContaining('ACME_KEY') })
    expect(failure.message).not.toContain('dash')
    expect([...server.requests, ...server.refused]).toEqual([])
  })
})
