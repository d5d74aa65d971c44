import { gzipSync } from 'node:zlib'
import type { Chunk } from '@headrace/message'
import { saysOverflow, windowIn } from '@headrace/wire'
import { collect, failed, rawServer, request, text } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { endpoint, eventText } from './help.ts'

type Event = object | string

const chat = (delta: unknown, more: object = {}): object => ({ choices: [{ index: 0, delta, ...more }] })
const stop = chat({}, { finish_reason: 'stop' })
const calls = chat({}, { finish_reason: 'tool_calls' })
const call = (...items: object[]): object => chat({ tool_calls: items })
const named = (name: string, args: string, more: object = {}): object => ({ function: { name, arguments: args }, ...more })
const typed = (type: string, more: object = {}): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const google = (parts: unknown, more: object = {}): object => ({ candidates: [{ content: { parts }, ...more }] })

type Change = (bytes: string) => string | Buffer

/** What a server sends, its bytes changed. */
function server(events: readonly Event[], change: Change = (same) => same, headers: object = {}): Promise<string> {
  return rawServer((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).end(change(eventText(...events))))
}

async function answer(events: readonly Event[], protocol: 'openai-chat' | 'openai-responses' | 'anthropic' | 'google' = 'openai-chat'): Promise<Chunk[]> {
  return collect(endpoint(await server(events), { protocol }))
}

/** Each call as `name arguments`. */
function callsIn(chunks: readonly Chunk[]): string[] {
  const found: string[] = []
  for (const chunk of chunks) if (chunk.type === 'tool-call') found[chunk.index] = `${found[chunk.index] ?? `${chunk.name} `}${chunk.arguments ?? ''}`
  return found
}

const HI = [chat({ content: 'Hé' }), chat({ content: 'y' }), stop]

describe('bytes', () => {
  it.each<[string, (bytes: string) => string | Buffer, object?]>([
    ['lines that end with CRLF', (bytes) => bytes.replaceAll('\n', '\r\n')], ['with CR', (bytes) => bytes.replaceAll('\n', '\r')],
    ['a byte order mark', (bytes) => `\ufeff${bytes}`], ['no space behind the colon', (bytes) => bytes.replaceAll('data: ', 'data:')],
    ['an event of several lines', (bytes) => bytes.replace('{"choices"', '{\ndata: "choices"')],
    ['gzip', (bytes) => gzipSync(bytes), { 'content-encoding': 'gzip' }],
  ])('%s', async (_, change, headers = {}) => {
    expect(text(await collect(endpoint(await server(HI, change, headers))))).toBe('Héy')
  })

  it('gzip that is cut is no answer', async () => {
    const url = await server(HI, (bytes) => gzipSync(bytes).subarray(0, -12), { 'content-encoding': 'gzip' })
    expect((await failed(endpoint(url))).failure.kind).toBe('network')
  })
})

