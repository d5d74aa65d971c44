import { type ModelServer, type ModelServerOptions, type Reply, type Script, createModelServer, overflow, rateLimit, serverError, unauthorized } from '@headrace/model-server'
import { connect } from 'node:net'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { turns } from '@headrace/testing/gate'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { HELLO, chunks, errorOf, first, join, lines, post, stream } from './client.ts'

let server: ModelServer
afterEach(() => server.close())
const start = async (script: Script, options?: ModelServerOptions) => server = await createModelServer(script, options)

/** How long the server waits each time, in milliseconds, from now on. */
function pauses(): () => readonly unknown[] {
  const spy = vi.spyOn(timers, 'setTimeout')
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
  return () => spy.mock.calls.map(([time]) => time)
}

const TEN: Reply = { text: '0123456789', chunkSize: 1 }

/** What came before the connection broke. */
async function untilBroken(response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  await expect((async () => {
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) text += decoder.decode(bytes, { stream: true })
  })()).rejects.toThrow()
  return text
}

describe('a stream', () => {
  it('takes its time before each piece', async () => {
    await start(() => ({ ...TEN, delay: 10 }))
    const waited = pauses()
    await chunks(await stream(server))
    expect(waited()).toEqual(Array(10).fill(10))
  })

  it.each([[0, 0], [4, 4], [Infinity, 10]])('broken after %s pieces delivers %s, and no finish', async (breakAfter, delivered) => {
    await start(() => ({ ...TEN, breakAfter }))
    const text = await untilBroken(await stream(server))
    expect(text.match(/"content":"\d"/g)?.length ?? 0).toBe(delivered)
    expect(text).not.toContain('"finish_reason":"stop"')
    expect(text).not.toContain('[DONE]')
    await server.idle()
    expect(server.requests[0]?.outcome).toBe('broken')
  })

  it('broken off with an error sends it as an event and ends in order', async () => {
    await start(() => ({ ...TEN, breakAfter: 2, breakWith: { status: 502, code: 'upstream', message: 'Provider went away.' } }))
    const all = await lines(await stream(server))
    expect(all).toHaveLength(4)
    expect(JSON.parse(all.at(-1)!)).toMatchObject({ error: { code: 'upstream', message: 'Provider went away.', type: 'server_error' } })
  })

  it('that stalls keeps the connection open and sends nothing more', async () => {
    await start((_, { index }) => (index === 0 ? { ...TEN, stallAfter: 3 } : 'another'))
    const response = await stream(server)
    const reader = response.body!.getReader()
    let text = ''
    while ((text.match(/"content":"\d"/g)?.length ?? 0) < 3) text += new TextDecoder().decode((await reader.read()).value)
    let more = false
    void reader.read().then(({ done }) => (more = !done))
    await chunks(await stream(server))
    expect(more).toBe(false)
    expect(text).not.toContain('"content":"3"')
    expect(server.requests[0]?.outcome).toBe('pending')
    await reader.cancel()
  })

  it('that is malformed has one line that is not JSON, whose content is lost', async () => {
    await start(() => ({ ...TEN, malformed: true }))
    const all = await lines(await stream(server))
    const bad = all.slice(0, -1).filter((line) => {
      try {
        JSON.parse(line)
        return false
      } catch {
        return true
      }
    })
    expect(bad).toHaveLength(1)
    expect(all.indexOf(bad[0]!)).toBe(2)
    expect(all).toHaveLength(13)
  })

  it('that its client does not read waits for it, and ends when it leaves', async () => {
    await start((_, { index }) => (index === 0 ? { text: 'x'.repeat(20_000_000), chunkSize: 100_000 } : 'another'))
    const controller = new AbortController()
    const response = await stream(server, {}, { signal: controller.signal })
    await chunks(await stream(server))
    expect(server.requests[0]?.outcome).toBe('pending')
    controller.abort()
    await expect(response.text()).rejects.toThrow()
    await server.idle()
    expect(server.requests[0]?.outcome).toBe('aborted')
  })

  it('that its client leaves is recorded as aborted, and its script hears of it', async () => {
    let signal: AbortSignal | undefined
    await start((_, call) => {
      signal = call.signal
      return { ...TEN, delay: 20 }
    })
    const controller = new AbortController()
    const response = await stream(server, {}, { signal: controller.signal })
    await first(response)
    expect(signal?.aborted).toBe(false)
    controller.abort()
    await server.idle()
    expect(server.requests[0]?.outcome).toBe('aborted')
    expect(signal?.aborted).toBe(true)
  })
})

