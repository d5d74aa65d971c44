import { createServer } from 'node:net'
import { createServer as createSecure } from 'node:tls'
import type { AddressInfo } from 'node:net'
import type { Message } from '@headrace/message'
import { toBaseUrl, urlOf } from '@headrace/wire'
import { collect, failed, rawServer, request, text, use, user } from '@headrace/testing/adapter'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { endpoint, eventText, streaming } from './help.ts'

afterEach(() => vi.unstubAllEnvs())

const chat = (delta: object, finish: string | null = null): object => ({ choices: [{ index: 0, delta, finish_reason: finish }] })
const google = (parts: object[], finish?: string): object => ({ candidates: [{ content: { role: 'model', parts }, ...(finish && { finishReason: finish }) }] })
const item = (type: string, fields: object): object => ({ type, output_index: 0, ...fields })

/** Half an answer in each protocol: text, and a call whose arguments still come; and the events that would end it. */
const FAMILIES = {
  'openai-chat': {
    half: [chat({ content: 'half' }), chat({ tool_calls: [{ index: 0, id: 'c', function: { name: 'bash', arguments: '{"command":"rm' } }] })],
    rest: [chat({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }), chat({}, 'tool_calls')],
    refusal: [chat({ content: 'no' }), chat({}, 'content_filter')], length: [chat({ content: 'x' }, 'length')],
    error: [{ error: { message: 'context_length_exceeded: maximum context length is 4096 tokens', code: 'context_length_exceeded' } }],
  },
  'openai-responses': {
    half: [
      { type: 'response.created', response: { id: 'resp_1', model: 'gpt-5' } }, item('response.output_item.added', { item: { type: 'message' } }), item('response.output_text.delta', { delta: 'half' }),
      { type: 'response.output_item.added', output_index: 1, item: { type: 'function_call', call_id: 'c', name: 'bash', arguments: '' } }, { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"command":"rm' },
    ],
    rest: [{ type: 'response.function_call_arguments.delta', output_index: 1, delta: '"}' }, { type: 'response.completed', response: { status: 'completed', output: [], usage: { input_tokens: 9, output_tokens: 2 } } }],
    refusal: [item('response.refusal.delta', { delta: 'no' }), { type: 'response.completed', response: { status: 'completed' } }],
    length: [item('response.output_text.delta', { delta: 'x' }), { type: 'response.incomplete', response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } }],
    error: [{ type: 'response.failed', response: { status: 'failed', error: { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.' } } }],
  },
  anthropic: {
    half: [
      { type: 'message_start', message: { id: 'msg_1', model: 'claude', usage: { input_tokens: 9, output_tokens: 1 } } }, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'half' } }, { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'c', name: 'bash', input: {} } }, { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"command":"rm' } },
    ],
    rest: [{ type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '"}' } }, { type: 'content_block_stop', index: 1 }, { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } }, { type: 'message_stop' }],
    refusal: [{ type: 'message_delta', delta: { stop_reason: 'refusal' } }], length: [{ type: 'message_delta', delta: { stop_reason: 'max_tokens' } }],
    error: [{ type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' } }],
  },
  google: {
    half: [google([{ text: 'half' }]), google([{ functionCall: { name: 'bash', args: { command: 'rm' } } }])],
    rest: [google([], 'STOP')],
    refusal: [{ promptFeedback: { blockReason: 'SAFETY' } }], length: [google([{ text: 'x' }], 'MAX_TOKENS')],
    error: [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).' } }],
  },
} as const

describe.each(Object.keys(FAMILIES) as (keyof typeof FAMILIES)[])('in %s', (protocol) => {
  const { half, rest, refusal, length, error } = FAMILIES[protocol]

  it('a stream that was cut is never an answer, however in order it ends (W1)', async () => {
    for (const end of ['', 'data: [DONE]\n\n']) {
      const { failure, chunks } = await failed(endpoint(await streaming(...half, end), { protocol }))
      expect(failure.kind).toBe('network')
      expect(text(chunks)).toBe('half')
      expect(chunks.some(({ type }) => type === 'finish')).toBe(false)
    }
  })

  it('the whole of it is one, also where the connection stays open, breaks, or is followed by junk behind the model’s word (W1, W7)', async () => {
    const whole = eventText(...half, ...rest)
    for (const junk of ['', 'data: : keepalive\n\n', 'data: {"broken\n\n']) {
      const url = await rawServer((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`: begins\n\n${whole}${junk}`)
        setImmediate(() => response.destroy())
      })
      const chunks = await collect(endpoint(url, { protocol }))
      expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'tool-calls' })
      const written = chunks.map((chunk) => chunk.type === 'tool-call' ? chunk.arguments ?? '' : '').join('')
      expect(JSON.parse(written)).toEqual({ command: 'rm' })
    }
  })

  it('refusal and limit say so (W13)', async () => {
    expect((await collect(endpoint(await streaming(...refusal), { protocol }))).at(-1)).toEqual({ type: 'finish', reason: 'refusal' })
    expect((await collect(endpoint(await streaming(...length), { protocol }))).at(-1)).toEqual({ type: 'finish', reason: 'length' })
  })

  it('an overflow in a stream of 200 is one (W10)', async () => {
    expect((await failed(endpoint(await streaming(...error), { protocol }))).failure.kind).toBe('overflow')
  })

  it('a key that is echoed is in no error, in any form (W2)', async () => {
    const key = 'AIzaSyD-7nothing4real_0123456789abcde'
    const forms = (sent: string): string[] => [sent, sent.toUpperCase(), Buffer.from(`x:${sent}`).toString('base64'), sent.slice(7, 20), encodeURIComponent(sent)]
    const url = await rawServer((_, response) => response.writeHead(403).end(`Consumer 'api_key:${forms(key).join(' ')}' has been suspended`))
    const { failure } = await failed(endpoint(url, { protocol, apiKey: key }))
    expect(failure.kind).toBe('auth')
    for (const form of forms(key)) expect(failure.message).not.toContain(form)
    const queried = await rawServer((asked, response) => response.writeHead(400).end(`bad: ${asked.url}`))
    expect((await failed(endpoint(`${queried}?key=${key}`, { protocol }))).failure.message).not.toContain(key)
  })
})

