import { once } from 'node:events'
import { createServer } from 'node:net'
import { type ReplyError, createModelServer, overflow, rateLimit, serverError, unauthorized } from '@headrace/model-server'
import type { Failure } from '@headrace/message'
import { collect, failed, rawServer, text, use } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { endpoint } from './help.ts'

async function answering(error: ReplyError): Promise<Failure> {
  const server = use(await createModelServer(() => ({ error })))
  const { failure } = await failed(endpoint(server.url))
  return failure
}

async function saying(status: number, body: string, type = 'application/json'): Promise<Failure> {
  const { failure } = await failed(endpoint(await rawServer((_, response) => response.writeHead(status, { 'content-type': type }).end(body))))
  return failure
}

describe('a refused request', () => {
  it('that does not fit is an overflow', async () => {
    const server = use(await createModelServer((body) => overflow(body, 1)))
    const { failure, chunks } = await failed(endpoint(server.url))
    expect(failure).toMatchObject({ kind: 'overflow', status: 400, code: 'context_length_exceeded' })
    expect(failure.message).toMatch(/^local answered 400 \(context_length_exceeded\): This model's maximum context length is 1 tokens/)
    expect(chunks.map(({ type }) => type)).toEqual(['wire'])
  })

  it('over the rate says how long to wait', async () => {
    const server = use(await createModelServer(() => rateLimit(1234)))
    expect((await failed(endpoint(server.url))).failure).toEqual({
      kind: 'rate-limit', status: 429, code: 'rate_limit_exceeded', retryAfter: 1234, message: 'local answered 429 (rate_limit_exceeded): Rate limit reached for requests.',
    })
  })

  it('with a wrong key is told so', async () => {
    const server = use(await createModelServer(() => unauthorized()))
    expect((await failed(endpoint(server.url))).failure).toMatchObject({ kind: 'auth', status: 401, code: 'invalid_api_key' })
  })

  it('by a server in trouble is the server’s failure', async () => {
    const server = use(await createModelServer(() => serverError(503)))
    expect((await failed(endpoint(server.url))).failure).toMatchObject({ kind: 'server', status: 503 })
  })

  it('where nothing answers to the path, says which was asked, and what most base URLs end in', async () => {
    const url = new URL(await rawServer((_, response) => response.writeHead(404).end()))
    const { failure } = await failed(endpoint(`http://${url.host}/api`))
    expect(failure).toMatchObject({ kind: 'invalid', status: 404 })
    expect(failure.message).toContain(`asked was http://${url.host}/api/chat/completions, and the base URL of most servers ends in /v1`)
    expect((await failed(endpoint(url.href))).failure.message).not.toContain('asked was')
  })

  it.each([
    [400, 'invalid'], [401, 'auth'], [402, 'auth'], [403, 'auth'], [404, 'invalid'], [408, 'timeout'], [413, 'overflow'], [422, 'invalid'], [429, 'rate-limit'], [500, 'server'], [502, 'server'], [529, 'server'],
  ] as const)('with status %i is of kind %s', async (status, kind) => {
    expect(await answering({ status, message: 'no' })).toMatchObject({ kind, status })
  })

  it.each([
    'This model\'s maximum context length is 4096 tokens. However, you requested 5000 tokens.',
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)',
    'This endpoint\'s maximum context length is 32768 tokens. However, you requested about 40000 tokens.',
    'This model\'s maximum prompt length is 131072 but the request contains 537812 tokens.',
    'Please reduce the length of the messages or completion.',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    'the request exceeds the available context size, try increasing it',
    'Range of input length should be [1, 129024]',
    'Your input exceeds the context window of this model.',
    'prompt token count of 70000 exceeds the limit of 64000',
    'Input is too long for requested model.',
  ])('that says “%s” is an overflow', async (message) => {
    expect(await answering({ status: 400, message })).toMatchObject({ kind: 'overflow' })
  })

  it('that speaks of tokens otherwise is none', async () => {
    expect(await answering({ status: 400, message: 'max_tokens must be at least 1' })).toMatchObject({ kind: 'invalid' })
    expect(await answering({ status: 429, message: 'tokens per minute: please reduce the length of the messages' })).toMatchObject({ kind: 'rate-limit' })
  })

  it.each([
    ['{"error":"model \'x\' not found"}', 'model \'x\' not found'],
    ['{"object":"error","message":"bad","type":"BadRequestError","code":404}', 'bad'],
    ['{"detail":[{"loc":["body"],"msg":"field required"}]}', 'field required'],
    ['[{"error":{"code":404,"message":"from a list","status":"NOT_FOUND"}}]', 'from a list'],
    ['{"error":{"code":404,"message":"Provider returned error","metadata":{"raw":"upstream said so"}}}', 'Provider returned error: upstream said so'],
    ['plain words', 'plain words'],
    ['<html><head><title>404</title><style>a{}</style></head><body><h1>Not\nfound</h1></body></html>', '404 Not found'],
    ['', 'Not Found'],
  ])('is told in the words of %s', async (body, words) => {
    expect(await saying(404, body)).toMatchObject({ kind: 'invalid', status: 404, message: expect.stringMatching(new RegExp(`${words}$`)) })
  })

  it('is told in a few hundred characters, however long or endless its body', async () => {
    expect((await saying(500, JSON.stringify({ error: { message: `${'x'.repeat(5000)}`, code: 'y'.repeat(500) } }))).message.length).toBeLessThanOrEqual(400)
    const endless = await rawServer((_, response) => {
      response.writeHead(500, { 'content-type': 'text/plain' })
      const piece = 'z'.repeat(65_536)
      const more = (): void => { while (!response.destroyed && response.write(piece)); }
      response.on('drain', more)
      more()
    })
    const { failure } = await failed(endpoint(endless))
    expect(failure).toMatchObject({ kind: 'server', status: 500 })
    expect(failure.message.length).toBeLessThanOrEqual(400)
  })

  it('is told on one line, well-formed', async () => {
    const { message } = await saying(500, JSON.stringify({ error: { message: `a\nb ${'😀'.repeat(300)}` } }))
    expect(message).toMatch(/a b/)
    expect(message.isWellFormed()).toBe(true)
  })
})