describe('an answer that is not streamed', () => {
  it('breaks half-way', async () => {
    await start(() => ({ ...TEN, breakAfter: 3 }))
    const response = await post(server, {})
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
    await server.idle()
    expect(server.requests[0]?.outcome).toBe('broken')
  })

  it('that is malformed is not JSON', async () => {
    await start(() => ({ ...TEN, malformed: true }))
    await expect((await post(server, {})).json()).rejects.toThrow(SyntaxError)
  })
})

it.each([true, false])('a call that hangs sends not one byte until the client leaves (streamed: %s)', async (streamed) => {
  await start(() => ({ hang: true }))
  const client = new AbortController()
  const posted = post(server, { stream: streamed }, { signal: client.signal })
  await expect.poll(() => server.requests.length).toBe(1)
  client.abort(new Error('timeout'))
  await expect(posted).rejects.toThrow('timeout')
  await server.idle()
  expect(server.requests[0]).toMatchObject({ outcome: 'aborted' })
  expect(server.requests[0]).not.toHaveProperty('status')
})

it('a script that never returns does not outlive its client', async () => {
  await start(() => new Promise(() => {}))
  const client = new AbortController()
  const posted = post(server, {}, { signal: client.signal })
  await expect.poll(() => server.requests.length).toBe(1)
  client.abort()
  await expect(posted).rejects.toThrow()
  await server.idle()
  expect(server.requests[0]?.outcome).toBe('aborted')
})

describe('an error', () => {
  it.each<[string, Reply, number, object]>([
    ['a rate limit', rateLimit(), 429, { code: 'rate_limit_exceeded', type: 'requests' }],
    ['a server error', serverError(), 500, { code: null, type: 'server_error', param: null }],
    ['an unavailable server', serverError(503), 503, { type: 'server_error' }],
    ['a bad key', unauthorized(), 401, { code: 'invalid_api_key', type: 'invalid_request_error' }],
    ['an overflow', overflow({ messages: HELLO }, 8), 400, { code: 'context_length_exceeded', param: 'messages', message: expect.stringMatching(/8 tokens.* 9 tokens/) }],
    ['one of your own', { error: { status: 418 } }, 418, { code: null, type: 'invalid_request_error', message: expect.stringContaining('418') }],
  ])('%s has its status and body, streamed or not', async (_, reply, status, error) => {
    await start(() => reply)
    for (const response of [await post(server, {}), await stream(server)]) {
      expect(response.status).toBe(status)
      expect(response.headers.get('content-type')).toBe('application/json')
      expect(await errorOf(response)).toMatchObject(error)
    }
    expect(server.requests.map((request) => [request.status, request.usage])).toEqual([[status, undefined], [status, undefined]])
  })

  it('says when to come back: in whole seconds and in milliseconds, or as it is told', async () => {
    await start((_, { index }) => rateLimit(index === 0 ? 1_500 : 'Wed, 21 Oct 2026 07:28:00 GMT'))
    const { headers } = await post(server, {})
    expect([headers.get('retry-after'), headers.get('retry-after-ms')]).toEqual(['2', '1500'])
    const dated = (await post(server, {})).headers
    expect([dated.get('retry-after'), dated.get('retry-after-ms')]).toEqual(['Wed, 21 Oct 2026 07:28:00 GMT', null])
  })

  it('may be the page of a proxy', async () => {
    await start(() => ({ error: { status: 502, html: '<h1>Bad Gateway</h1>' } }))
    const response = await post(server, {})
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([502, 'text/html; charset=utf-8', '<h1>Bad Gateway</h1>'])
  })

  it('may be late', async () => {
    await start(() => ({ error: { status: 500 }, delay: 50 }))
    const waited = pauses()
    await post(server, {})
    expect(waited()).toEqual([50])
  })

  it('is not in the cache afterwards', async () => {
    await start((_, { index }) => index === 0 ? serverError() : 'ok')
    const messages = [{ role: 'user', content: 'x'.repeat(1_000) }] as const
    for (let time = 0; time < 3; time++) await post(server, { messages })
    expect(server.requests.map((request) => request.usage?.cached)).toEqual([undefined, 0, 256])
  })
})