describe('one odd field never costs an answer (W7)', () => {
  it.each<[string, readonly (object | string)[]]>([
    ['a usage without choices', [chat({ content: 'yes' }), { usage: { prompt_tokens: 3, completion_tokens: 1 } }, chat({}, 'stop')]],
    ['choices of null', [chat({ content: 'yes' }), { choices: null }, chat({}, 'stop')]],
    ['keep-alives in data', ['data: : keepalive\n\n', 'data:\n\n', 'event: ping\ndata: ping\n\n', chat({ content: 'yes' }, 'stop')]],
    ['a usage that is a text', [chat({ content: 'yes' }), { choices: [], usage: 'much' }, chat({}, 'stop')]],
    ['content of null beside reasoning', [chat({ content: null, reasoning_content: 'hm' }), chat({ content: 'yes' }, 'stop')]],
    ['a role alone, and an empty finish in each delta', [{ choices: [{ delta: { role: 'assistant' }, finish_reason: '' }] }, { choices: [{ delta: { content: 'yes' }, finish_reason: '' }] }, chat({}, 'stop')]],
    ['an error of null', [{ ...chat({ content: 'yes' }), error: null }, chat({}, 'stop')]],
    ['parts in the place of a text', [chat({ content: [{ type: 'text', text: 'yes' }] }), chat({}, 'stop')]],
    ['the answer in one piece', [{ choices: [{ message: { content: 'yes' }, finish_reason: 'stop' }] }]],
  ])('%s', async (_, events) => {
    const chunks = await collect(endpoint(await streaming(...events)))
    expect(text(chunks)).toBe('yes')
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'stop' })
  })

  it('arguments as an object, calls without an index, with one index for all, and a legacy function_call (W7, W13)', async () => {
    const calls = async (...events: object[]): Promise<unknown[]> => {
      const chunks = await collect(endpoint(await streaming(...events, chat({}, 'function_call'))))
      const found: { name?: string; text: string }[] = []
      for (const chunk of chunks) if (chunk.type === 'tool-call') found[chunk.index] = { ...(found[chunk.index] ?? { text: '' }), ...(chunk.name && { name: chunk.name }), text: (found[chunk.index]?.text ?? '') + (chunk.arguments ?? '') }
      expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'tool-calls' })
      return found.map(({ name, text }) => [name, JSON.parse(text)])
    }
    const call = (fields: object, id = 'a'): object => ({ id, function: { name: 'f', ...fields } })
    expect(await calls(chat({ tool_calls: [{ index: 0, ...call({ arguments: { x: 1 } }) }] }))).toEqual([['f', { x: 1 }]])
    expect(await calls(chat({ tool_calls: [call({ arguments: '{"x":' })] }), chat({ tool_calls: [{ function: { arguments: '1}' } }] }), chat({ tool_calls: [call({ arguments: '{}' }, 'b')] }))).toEqual([['f', { x: 1 }], ['f', {}]])
    expect(await calls(chat({ tool_calls: [{ index: 0, ...call({ arguments: '{}' }) }] }), chat({ tool_calls: [{ index: 0, ...call({ arguments: '{"y":2}' }, 'b') }] }))).toEqual([['f', {}], ['f', { y: 2 }]])
    expect(await calls(chat({ function_call: { name: 'f', arguments: '{"x"' } }), chat({ function_call: { arguments: ':1}' } }))).toEqual([['f', { x: 1 }]])
  })

  it('a server that does not stream', async () => {
    const url = await rawServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'x', choices: [{ message: { content: 'yes' }, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1 } })))
    expect(text(await collect(endpoint(url)))).toBe('yes')
  })
})

