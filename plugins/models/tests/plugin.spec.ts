import * as agentPlugin from '@headrace/agent'
import { createModelServer } from '@headrace/model-server'
import type { Chunk } from '@headrace/message'
import * as models from '@headrace/plugin-models'
import { Context } from 'cordis'
import { request, text, use } from '@headrace/testing/adapter'
import { afterEach, describe, expect, it, vi } from 'vitest'

afterEach(() => vi.unstubAllEnvs())

async function app(config?: models.Config): Promise<{ ctx: Context; unload(): Promise<unknown> }> {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, {})
  const fiber = await ctx.plugin(models, config)
  return { ctx, unload: () => fiber.dispose() }
}

async function ask(ctx: Context, provider: string, name = 'm'): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of ctx.llm.stream(request(undefined, { config: { model: `${provider}/${name}` } }))) chunks.push(chunk)
  return chunks
}

describe('the plugin', () => {
  it('has the presets by name without any config, and takes all of them along when it goes', async () => {
    const { ctx, unload } = await app()
    expect(ctx.llm.providers()).toEqual([
      'anthropic', 'cerebras', 'deepseek', 'google', 'groq', 'llama.cpp', 'lmstudio', 'mistral', 'moonshot', 'ollama', 'openai', 'openai-chat', 'openrouter', 'sglang', 'vllm', 'xai',
    ])
    expect(models.presets().map(({ name }) => name).sort()).toEqual(ctx.llm.providers())
    await unload()
    expect(ctx.llm.providers()).toEqual([])
  })

  it.each(models.presets().flatMap(({ name, apiKeyEnv }) => apiKeyEnv === undefined ? [] : [[name, apiKeyEnv]] as const))('asks for the key of %s in %s', async (provider, variable) => {
    vi.stubEnv(variable, '')
    vi.stubEnv('HEADRACE_API_KEY', '')
    const { ctx } = await app()
    await expect(ask(ctx, provider)).rejects.toThrow(`there is no key for ${provider}: set ${variable} (or HEADRACE_API_KEY)`)
  })

  it('has no presets where it is told so, and the providers that are configured', async () => {
    const server = use(await createModelServer(() => 'Hello.'))
    const { ctx } = await app({ presets: false, providers: { mine: { baseURL: `${server.url}/` } } })
    expect(ctx.llm.providers()).toEqual(['mine'])
    expect(text(await ask(ctx, 'mine'))).toBe('Hello.')
    expect(server.requests[0]!.path).toBe('/v1/chat/completions')
  })

  it('lets a provider change the preset of its name, which then needs no key of the old place', async () => {
    vi.stubEnv('OPENAI_API_KEY', '')
    vi.stubEnv('HEADRACE_API_KEY', '')
    const server = use(await createModelServer(() => 'Hello.'))
    const { ctx } = await app({ providers: { openai: { baseURL: server.url } } })
    expect(text(await ask(ctx, 'openai'))).toBe('Hello.')
  })

  it('lists the models of an endpoint', async () => {
    const server = use(await createModelServer(() => 'Hello.', { models: ['a', 'b'], apiKey: 'right' }))
    const { ctx } = await app({ presets: false, providers: { mine: { baseURL: `${server.url}//`, apiKey: 'right' }, wrong: { baseURL: server.url, apiKey: 'wrong' } } })
    const listed = (name: string) => ctx.llm.models(name)
    expect(await listed('mine')).toEqual(['a', 'b'])
    await expect(listed('wrong')).rejects.toMatchObject({ failure: { kind: 'auth', status: 401 } })
  })

  it.each([
    [{ providers: { mine: {} } }, /providers\.mine has no baseURL/],
    [{ providers: { mine: { baseURL: 'localhost:8000' } } }, /providers\.mine\.baseURL must be/],
    [{ providers: { 'a/b': { baseURL: 'http://localhost' } } }, /"a\/b" cannot name a provider/],
    [{ providers: { mine: { baseURL: 'http://localhost', idle: -1 } } }, /idle/],
    [{ providers: { mine: { baseURL: 'http://localhost', systemMessages: 'assistant' as never } } }, /systemMessages/],
  ])('refuses %j', async (config, message) => {
    await expect(app(config)).rejects.toThrow(message)
  })

  it('marks keys as secrets', () => {
    const provider = models.Config.dict!.providers!.inner!
    expect(provider.dict!.apiKey!.meta.role).toBe('secret')
    expect(provider.dict!.headers!.inner!.meta.role).toBe('secret')
    expect(provider.dict!.query!.inner!.meta.role).toBe('secret')
  })
})