describe('what is no call of the model is refused in JSON and never reaches the script:', () => {
  const never: Script = () => {
    throw new Error('asked')
  }
  const call = { id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }
  const asked = { role: 'assistant', content: null, tool_calls: [call] }
  const result = { role: 'tool', tool_call_id: 'c1', content: 'ok' }
  const messages = (...all: unknown[]) => JSON.stringify({ model: 'm', messages: all })

  it.each([
    ['no JSON', '{"model":', /parse the JSON/],
    ['nothing', '', /parse the JSON/],
    ['a list', '[]', /must be an object/],
    ['JSON too deep to walk', '['.repeat(200_000) + ']'.repeat(200_000), /parse the JSON/],
    ['no model', '{"messages":[{"role":"user","content":"x"}]}', /model/],
    ['no messages', '{"model":"m","messages":[]}', /messages/],
    ['an unknown role', messages({ role: 'robot', content: 'x' }), /messages\[0\]\.role/],
    ['no content', messages({ role: 'user' }), /messages\[0\]\.content/],
    ['a call without its result', messages(...HELLO, asked), /messages\[1\].*c1/],
    ['a message between call and result', messages(...HELLO, asked, ...HELLO, result), /messages\[1\].*c1/],
    ['a result nobody asked for', messages(...HELLO, result), /messages\[1\].*c1/],
    ['a second result', messages(...HELLO, asked, result, result), /messages\[3\].*c1/],
    ['one id twice', messages(...HELLO, { ...asked, tool_calls: [call, call] }, result, result), /one id twice/],
    ['no tools, said with a list', JSON.stringify({ model: 'm', messages: HELLO, tools: [] }), /at least one tool/],
    ['a tool with a bad name', JSON.stringify({ model: 'm', messages: HELLO, tools: [{ type: 'function', function: { name: 'a b' } }] }), /tools\[0\]/],
    ['stream options without a stream', JSON.stringify({ model: 'm', messages: HELLO, stream_options: {} }), /stream_options/],
  ])('%s', async (_, raw, message) => {
    await start(never)
    const response = await post(server, raw)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ type: 'invalid_request_error', message: expect.stringMatching(message) as string })
    expect(server.requests).toEqual([])
    expect(server.refused).toMatchObject([{ status: 400, raw, message: expect.stringMatching(message) as string }])
  })

  it('bytes that are not UTF-8', async () => {
    await start(never)
    const bytes = Buffer.from(messages({ role: 'user', content: '?' })).map((byte) => byte === 0x3f ? 0xff : byte)
    expect((await fetch(`${server.url}/chat/completions`, { method: 'POST', body: bytes })).status).toBe(400)
  })

  it('another path, another method', async () => {
    await start(never)
    const lost = await post(server, {}, {}, '/completions')
    expect([lost.status, (await errorOf(lost)).code]).toEqual([404, 'unknown_url'])
    const wrong = await fetch(`${server.url}/chat/completions`)
    expect([wrong.status, wrong.headers.get('allow'), (await errorOf(wrong)).code]).toEqual([405, 'POST', 'method_not_supported'])
    expect(server.refused.map(({ method, path, status }) => `${method} ${path} ${status}`)).toEqual(['POST /v1/completions 404', 'GET /v1/chat/completions 405'])
  })

  it('a body that is too large, once it was read to its end', async () => {
    await start(never, { maxBody: 1_000_000 })
    const response = await post(server, messages({ role: 'user', content: 'x'.repeat(8_000_000) }))
    expect(response.status).toBe(413)
    expect((await errorOf(response)).message).toContain('1000000')
    expect(server.refused).toMatchObject([{ status: 413, raw: '' }])
  })

  it('what is not even HTTP, and a client that leaves while it still sends', async () => {
    await start(() => 'alive')
    const { port } = new URL(server.url)
    for (const text of ['\0\x01 nonsense\r\n\r\n', 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"mod']) {
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('error', () => {})
      await new Promise((resolve) => socket.write(text, resolve))
      await turns()
      socket.destroy()
    }
    await server.idle()
    expect(server.requests).toEqual([])
    expect(join(await chunks(await stream(server)), 'content')).toBe('alive')
  })
})