describe('reasoning goes back as it came (W4)', () => {
  const bodies: string[] = []
  const echoing = (...events: object[]): Promise<string> => rawServer((_, response, body) => {
    bodies.push(body)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventText(...events))
  })

  it.each<[string, object, object]>([
    ['deepseek', { reasoning_content: '' }, { reasoning_content: '' }], ['moonshot', { reasoning_content: 'hm' }, { reasoning_content: 'hm' }],
    ['groq', { reasoning: 'hm' }, { reasoning: 'hm' }], ['vllm', { reasoning: 'hm' }, { reasoning: 'hm' }], ['sglang', { reasoning_content: 'hm' }, { reasoning_content: 'hm' }],
    ['openrouter', { reasoning: 'hm', reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', index: 0 }] }, { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', index: 0 }] }],
  ])('to %s', async (name, delta, back) => {
    bodies.length = 0
    const url = await echoing(chat(delta), chat({ tool_calls: [{ index: 0, id: 'call12345', function: { name: 'f', arguments: '{}' } }] }, 'tool_calls'))
    const adapter = endpoint(url, { name, apiKey: 'k' })
    const chunks = await collect(adapter)
    const thoughts = chunks.flatMap((chunk) => chunk.type === 'reasoning' ? [chunk] : [])
    const metadata = thoughts.find((chunk) => chunk.metadata)?.metadata
    const said: Message = { role: 'assistant', content: [
      ...(thoughts.length > 0 ? [{ type: 'reasoning' as const, text: thoughts.map((chunk) => chunk.text).join(''), ...(metadata && { metadata }) }] : []), { type: 'tool-call', id: 'call12345', name: 'f', arguments: '{}' },
    ] }
    const result: Message = { role: 'tool', content: [{ type: 'tool-result', id: 'call12345', name: 'f', content: [{ type: 'text', text: 'ok' }] }] }
    await collect(adapter, request([user('go'), said, result], { config: { model: `${name}/m` }, writers: [undefined, `${name}/m`, undefined] }))
    const {
      role: _role,
      content: _content,
      tool_calls: _calls,
      ...fields
    } = (JSON.parse(bodies[1]!) as { messages: Record<string, unknown>[] }).messages[1]!
    expect(fields).toEqual(back)
  })
})