describe('an odd field costs no answer', () => {
  it.each<[string, Event]>([
    ['choices of nothing', { choices: [null] }], ['choices that are no list', { choices: {} }], ['a delta of nothing', chat(null)],
    ['a call of nothing', call(null as never)], ['an error without a word', { error: {}, choices: [] }], ['an error of 0', { error: 0 }],
    ['no bill', { choices: [], usage: null }],
  ])('%s', async (_, odd) => expect(text(await answer([odd, ...HI]))).toBe('Héy'))

  it.each<[string, Event]>([
    ['one choice that is no list', { choices: { index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' } }],
    ['a text, as older completions have it', { choices: [{ text: 'Hi', finish_reason: 'stop' }] }],
    ['content that is a part and no list', chat({ content: { type: 'text', text: 'Hi' } }, { finish_reason: 'stop' })],
  ])('%s is read', async (_, odd) => expect(text(await answer([odd]))).toBe('Hi'))

  it.each([['12', '3', 12, 3], [12.4, 3, 12, 3], [-1, 3, 0, 3], ['1e9', 3, 0, 3]])('a bill of %s and %s', async (input, output, read, written) => {
    const chunks = await answer([...HI, { choices: [], usage: { prompt_tokens: input, completion_tokens: output } }])
    expect(chunks).toContainEqual({ type: 'usage', usage: { input: read, cached: 0, written: 0, output: written } })
  })
})

describe('calls', () => {
  it.each<[string, readonly Event[], readonly string[]]>([
    ['an index that is a text', [call(named('a', '{"x"', { index: '0', id: 'i' })), call({ index: '0', function: { arguments: ':1}' } }), call(named('b', '{}', { index: '1', id: 'j' }))], ['a {"x":1}', 'b {}']],
    ['neither index nor id', [call(named('a', '{"x"')), call({ function: { arguments: ':1}' } }), call(named('b', '{}'))], ['a {"x":1}', 'b {}']],
    ['neither, two at once', [call(named('a', '{}'), named('b', '{}'))], ['a {}', 'b {}']],
    ['one id for two, with an index', [call(named('a', '{}', { index: 0, id: 'i' })), call(named('b', '{}', { index: 1, id: 'i' }))], ['a {}', 'b {}']],
    ['one id for two, without', [call(named('a', '{}', { id: 'i' })), call(named('b', '{}', { id: 'i' }))], ['a {}', 'b {}']],
    ['the name in each piece', [call(named('a', '{"x"', { index: 0, id: 'i' })), call(named('a', ':1}', { index: 0, id: 'i' }))], ['a {"x":1}']],
    ['fields beside the function, not in it', [call({ index: 0, id: 'i', name: 'a', arguments: '{"x"' }), call({ index: 0, arguments: ':1}' })], ['a {"x":1}']],
    ['one that is no list', [chat({ tool_calls: named('a', '{}', { index: 0, id: 'i' }) })], ['a {}']],
  ])('with %s', async (_, events, found) => {
    const chunks = await answer([...events, calls])
    expect(callsIn(chunks)).toEqual(found)
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'tool-calls' })
  })
})

describe('no end', () => {
  it.each(['', 'null', 'None', false, null])('a finish of %j is none', async (word) => {
    expect((await failed(endpoint(await server([HI[0]!, chat({}, { finish_reason: word })])))).failure.kind).toBe('network')
  })
})

describe('an error in a stream of 200', () => {
  it.each<[string, string, object]>([
    ['fields under the name of the event alone', 'event: error\ndata: {"message":"overloaded","code":529}\n\n', { kind: 'server', message: expect.stringContaining('overloaded') }],
    ['a text under the name of the event', 'event: error\ndata: Internal Server Error\n\n', { kind: 'server', message: expect.stringContaining('Internal Server Error') }],
    ['an overflow under the name of the event', 'event: error\ndata: {"message":"Input tokens exceed the configured limit of 272000 tokens."}\n\n', { kind: 'overflow', window: 272_000 }],
  ])('%s', async (_, event, failure) => {
    expect((await failed(endpoint(await server([HI[0]!, event])))).failure).toMatchObject(failure)
  })

  it('a whole JSON without an answer says what it says', async () => {
    const url = await rawServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":false,"message":"quota of today used up","code":429}'))
    expect((await failed(endpoint(url))).failure).toMatchObject({ kind: 'rate-limit', message: expect.stringContaining('quota of today used up') })
  })
})

describe('answers in one piece, or told late', () => {
  const message = { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }
  const fn = { type: 'function_call', id: 'f', call_id: 'c', name: 'a', arguments: '{"x":1}' }
  const done = (...output: object[]): string => typed('response.completed', { response: { status: 'completed', output } })

  it.each<[string, readonly Event[]]>([
    ['at the end only', [done(message, fn)]],
    ['item by item', [typed('response.output_item.done', { output_index: 0, item: message }), typed('response.output_item.done', { output_index: 1, item: fn }), done()]],
    ['in a done without deltas', [
      typed('response.output_text.done', { output_index: 0, text: 'Hi' }), typed('response.output_item.added', { output_index: 1, item: { ...fn, arguments: '' } }),
      typed('response.function_call_arguments.done', { output_index: 1, arguments: '{"x":1}' }), done(),
    ]],
    ['with deltas, and again at the end', [
      typed('response.output_text.delta', { output_index: 0, delta: 'Hi' }), typed('response.output_item.added', { output_index: 1, item: { ...fn, arguments: '' } }), done(message, fn),
    ]],
    ['a JSON that is no stream', [`data: ${JSON.stringify({ status: 'completed', output: [message, fn] })}\n\n`]],
  ])('of Responses, %s: each thing once', async (_, events) => {
    const chunks = await answer(events, 'openai-responses')
    expect([text(chunks), callsIn(chunks)]).toEqual(['Hi', ['a {"x":1}']])
  })

  it('text without an index of items is told once', async () => {
    expect(text(await answer([typed('response.output_text.delta', { delta: 'Hi' }), done(message)], 'openai-responses'))).toBe('Hi')
  })

  it('of Google, a list of chunks where a stream was asked for', async () => {
    const url = await rawServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([google([{ text: 'H' }]), google([null, { text: 'i' }], { finishReason: 'STOP' })])))
    expect(text(await collect(endpoint(url, { protocol: 'google' })))).toBe('Hi')
  })

  it('of Anthropic, input in the block’s start, or as an object', async () => {
    const tool = (input: object, ...deltas: unknown[]): string[] => [
      typed('content_block_start', { index: 0, content_block: { type: 'tool_use', id: 't', name: 'a', input } }),
      ...deltas.map((json) => typed('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: json } })), typed('content_block_stop', { index: 0 }),
    ]
    for (const block of [tool({ x: 1 }), tool({}, '', '{"x":1}'), tool({}, { x: 1 })]) {
      expect(callsIn(await answer([typed('message_start', { message: {} }), ...block, typed('message_delta', { delta: { stop_reason: 'tool_use' } })], 'anthropic'))).toEqual(['a {"x":1}'])
    }
  })
})

describe('places', () => {
  it('a redirect is not followed, for the key would go along: it is said where to', async () => {
    let asked = 0
    const other = await rawServer((_, response) => { asked++; response.end() })
    const url = await rawServer((_, response) => response.writeHead(307, { location: `${other}/chat/completions?key=secret-of-mine-0123` }).end())
    const { failure } = await failed(endpoint(url, { apiKey: 'secret-of-mine-0123' }))
    expect(failure).toMatchObject({ kind: 'invalid', message: expect.stringContaining(`which leads to ${other}/chat/completions`) })
    expect([asked, failure.message.includes('secret')]).toEqual([0, false])
  })

  it('a name and a password of a base URL go as a header; a key that is said goes first', async () => {
    const seen: (string | undefined)[] = []
    const url = (await rawServer((request, response) => {
      seen.push(request.headers.authorization)
      response.end(eventText(...HI))
    })).replace('//', '//me:a%20word@')
    await collect(endpoint(url))
    await collect(endpoint(url, { apiKey: 'a-key' }))
    expect(seen).toEqual([`Basic ${btoa('me:a word')}`, 'Bearer a-key'])
  })
})

describe('an overflow in other words', () => {
  it.each<[string, number | undefined]>([
    ['Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.', 272_000],
    ['Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192', 8_192],
    ['litellm.ContextWindowExceededError: it is too much', undefined], ['prompt length 5000 exceeds maximum input length 4096', 4_096],
    ['Exceeded max limit of 4096 tokens', 4_096], ['This model has a maximum context window of 32768 tokens', 32_768],
  ])('%s', (words, window) => expect([saysOverflow(words), windowIn(words)]).toEqual([true, window]))

  it.each(['Too many tokens, please wait before trying again.', 'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.', 'Too many tokens per day'])(
    'and not: %s', (words) => expect(saysOverflow(words)).toBe(false))
})

describe('a character cut in two', () => {
  const [high, low] = ['\ud83d', '\ude00']
  const reasons = { 'openai-chat': chat({}, { finish_reason: 'stop' }), 'openai-responses': typed('response.completed', { response: { status: 'completed' } }), anthropic: typed('message_delta', { delta: { stop_reason: 'end_turn' } }), google: google([], { finishReason: 'STOP' }) } as const
  const said = {
    'openai-chat': (piece: string) => chat({ content: piece }),
    'openai-responses': (piece: string) => typed('response.output_text.delta', { output_index: 0, delta: piece }),
    anthropic: (piece: string) => typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text: piece } }),
    google: (piece: string) => google([{ text: piece }]),
  } as const

  it.each(['openai-chat', 'openai-responses', 'anthropic', 'google'] as const)('is whole again, of %s, and no chunk has half of it', async (protocol) => {
    const chunks = await answer([...[`a${high}`, `${low}b${high}`, low, 'c'].map((piece) => said[protocol](piece)), reasons[protocol]], protocol)
    expect(text(chunks)).toBe('a😀b😀c')
    for (const chunk of chunks) if (chunk.type === 'text') expect(chunk.text.isWellFormed()).toBe(true)
  })

  it('in reasoning, in arguments, and in details that go back', async () => {
    const detail = (piece: string): object => ({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: piece }] })
    const chunks = await answer([
      chat({ reasoning_content: `r${high}`, ...detail(`r${high}`) }), chat({ reasoning_content: low, ...detail(low) }),
      call(named('a', `{"x":"${high}`, { index: 0, id: 'i' }), named('b', `{"y":"${high}`, { index: 1, id: 'j' })),
      call({ index: 0, function: { arguments: `${low}"}` } }, { index: 1, function: { arguments: `${low}"}` } }), calls,
    ])
    expect(chunks.flatMap((chunk) => chunk.type === 'reasoning' ? chunk.text : []).join('')).toBe('r😀')
    expect(callsIn(chunks)).toEqual(['a {"x":"😀"}', 'b {"y":"😀"}'])
    expect(chunks).toContainEqual(expect.objectContaining({ metadata: { chat: { reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'r😀' }] } } }))
  })

  it('half of it alone is U+FFFD: between others, and at the end', async () => {
    expect(text(await answer([`a${high}`, 'b', `${low}c${high}`].map(said['openai-chat']).concat(stop)))).toBe('a\ufffdb\ufffdc\ufffd')
  })
})

