import { type ModelServer, type ModelServerOptions, type Script, createModelServer, lastUser } from '@headrace/model-server'
import { sha256 } from '@headrace/message'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { HELLO, calls, chunks, errorOf, join, lines, post, stream } from './client.ts'

let server: ModelServer
afterEach(() => server.close())
const start = async (script: Script, options?: ModelServerOptions) => server = await createModelServer(script, options)

describe('an answer', () => {
  it('streams text in pieces that join to the text, between a role and a finish', async () => {
    await start((body) => ({ text: `You said: ${lastUser(body)} 😀😀😀`, chunkSize: 3 }))
    const response = await stream(server)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const all = await chunks(response)
    expect(all[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' })
    expect(join(all, 'content')).toBe('You said: Hello 😀😀😀')
    expect(all.length).toBeGreaterThan(7)
    expect(all.every((chunk) => (chunk.choices[0]?.delta.content ?? '').isWellFormed())).toBe(true)
    expect(all.at(-1)?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' })
    expect(all.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean)).toEqual(['stop'])
    expect(all.some((chunk) => 'usage' in chunk)).toBe(false)
  })

  it('streams reasoning before text', async () => {
    await start(() => ({ reasoning: 'Let me think about it.', text: 'Done.' }))
    const all = await chunks(await stream(server))
    expect(join(all, 'reasoning_content')).toBe('Let me think about it.')
    expect(join(all, 'content')).toBe('Done.')
    const kinds = all.flatMap((chunk) => Object.keys(chunk.choices[0]?.delta ?? {}))
    expect(kinds.lastIndexOf('reasoning_content')).toBeLessThan(kinds.indexOf('content', 2))
  })

  it('streams each tool call as its id and name, then its arguments in pieces', async () => {
    await start(() => ({
      text: 'Reading.',
      toolCalls: [{ name: 'read', arguments: { path: 'src/a-long-name.ts' } }, { name: 'list', arguments: '{"not json', id: 'mine' }],
      chunkSize: 5,
    }))
    const all = await chunks(await stream(server))
    const [read, list] = calls(all)
    expect(read).toMatchObject({ name: 'read', arguments: '{"path":"src/a-long-name.ts"}', pieces: 7 })
    expect(read?.id).toMatch(/^call_[0-9a-f]{24}$/)
    expect(list).toMatchObject({ id: 'mine', name: 'list', arguments: '{"not json', pieces: 3 })
    expect(all.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls')
  })

  it('comes as one body when it is not streamed', async () => {
    await start(() => ({ reasoning: 'Hm.', text: 'Hi', toolCalls: [{ name: 'read', arguments: { path: 'a' } }] }))
    const body = await (await post(server, {})).json() as { choices: unknown[]; usage: unknown }
    expect(body).toMatchObject({ object: 'chat.completion', model: 'm' })
    expect(body.choices).toMatchObject([{
      finish_reason: 'tool_calls',
      message: { role: 'assistant', content: 'Hi', reasoning_content: 'Hm.', tool_calls: [{ type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } }] },
    }])
    expect(body.usage).toMatchObject({ completion_tokens: 1 + Math.ceil('Hireadxxxxxxxxxxxx'.length / 4), completion_tokens_details: { reasoning_tokens: 1 } })
  })

  it('has the same ids for the same conversation, streamed or not, and others for another', async () => {
    await start(() => ({ toolCalls: [{ name: 'a', arguments: {} }, { name: 'a', arguments: {} }] }))
    const ids = async (messages = HELLO) => calls(await chunks(await stream(server, { messages }))).map((call) => call.id)
    const [once, again, other] = [await ids(), await ids(), await ids([{ role: 'user', content: 'Hello?' }])]
    expect(again).toEqual(once)
    expect(new Set([...once, ...other]).size).toBe(4)
    const whole = await (await post(server, {})).json() as { choices: { message: { tool_calls: { id: string }[] } }[] }
    expect(whole.choices[0]?.message.tool_calls.map((call) => call.id)).toEqual(once)
  })

  it.each(['length', 'content_filter'] as const)('finishes with %s when told so', async (finish) => {
    await start(() => ({ text: 'Half', finish }))
    expect((await chunks(await stream(server))).at(-1)?.choices[0]?.finish_reason).toBe(finish)
  })

  it('bills only a client that asks, in a last event without choices', async () => {
    await start(() => ({ text: 'Hi there', usage: { input: 100, cached: 64, output: 7 } }))
    const all = await chunks(await stream(server, { stream_options: { include_usage: true } }))
    expect(all.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true)
    expect(all.at(-1)?.choices).toEqual([])
    expect(all.at(-1)?.usage).toMatchObject({
      prompt_tokens: 100, completion_tokens: 7, total_tokens: 107, cached_tokens: 64,
      prompt_tokens_details: { cached_tokens: 64 }, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36,
    })
    expect(server.requests[0]?.usage).toEqual({ input: 100, cached: 64, written: 0, output: 7 })
  })

  it('never claims more cached tokens than it claims there were', async () => {
    await start(() => ({ text: 'ok', usage: { input: 50 } }))
    for (let time = 0; time < 2; time++) await post(server, { messages: [{ role: 'user', content: 'x'.repeat(1_000) }] })
    expect(server.requests.map((request) => [request.usage?.input, request.usage?.cached])).toEqual([[50, 0], [50, 50]])
  })

  it('sends no usage at all when told so', async () => {
    await start(() => ({ text: 'Hi', usage: null }))
    expect((await chunks(await stream(server, { stream_options: { include_usage: true } }))).some((chunk) => 'usage' in chunk)).toBe(false)
    expect(await (await post(server, {})).json()).not.toHaveProperty('usage')
  })

  it('reads from its cache what a request shares with an earlier one of the same model', async () => {
    await start(() => 'ok')
    const long: typeof HELLO = [{ role: 'user', content: 'x'.repeat(4_000) }]
    const bill = async (model: string, messages = long) => {
      await post(server, { model, messages })
      return server.requests.at(-1)?.usage
    }
    const one = await bill('a')
    expect(one).toMatchObject({ input: Math.ceil(JSON.stringify(long[0]).length / 4 + 0.25), cached: 0 })
    const two = await bill('a', [...long, { role: 'assistant', content: 'ok' }, { role: 'user', content: 'y'.repeat(400) }])
    expect(two?.cached).toBe(Math.floor(one!.input / 64) * 64)
    expect((await bill('b'))?.cached).toBe(0)
    expect((await bill('a', [{ role: 'system', content: 'Be brief.' }, ...long]))?.cached).toBe(0)
  })
})

describe('a request', () => {
  it('is recorded with its exact text and digest, its key not', async () => {
    await start(() => 'ok', { apiKey: 'sk-secret' })
    const raw = `{ "model":"m",\n "messages" : [{"role":"user","content":"h\\u00e9 ü"}] }`
    vi.spyOn(Date, 'now').mockReturnValue(1_700_000_000_000)
    onTestFinished(() => void vi.restoreAllMocks())
    await post(server, raw, { headers: { authorization: 'Bearer sk-secret', 'x-api-key': 'sk-secret', 'x-title': 'test' } })
    await server.idle()
    const [request] = server.requests
    expect(request).toMatchObject({ index: 0, raw, path: '/v1/chat/completions', status: 200, outcome: 'answered', digest: sha256(raw) })
    expect(request?.body.messages).toEqual([{ role: 'user', content: 'hé ü' }])
    expect(Object.isFrozen(request?.body.messages[0])).toBe(true)
    expect(request?.headers).toMatchObject({ 'authorization': '[redacted]', 'x-api-key': '[redacted]', 'x-title': 'test' })
    expect(JSON.stringify(server.requests)).not.toContain('sk-secret')
    expect(request?.time).toBe(1_700_000_000_000)
  })

  it('without the key is refused, when there is one', async () => {
    await start(() => 'ok', { apiKey: 'sk-secret' })
    const response = await post(server, {}, { headers: { authorization: 'Bearer wrong' } })
    expect(response.status).toBe(401)
    expect(await errorOf(response)).toMatchObject({ code: 'invalid_api_key' })
    expect(server.requests).toEqual([])
    expect(JSON.stringify(server.refused)).not.toContain('wrong')
  })

  it('tells the script how many came before', async () => {
    await start((_, { index, request }) => `${index} ${request.index} ${request.body.model}`)
    await post(server, {})
    expect(join(await chunks(await stream(server)), 'content')).toBe('1 1 m')
  })

  it('gets a 500 with the message when the script throws, or returns nothing', async () => {
    await start(((_body, { index }) => {
      if (index === 0) throw new Error('no idea')
    }) as Script)
    const thrown = await post(server, {})
    expect(thrown.status).toBe(500)
    expect(await errorOf(thrown)).toMatchObject({ code: 'script_error', message: 'no idea' })
    expect(await errorOf(await post(server, {}))).toMatchObject({ code: 'script_error', message: expect.stringContaining('undefined') as string })
    expect(server.requests.map((request) => request.status)).toEqual([500, 500])
  })
})

it('lists its models', async () => {
  await start(() => 'ok', { models: ['a', 'b'] })
  expect(await (await fetch(`${server.url}/models`)).json()).toMatchObject({ object: 'list', data: [{ id: 'a', object: 'model' }, { id: 'b' }] })
})

it('delivers a long answer in small pieces whole', async () => {
  const text = 'lorem ipsum '.repeat(5_000)
  await start(() => ({ text, chunkSize: 20 }))
  expect(join(await chunks(await stream(server)), 'content')).toBe(text)
})

it('answers many requests at once, each with its own', async () => {
  await start((body) => ({ text: lastUser(body), delay: 1, chunkSize: 2 }))
  const words = Array.from({ length: 20 }, (_, index) => `word number ${index}`)
  const answers = await Promise.all(words.map(async (content) => join(await chunks(await stream(server, { messages: [{ role: 'user', content }] })), 'content')))
  expect(answers).toEqual(words)
  expect((await lines(await stream(server))).at(-1)).toBe('[DONE]')
})