describe('retry-after', () => {
  it('is read from a date over HTTP', async () => {
    const failure = await answering({ status: 503, retryAfter: new Date(Date.now() + 60_000).toUTCString() })
    expect(failure.retryAfter).toBeGreaterThan(50_000)
    expect(failure.retryAfter).toBeLessThanOrEqual(60_000)
  })
})

describe('no connection', () => {
  it('is a failure of the network, with the code of the system', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    await new Promise((resolve) => server.close(resolve))
    const { failure, chunks } = await failed(endpoint(`http://127.0.0.1:${port}/v1`))
    expect(failure).toMatchObject({ kind: 'network', code: 'ECONNREFUSED', message: expect.stringContaining('the connection to local failed') })
    expect(chunks.map(({ type }) => type)).toEqual(['wire'])
  })

  it('by a host that does not exist, too', async () => {
    expect((await failed(endpoint('http://no-such-host.invalid/v1'))).failure).toMatchObject({ kind: 'network' })
  })

  it('by a socket that closes before any answer, too', async () => {
    expect((await failed(endpoint(await rawServer((_, response) => response.destroy())))).failure).toMatchObject({ kind: 'network' })
  })
})

describe('an answer that breaks off is never a finished one', () => {
  it.each([
    ['a broken socket', { text: 'some text that is streamed', breakAfter: 1 }],
    ['a broken socket just before the finish', { text: 'x', breakAfter: 99 }],
    ['a malformed chunk', { text: 'some text that is streamed', malformed: true as const }],
    ['a malformed chunk within a call', { toolCalls: [{ name: 'f', arguments: { a: 'some text that is streamed' } }], malformed: true as const }],
  ])('by %s', async (_, reply) => {
    const server = use(await createModelServer(() => reply))
    const { failure, chunks } = await failed(endpoint(server.url))
    expect(failure.kind).toBe('network')
    expect(chunks.some(({ type }) => type === 'finish')).toBe(false)
  })

  it('where the stream ends in order, but without a finish', async () => {
    const half = await rawServer((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"choices":[{"delta":{"content":"half"}}]}\n\ndata: [DONE]\n\n'))
    const { failure, chunks } = await failed(endpoint(half))
    expect(text(chunks)).toBe('half')
    expect(failure.kind).toBe('network')
  })

  it.each([
    [{ status: 429, code: 'rate_limit_exceeded', message: 'slow down' }, 'rate-limit'],
    [{ status: 400, code: 'context_length_exceeded', message: 'too long' }, 'overflow'],
    [{ status: 500, message: 'boom' }, 'server'],
  ] as const)('where the stream reports %j', async (breakWith, kind) => {
    const server = use(await createModelServer(() => ({ text: 'some text that is streamed', breakAfter: 1, breakWith })))
    const { failure, chunks } = await failed(endpoint(server.url))
    expect(failure).toMatchObject({ kind, message: expect.stringContaining(breakWith.message) })
    expect(text(chunks)).not.toBe('')
  })

  it('where the stream reports an error in a shape of its own', async () => {
    const shapes = [['{"error":"overloaded"}', 'server'], ['{"error":{"message":"no","code":503}}', 'server'], ['{"choices":[],"error":{"message":"slow","code":429}}', 'rate-limit']] as const
    for (const [shape, kind] of shapes) {
      const url = await rawServer((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${shape}\n\n`))
      expect((await failed(endpoint(url))).failure).toMatchObject({ kind })
    }
  })

  it.each(['error', 'insufficient_system_resource'])('where it finishes with “%s”', async (reason) => {
    const url = await rawServer((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"${reason}"}]}\n\n`))
    expect((await failed(endpoint(url))).failure).toMatchObject({ kind: 'server', message: expect.stringContaining(`stopped with "${reason}" instead of an answer`) })
  })

  it('where a success is no stream', async () => {
    expect(await saying(200, '<html><body>Welcome</body></html>', 'text/html')).toMatchObject({ kind: 'invalid', status: 200, message: expect.stringContaining('check the base URL: Welcome') })
    expect(await saying(200, '{"error":{"message":"busy","code":"rate_limit_exceeded"}}')).toMatchObject({ kind: 'rate-limit', message: expect.stringContaining('busy') })
  })
})

it('nothing is retried', async () => {
  const server = use(await createModelServer(() => serverError()))
  await failed(endpoint(server.url))
  expect(server.requests).toHaveLength(1)
  await expect(collect(endpoint(server.url))).rejects.toThrow('500')
})