describe('what will be the same again is not retried (W15)', () => {
  const answering = async (status: number, body: object, headers = {}) => {
    const url = await rawServer((_, response) => response.writeHead(status, headers).end(JSON.stringify(body)))
    return (await failed(endpoint(url))).failure
  }

  it('a quota that is used up', async () => {
    expect(await answering(429, { error: { code: 'insufficient_quota', type: 'insufficient_quota', message: 'You exceeded your current quota, please check your plan and billing details.' } })).toMatchObject({ kind: 'auth', status: 429 })
  })

  it('one that comes back is waited for, as long as Google says', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }]
    expect(await answering(429, { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'You exceeded your current quota.', details } })).toMatchObject({ kind: 'rate-limit', retryAfter: 34_500 })
  })

  it('an hour is named', async () => {
    const failure = await answering(429, { error: { message: 'slow down' } }, { 'retry-after': '3600' })
    expect(failure).toMatchObject({ kind: 'rate-limit', retryAfter: 3_600_000, message: expect.stringContaining('it asks to wait 60 minutes') })
  })

  it('a port that speaks no HTTP, and one that speaks no TLS', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.9\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = use(server).address() as AddressInfo
    expect((await failed(endpoint(`http://127.0.0.1:${port}/v1`))).failure).toMatchObject({ kind: 'invalid', message: expect.stringContaining('speaks no HTTP') })
    expect((await failed(endpoint(`https://127.0.0.1:${port}/v1`))).failure).toMatchObject({ kind: 'invalid', message: expect.stringContaining('http:// and not https://') })
  })

  it('a bad handshake', async () => {
    const server = createSecure({}, () => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = use(server).address() as AddressInfo
    expect((await failed(endpoint(`https://127.0.0.1:${port}/v1`))).failure.kind).toMatch(/invalid|network/)
  })
})

describe('an overflow in other words (W10) tells the window (W9)', () => {
  it.each<[number, string, number | undefined]>([
    [400, 'The input (9000 tokens) is longer than the model\'s context length (8192 tokens).', 8192],
    [500, 'Context size has been exceeded.', undefined],
    [400, 'The input token count is 40000 but model only supports up to 32768.', 32768],
    [400, 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000', 4081],
    [400, 'This model\'s maximum context length is 16385 tokens. However, your messages resulted in 20000 tokens.', 16385],
    [400, 'prompt is too long: 210000 tokens > 200000 maximum', 200000],
    [400, 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1048576],
    [400, 'Your request exceeded model token limit: 131072', 131072],
    [400, 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000', 200000],
    [400, 'the request exceeds the available context size (4096 tokens), try increasing it', 4096],
  ])('%i: %s', async (status, message, window) => {
    const { failure } = await failed(
      endpoint(
        await rawServer((_, response) => response.writeHead(status).end(JSON.stringify({ error: { message } }))),
      ),
    )
    expect(failure.kind).toBe('overflow')
    expect(failure.window).toBe(window)
  })

  it('of llama.cpp, in a field', async () => {
    const url = await rawServer((_, response) => response.writeHead(400).end(JSON.stringify({ error: { code: 400, type: 'exceed_context_size_error', message: 'request exceeds', n_prompt_tokens: 9000, n_ctx: 8192 } })))
    expect((await failed(endpoint(url))).failure).toMatchObject({ kind: 'overflow', window: 8192 })
  })

  it('is none where one field is too long', async () => {
    const body = { error: { code: 'string_above_max_length', message: 'Invalid \'messages[1].content\': string too long. Expected a string with maximum length 10485760' } }
    expect((await failed(endpoint(await rawServer((_, response) => response.writeHead(400).end(JSON.stringify(body)))))).failure.kind).toBe('invalid')
  })
})

describe('clocks (W11)', () => {
  it('what keeps a connection alive counts, though it says nothing', async () => {
    const url = await rawServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let left = 8
      const beat = setInterval(() => {
        response.write(': processing\n\n')
        if (--left > 0) return
        clearInterval(beat)
        response.end(eventText(chat({ content: 'late' }, 'stop')))
      }, 100)
    })
    expect(text(await collect(endpoint(url, { idle: 500, firstByte: 5_000 })))).toBe('late')
  })

  it('the whole of an answer may be bounded', async () => {
    const url = await rawServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const beat = setInterval(() => response.write(': processing\n\n'), 20)
      response.on('close', () => clearInterval(beat))
    })
    expect((await failed(endpoint(url, { whole: 200 }))).failure).toMatchObject({ kind: 'timeout', message: expect.stringContaining('whole clock') })
  })
})

