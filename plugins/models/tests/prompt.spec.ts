import { type ChatBody, createModelServer } from '@headrace/model-server'
import type { Message, Request } from '@headrace/message'
import { sha256 } from '@headrace/message'
import { collect, failed, request, system, use, user } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { endpoint } from './help.ts'

const bytes = new Uint8Array([137, 80, 78, 71])
const image = { type: 'image', digest: sha256(bytes), mediaType: 'image/png' } as const
const blobs = { blob: async (digest: string) => digest === image.digest ? bytes : undefined }
const url = `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`

async function sent(what: Request, options: Parameters<typeof endpoint>[1] = {}): Promise<ChatBody> {
  const server = use(await createModelServer(() => 'ok'))
  await collect(endpoint(server.url, options), what, blobs.blob)
  return server.requests[0]!.body
}

function call(args: string, id = 'c1'): Message {
  return { role: 'assistant', content: [{ type: 'tool-call', id, name: 'read', arguments: args }] }
}

function result(content: (typeof image | { type: 'text'; text: string })[], id = 'c1'): Message {
  return { role: 'tool', content: [{ type: 'tool-result', id, name: 'read', content }] }
}

async function argumentsOf(args: string): Promise<string> {
  const { messages } = await sent(request([user('go'), call(args), result([{ type: 'text', text: 'no' }])]))
  const message = messages[1]!
  return message.role === 'assistant' ? message.tool_calls![0]!.function.arguments : ''
}