describe('a tool’s name in pieces', () => {
  const tools = ['get', 'get_weather', 'set'].map((name) => ({ name, description: name, parameters: { type: 'object' } }))
  const item = (name: string | undefined, args: string | undefined, more: object): object => (
    { ...more, function: { name, arguments: args } })
  const at = { index: 0, id: 'i' }

  it.each<[string, readonly object[], readonly string[]]>([
    ['is joined', [item('get_', '', at), item('weather', '', { index: 0 }), item(undefined, '{}', { index: 0 })], ['get_weather {}']],
    ['is joined, the id in each piece', [item('get_', '', at), item('weather', '{}', at)], ['get_weather {}']],
    ['is joined where no tool has it', [item('fo', '', at), item('o', '{}', { index: 0 })], ['foo {}']],
    ['is joined without an index', [item('get_', '', { id: 'i' }), item('weather', '{}', { id: 'i' })], ['get_weather {}']],
    ['is joined without index and id', [item('get_', '', {}), item('weather', '{}', {})], ['get_weather {}']],
    ['is joined where a tool has its beginning for a name', [item('get', '', at), item('_weather', '{}', { index: 0 })], ['get_weather {}']],
    ['that grows from piece to piece is the newest', [item('get_', '', at), item('get_weather', '{}', { index: 0 })], ['get_weather {}']],
    ['that is repeated is the same', [item('get', '{', at), item('get', '}', { index: 0 }), item('get', '', at)], ['get {}']],
    ['that is repeated with a new id is another call', [item('get', '{}', at), item('get', '{}', { index: 0, id: 'j' })], ['get {}', 'get {}']],
    ['of a tool stays, whatever else is named', [item('get', '{', at), item('set', '}', { index: 0 })], ['get {}']],
    ['in pieces, of two at once', [item('get_', '', at), item('se', '', { index: 1, id: 'j' }), item('weather', '{}', { index: 0 }), item('t', '{}', { index: 1 })], ['get_weather {}', 'set {}']],
    ['without arguments', [item('get_', undefined, at), item('weather', undefined, { index: 0 })], ['get_weather ']],
  ])('%s', async (_, items, found) => {
    const adapter = endpoint(await server([...items.map((one) => call(one)), calls]))
    const chunks = await collect(adapter, request(undefined, { tools }))
    const names: string[] = []
    for (const chunk of chunks) if (chunk.type === 'tool-call' && chunk.name !== undefined) names[chunk.index] = chunk.name
    expect(callsIn(chunks.map((chunk) => chunk.type === 'tool-call' ? { ...chunk, name: names[chunk.index]! } : chunk))).toEqual(found)
  })
})
