import { type ChatBody, createModelServer } from '@headrace/model-server'
import type { Message, Request } from '@headrace/message'
import { sha256 } from '@headrace/message'
import { aiSdkAdapter } from '@headrace/plugin-ai-sdk'
import { describe, expect, it } from 'vitest'
import { collect, endpoint, failed, finish, model, request, system, use, user } from './help.ts'

const bytes = new Uint8Array([137, 80, 78, 71])
const image = { type: 'image', digest: sha256(bytes), mediaType: 'image/png' } as const
const blobs = async (digest: string): Promise<Uint8Array | undefined> => digest === image.digest ? bytes : undefined
const url = `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`

async function sent(what: Request, options: Parameters<typeof endpoint>[1] = {}): Promise<ChatBody> {
  const server = use(await createModelServer(() => 'ok'))
  await collect(endpoint(server.url, options), what, blobs)
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
  it('is the system text first, then the messages as they stand, system messages in the middle among them', async () => {
    const { messages } = await sent(request([system('prefix'), user('one'), system('note'), { role: 'assistant', content: [{ type: 'text', text: 'two' }] }], { system: 'You are.' }))
    expect(messages).toEqual([
      { role: 'system', content: 'You are.' },
      { role: 'system', content: 'prefix' },
      { role: 'user', content: 'one' },
      { role: 'system', content: 'note' },
      { role: 'assistant', content: 'two' },
    ])
  })

  it('has only the system text as a system message where systemMessages is user', async () => {
    const { messages } = await sent(request([system('prefix'), user('one'), system('note')], { system: 'You are.' }), { systemMessages: 'user' })
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'user', 'user'])
    expect(messages.map(({ content }) => content)).toEqual(['You are.', 'prefix', 'one', 'note'])
  })

  it('is the same bytes for the same request, and an extension of the earlier one for a later one', async () => {
    const server = use(await createModelServer(() => 'ok'))
    const adapter = endpoint(server.url)
    const history = [user('one'), call('{"path": "a"}'), result([{ type: 'text', text: 'A' }, image])]
    for (const messages of [history, history, [...history, user('two')]]) await collect(adapter, request(messages), blobs)
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
    expect(messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'look' }, { type: 'image_url', image_url: { url } }] }])
  })

  it('has the images of tool results behind the last result, labelled', async () => {
    const { messages } = await sent(request([
      user('go'),
      { role: 'assistant', content: [{ type: 'tool-call', id: 'c1', name: 'read', arguments: '{}' }, { type: 'tool-call', id: 'c2', name: 'read', arguments: '{}' }] },
      result([{ type: 'text', text: 'first' }, image]),
      result([image], 'c2'),
      user('next'),
    ]))
    expect(messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'first\n[image 1]' },
      { role: 'tool', tool_call_id: 'c2', content: '[image 2]' },
      { role: 'user', content: [{ type: 'text', text: '[image 1]' }, { type: 'image_url', image_url: { url } }, { type: 'text', text: '[image 2]' }, { type: 'image_url', image_url: { url } }] },
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

  it('has an object also for arguments that the AI SDK refuses to parse', async () => {
    const args = '{"__proto__":{"a":1},"b":2}'
    expect(await argumentsOf(args)).toBe(args)
    expect(await argumentsOf('{"\\u005f_proto__":{"a":1}}')).toBe('{"__proto__":{"a":1}}')
  })

  it('has earlier reasoning, unless the endpoint drops it; then a message of nothing else is left out', async () => {
    const messages: Message[] = [user('go'), { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }] }, user('well?')]
    expect((await sent(request(messages))).messages[1]).toEqual({ role: 'assistant', content: '', reasoning_content: 'hm' })
    expect((await sent(request(messages), { reasoning: 'drop' })).messages).toEqual([{ role: 'user', content: 'go' }, { role: 'user', content: 'well?' }])
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
    const body = await sent(request(undefined, { config: { maxOutputTokens: 7 } }), { maxTokens: 'max_completion_tokens' })
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

describe('what any AI SDK model gets', () => {
  it('is arguments as an object, images inside the tool result, and metadata as provider options', async () => {
    const fake = model([finish()])
    const metadata = { acme: { signature: 's' } }
    await collect(aiSdkAdapter(fake), request([
      { role: 'assistant', content: [{ type: 'reasoning', text: 'hm', metadata }, { type: 'text', text: 'so', metadata }, { type: 'tool-call', id: 'c1', name: 'read', arguments: '{"a": 1}', metadata }] },
      { role: 'tool', content: [{ type: 'tool-result', id: 'c1', name: 'read', content: [{ type: 'text', text: 'x' }, image], error: true }] },
      { role: 'tool', content: [{ type: 'tool-result', id: 'c2', name: 'read', content: [{ type: 'text', text: 'no' }], error: true }] },
    ]), blobs)
    expect(fake.calls[0]!.prompt).toEqual([
      { role: 'assistant', content: [
        { type: 'reasoning', text: 'hm', providerOptions: metadata },
        { type: 'text', text: 'so', providerOptions: metadata },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: { a: 1 }, providerOptions: metadata },
      ] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'read', output: { type: 'content', value: [{ type: 'text', text: 'x' }, { type: 'image-data', data: 'iVBORw==', mediaType: 'image/png' }] } }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c2', toolName: 'read', output: { type: 'error-text', value: 'no' } }] },
    ])
  })

  it.each([
    ['acme.chat', { acme: { reasoningEffort: 'high' }, other: { a: 1 } }],
    ['anthropic.messages', { anthropic: { effort: 'high' }, other: { a: 1 } }],
    ['google.generative-ai', { google: { thinkingConfig: { thinkingLevel: 'high' } }, other: { a: 1 } }],
  ])('is the reasoning effort where %s looks for it, beside the options that were given', async (provider, expected) => {
    const fake = model([finish()], provider)
    await collect(aiSdkAdapter(fake), request(undefined, { config: { reasoningEffort: 'high', providerOptions: { other: { a: 1 } } } }))
    expect(fake.calls[0]!.providerOptions).toEqual(expected)
  })

  it('is no empty message, and nothing at all where an image is lost', async () => {
    const fake = model([finish()])
    await collect(aiSdkAdapter(fake), request([{ role: 'user', content: [] }, { role: 'assistant', content: [] }, user('a')]))
    expect(fake.calls[0]!.prompt).toEqual([{ role: 'user', content: [{ type: 'text', text: 'a' }] }])
    const { failure } = await failed(aiSdkAdapter(fake), request([{ role: 'user', content: [image] }]))
    expect(failure).toMatchObject({ kind: 'invalid', message: expect.stringContaining(image.digest) })
    expect(fake.calls).toHaveLength(1)
  })
})