describe('base URLs as people paste them (W18)', () => {
  it.each([
    ['http://a/v1/', 'http://a/v1/chat/completions'], [' http://a/v1 ', 'http://a/v1/chat/completions'], ['http://a/v1/chat/completions', 'http://a/v1/chat/completions'],
    ['http://a/v1/chat/completions/?api-version=1', 'http://a/v1/chat/completions?api-version=1'], ['http://a/v1?x=1', 'http://a/v1/chat/completions?x=1'], ['"http://a/v1"', 'http://a/v1/chat/completions'],
    ['http://a/v1/responses', 'http://a/v1/chat/completions'], ['http://a/v1#top', 'http://a/v1/chat/completions'],
  ])('%s', (pasted, meant) => expect(urlOf(toBaseUrl(pasted, 'x'), '/chat/completions')).toBe(meant))
})

it('a proxy of the environment is gone through, but where NO_PROXY says otherwise (W18)', async () => {
  const seen: string[] = []
  const proxy = await rawServer((asked, response) => {
    seen.push(asked.url ?? '')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventText(chat({ content: 'through' }, 'stop')))
  })
  const { createServer: createProxy } = await import('node:http')
  const tunnel = createProxy((_, response) => response.end()).on('connect', (asked, socket) => {
    seen.push(asked.url ?? '')
    socket.end('HTTP/1.1 502 no\r\n\r\n')
  })
  await new Promise<void>((resolve) => tunnel.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${(use(tunnel).address() as AddressInfo).port}`)
  vi.stubEnv('NO_PROXY', '127.0.0.1')
  await failed(endpoint('https://model.invalid/v1'))
  expect(seen).toEqual(['model.invalid:443'])
  expect(text(await collect(endpoint(proxy)))).toBe('through')
})

it('a prompt that Ollama cut is said, and its bill is none (W19)', async () => {
  const url = await streaming(chat({ content: 'ok' }, 'stop'), { choices: [], usage: { prompt_tokens: 4096, completion_tokens: 1 } })
  const said: string[] = []
  const adapter = endpoint(url, { name: 'ollama' }, (message) => said.push(message))
  const asked = (length: number) => request([user('word '.repeat(length))], { session: 's', config: { model: 'ollama/m' } })
  expect((await collect(adapter, asked(3_000))).some(({ type }) => type === 'usage')).toBe(true)
  expect((await collect(adapter, asked(6_000))).some(({ type }) => type === 'usage')).toBe(false)
  expect(said).toEqual([expect.stringContaining('num_ctx')])
})

it('what a provider has no mechanism for is refused before it is asked, with what would work', async () => {
  let asked = 0
  const url = await rawServer((_, response) => void (asked++, response.end()))
  const { failure } = await failed(endpoint(url, { name: 'deepseek', apiKey: 'k' }), request(undefined, { config: { model: 'deepseek/m', output: { type: 'object' } } }))
  expect(failure).toMatchObject({ kind: 'invalid', message: expect.stringMatching(/deepseek takes no JSON Schema.*openai, anthropic/) })
  expect(asked).toBe(0)
})

it('a tool’s own name comes back where it was sent under another', async () => {
  const tools = [{ name: 'mcp.files/read', description: 'Reads.', parameters: { type: 'object' } }] as const
  const url = await rawServer((_, response, body) => {
    const { name } = (JSON.parse(body) as { tools: { function: { name: string } }[] }).tools[0]!.function
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventText(chat({ tool_calls: [{ index: 0, id: 'a', function: { name, arguments: '{}' } }] }, 'tool_calls')))
  })
  expect(await collect(endpoint(url), request(undefined, { tools }))).toContainEqual(expect.objectContaining({ type: 'tool-call', name: 'mcp.files/read' }))
})
