import type { Message } from '@headrace/message'
import { sha256 } from '@headrace/message'
import { aiSdkAdapter } from '@headrace/plugin-ai-sdk'
import { collect, failed, request, system, user } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { finish, model } from './help.ts'

const bytes = new Uint8Array([137, 80, 78, 71])
const image = { type: 'image', digest: sha256(bytes), mediaType: 'image/png' } as const
const blob = async (digest: string): Promise<Uint8Array | undefined> => digest === image.digest ? bytes : undefined

describe('what any AI SDK model gets', () => {
  const metadata = { acme: { signature: 's' } }
  const asked: readonly Message[] = [
    user('go'),
    { role: 'assistant', content: [
      { type: 'reasoning', text: 'hm', metadata }, { type: 'text', text: 'so', metadata },
      { type: 'tool-call', id: 'c1', name: 'read', arguments: '{"a": 1}', metadata }, { type: 'tool-call', id: 'c 2', name: 'read', arguments: '{' },
    ] },
    { role: 'tool', content: [{ type: 'tool-result', id: 'c1', name: 'read', content: [{ type: 'text', text: 'x' }, image], error: true }] },
    { role: 'tool', content: [{ type: 'tool-result', id: 'c 2', name: 'read', content: [{ type: 'text', text: 'no' }], error: true }] },
  ]

  it('is arguments as an object, results of a step in one message, and metadata where the same model wrote it', async () => {
    const fake = model([finish()])
    await collect(aiSdkAdapter(fake), request(asked, { writers: [undefined, 'local/m', undefined, undefined] }), blob)
    const [, answer, results] = fake.calls[0]!.prompt
    expect(answer).toEqual({ role: 'assistant', content: [
      { type: 'reasoning', text: 'hm', providerOptions: metadata },
      { type: 'text', text: 'so', providerOptions: metadata },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: { a: 1 }, providerOptions: metadata },
      { type: 'tool-call', toolCallId: expect.stringMatching(/^call_[0-9a-f]{32}$/), toolName: 'read', input: { unparsed: '{' } },
    ] })
    const value = [{ type: 'text', text: 'x' }, { type: 'image-data', data: 'iVBORw==', mediaType: 'image/png' }]
    expect(results).toEqual({ role: 'tool', content: [
      { type: 'tool-result', toolCallId: 'c1', toolName: 'read', output: { type: 'content', value } },
      { type: 'tool-result', toolCallId: expect.stringMatching(/^call_/), toolName: 'read', output: { type: 'error-text', value: 'no' } },
    ] })
  })

  it('is neither reasoning nor metadata of another model', async () => {
    const fake = model([finish()])
    await collect(aiSdkAdapter(fake), request(asked, { writers: [undefined, 'local/other', undefined, undefined] }), blob)
    expect(JSON.stringify(fake.calls[0]!.prompt)).not.toMatch(/acme|"hm"/)
  })

  it.each([
    ['v2', { type: 'media', data: 'iVBORw==', mediaType: 'image/png' }, 'iVBORw=='],
    ['v3', { type: 'image-data', data: 'iVBORw==', mediaType: 'image/png' }, 'iVBORw=='],
    ['v4', { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } }, { type: 'data', data: 'iVBORw==' }],
  ])('is an image in the words of specification %s', async (version, inResult, data) => {
    const fake = { ...model([finish()]), specificationVersion: version as never }
    await collect(aiSdkAdapter(fake), request([{ role: 'user', content: [image] }, ...asked.slice(1)]), blob)
    expect(fake.calls[0]!.prompt[0]).toEqual({ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data }] })
    expect(JSON.stringify(fake.calls[0]!.prompt[2])).toContain(JSON.stringify(inResult))
  })

  it('is a system message in mid-conversation framed as the user’s, but for OpenAI’s models, or as it is said', async () => {
    const sent = async (provider: string, options = {}): Promise<unknown> => {
      const fake = model([finish()], provider)
      await collect(aiSdkAdapter(fake, options), request([user('a'), system('note')]))
      return fake.calls[0]!.prompt.at(-1)
    }
    const framed = { role: 'user', content: [{ type: 'text', text: '<system>\nnote\n</system>' }] }
    expect(await sent('google.generative-ai')).toEqual(framed)
    expect(await sent('openai.responses')).toEqual({ role: 'system', content: 'note' })
    expect(await sent('openai.responses', { systemMessages: 'user' })).toEqual(framed)
  })

  it('stores nothing at OpenAI, unless it is told to', async () => {
    const fake = model([finish()], 'openai.responses')
    await collect(aiSdkAdapter(fake))
    await collect(aiSdkAdapter(fake), request(undefined, { config: { providerOptions: { openai: { store: true } } } }))
    expect(fake.calls.map(({ providerOptions }) => providerOptions)).toEqual([{ openai: { store: false } }, { openai: { store: true } }])
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