describe('what the endpoint gets', () => {
  it('is the system text first, then the messages as they stand where system messages are taken anywhere, and the user’s word last', async () => {
    const { messages } = await sent(request([system('prefix'), user('one'), system('note'), { role: 'assistant', content: [{ type: 'text', text: 'two' }] }], { system: 'You are.' }), { name: 'openai-chat' })
    expect(messages).toEqual([
      { role: 'system', content: 'You are.' },
      { role: 'system', content: 'prefix' },
      { role: 'user', content: 'one' },
      { role: 'system', content: 'note' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'Go on.' },
    ])
  })

  it('has only the system text as a system message, framed ones as the user’s, and one user message where there would be several', async () => {
    const asked = request([system('prefix'), user('one'), system('note')], { system: 'You are.' })
    const { messages } = await sent(asked)
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(messages[1]!.content).toEqual(['<system>\nprefix\n</system>', 'one', '<system>\nnote\n</system>'].map((text) => ({ type: 'text', text })))
    expect((await sent(asked, { systemMessages: 'system' })).messages.map(({ role }) => role)).toEqual(['system', 'system', 'user', 'system'])
    expect((await sent(asked, { name: 'openai-chat', systemMessages: 'user' })).messages.map(({ role }) => role)).toEqual(['system', 'user', 'user', 'user'])
  })

  it('is the same bytes for the same request, and an extension of the earlier one for a later one', async () => {
    const server = use(await createModelServer(() => 'ok'))
    const adapter = endpoint(server.url)
    const history = [user('one'), call('{"path": "a"}'), result([{ type: 'text', text: 'A' }, image])]
    for (const messages of [history, history, [...history, call('{}', 'c2'), result([], 'c2')]]) await collect(adapter, request(messages), blobs.blob)
    const [first, again, later] = server.requests
    expect(again!.raw).toBe(first!.raw)
    expect(later!.body.messages.slice(0, first!.body.messages.length)).toEqual(first!.body.messages)
  })

  it('has the images of a user message in their places', async () => {
    const { messages } = await sent(request([{ role: 'user', content: [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }] }]))
    expect(messages[0]!.content).toEqual([{ type: 'text', text: 'a' }, { type: 'image_url', image_url: { url } }, { type: 'text', text: 'b' }])
  })

  it('has a system message with an image as a user message, whole', async () => {
    const { messages } = await sent(request([{ role: 'system', content: [{ type: 'text', text: 'look' }, image] }]))
    expect(messages).toEqual([{ role: 'user', content: [{ type: 'text', text: '<system>' }, { type: 'text', text: 'look' }, { type: 'image_url', image_url: { url } }, { type: 'text', text: '</system>' }] }])
  })

  it('has the images of tool results behind the last result, labelled', async () => {
    const { messages } = await sent(request([
      user('go'),
      { role: 'assistant', content: [{ type: 'tool-call', id: 'c1', name: 'read', arguments: '{}' }, { type: 'tool-call', id: 'c2', name: 'read', arguments: '{}' }] },
      result([{ type: 'text', text: 'first' }, image]),
      result([image], 'c2'),
      user('next'),
    ]), { name: 'openai-chat' })
    expect(messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'first\n[attachment 1]' },
      { role: 'tool', tool_call_id: 'c2', content: '[attachment 2]' },
      { role: 'user', content: [{ type: 'text', text: '[attachment 1]' }, { type: 'image_url', image_url: { url } }, { type: 'text', text: '[attachment 2]' }, { type: 'image_url', image_url: { url } }] },
      { role: 'user', content: 'next' },
    ])
  })

  it('has the arguments of a call as the model wrote them, byte for byte', async () => {
    const args = '{ "b": 1.0,\n"a": "é" , "2": 0 }'
    expect(await argumentsOf(args)).toBe(args)
  })

  it.each([
    ['a call that was cut off', '{"path": "a', { unparsed: '{"path": "a' }],
    ['a list', '[1]', { unparsed: '[1]' }],
    ['null', 'null', { unparsed: 'null' }],
    ['nothing', ' ', {}],
  ])('has an object for the arguments that were %s', async (_, args, expected) => {
    expect(JSON.parse(await argumentsOf(args))).toEqual(expected)
  })

  it('has the model’s own text also of arguments that would set a prototype', async () => {
    const args = '{"__proto__":{"a":1},"b":2}'
    expect(await argumentsOf(args)).toBe(args)
  })

  it('has earlier reasoning of its provider, unless the endpoint drops it; a message of nothing else is left out', async () => {
    const writers = [undefined, 'local/m', undefined]
    const thought = (text: string): Message => ({ role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }, { type: 'text', text }] })
    const asked = request([user('go'), thought('yes'), user('well?')], { writers })
    expect((await sent(asked)).messages[1]).toEqual({ role: 'assistant', content: 'yes', reasoning_content: 'hm' })
    expect((await sent({ ...asked, writers: [undefined, 'other/m', undefined] })).messages[1]).toEqual({ role: 'assistant', content: 'yes' })
    expect((await sent(asked, { reasoning: 'drop' })).messages[1]).toEqual({ role: 'assistant', content: 'yes' })
    expect((await sent(request([user('go'), thought(' '), user('well?')], { writers }), { name: 'openai-chat' })).messages).toEqual([{ role: 'user', content: 'go' }, { role: 'user', content: 'well?' }])
  })

  it('has the tools in order, their schemas untouched', async () => {
    const parameters = { type: 'object', properties: { z: { type: 'string' }, a: { type: 'integer', minimum: 1 } }, required: ['z'] }
    const { tools, tool_choice } = await sent(request(undefined, { tools: [{ name: 'b', description: 'B.', parameters }, { name: 'a', description: 'A.', parameters: { type: 'object' } }] }))
    expect(JSON.stringify(tools)).toBe(JSON.stringify([
      { type: 'function', function: { name: 'b', description: 'B.', parameters } },
      { type: 'function', function: { name: 'a', description: 'A.', parameters: { type: 'object' } } },
    ]))
    expect(tool_choice).toBeUndefined()
  })

  it('has every field of the config, provider options as they are', async () => {
    const config = { temperature: 0.5, topP: 0.9, maxOutputTokens: 100, stop: ['END'], reasoningEffort: 'low', providerOptions: { top_k: 5, thinking: { type: 'enabled' } } }
    const { messages: _, ...body } = await sent(request(undefined, { config }))
    expect(body).toEqual({ model: 'm', temperature: 0.5, top_p: 0.9, max_tokens: 100, stop: ['END'], reasoning_effort: 'low', top_k: 5, thinking: { type: 'enabled' }, stream: true, stream_options: { include_usage: true } })
  })

  it('has the limit of output tokens under the name that the endpoint takes', async () => {
    const body = await sent(request(undefined, { config: { maxOutputTokens: 7 } }), { name: 'groq' })
    expect(body).toMatchObject({ max_completion_tokens: 7 })
    expect(body).not.toHaveProperty('max_tokens')
  })

  it('has the configured headers and query', async () => {
    const server = use(await createModelServer(() => 'ok'))
    await collect(endpoint(server.url, { headers: { 'X-Title': 'headrace-test' }, query: { 'api-version': '2' } }))
    expect(server.requests[0]!.headers['x-title']).toBe('headrace-test')
    expect(server.requests[0]!.path).toBe('/v1/chat/completions?api-version=2')
  })
})

it('nothing is sent where an image is lost', async () => {
  const server = use(await createModelServer(() => 'ok'))
  const { failure } = await failed(endpoint(server.url), request([{ role: 'user', content: [image] }]))
  expect(failure).toMatchObject({ kind: 'invalid', message: expect.stringContaining(image.digest) })
  expect(server.requests).toEqual([])
})
