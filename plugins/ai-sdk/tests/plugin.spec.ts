import * as agentPlugin from '@headrace/agent'
import { type Chunk, sha256 } from '@headrace/message'
import { createModelServer } from '@headrace/model-server'
import * as aiSdk from '@headrace/plugin-ai-sdk'
import { Context } from 'cordis'
import { request, text, toolsFor, use } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'
import { finish, model } from './help.ts'

async function app(config?: aiSdk.Config): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, {})
  await ctx.plugin(aiSdk, config)
  return ctx
}

async function ask(ctx: Context, provider: string, name = 'm'): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of ctx.llm.stream(request(undefined, { config: { model: `${provider}/${name}` } }))) chunks.push(chunk)
  return chunks
}

describe('the plugin', () => {
  it('takes AI SDK models and providers in code', async () => {
    const fake = model([{ type: 'text-delta', id: 't', delta: 'Hi.' }, finish()])
    const asked: string[] = []
    const ctx = await app({ models: { one: fake, many: (id) => { asked.push(id); return fake } } })
    expect(text(await ask(ctx, 'one'))).toBe('Hi.')
    expect(text(await ask(ctx, 'many', 'any'))).toBe('Hi.')
    expect(asked).toEqual(['any'])
    await expect(ask(ctx, 'one', 'any')).rejects.toThrow('"m" only')
  })

  it('imports a package when it is used; the body of a request can be made again without being sent', async () => {
    const server = use(await createModelServer(() => 'Hello.'))
    const { wire } = aiSdk.packageAdapter({ package: '@ai-sdk/openai', options: { baseURL: server.url, apiKey: 'none-at-all' } })
    const ctx = await app({ models: { lab: { package: '@ai-sdk/openai', options: { baseURL: server.url, apiKey: 'none-at-all' } } } })
    const asked = request(undefined, { config: { model: 'lab/m' } })
    const { digest, adapter } = await wire!(asked, toolsFor(asked))
    expect(adapter).toMatchObject({ name: '@ai-sdk/openai', version: expect.stringMatching(/^3\./) })
    expect(server.requests.length + server.refused.length).toBe(0)
    await ask(ctx, 'lab').catch(() => undefined)
    expect([...server.requests, ...server.refused].map(({ raw }) => sha256(raw))).toEqual([digest])
  })

  it('says the line that installs a package that is missing, in a version that fits this Node', async () => {
    const ctx = await app({ models: { acme: { package: '@ai-sdk/no-such-provider' } } })
    await expect(ask(ctx, 'acme')).rejects.toThrow(/the package @ai-sdk\/no-such-provider is not installed: npm i @ai-sdk\/no-such-provider/)
    expect(aiSdk.installLine('@ai-sdk/amazon-bedrock', '20.19.0')).toBe('npm i @ai-sdk/amazon-bedrock@4')
    expect(aiSdk.installLine('@ai-sdk/anthropic', '20.19.0')).toBe('npm i @ai-sdk/anthropic@3')
    expect(aiSdk.installLine('@ai-sdk/anthropic', '22.12.0')).toBe('npm i @ai-sdk/anthropic')
    expect(aiSdk.installLine('some-provider', '20.19.0')).toBe('npm i some-provider')
  })

  it('tells once in the log what a model cannot do', async () => {
    const fake = model([{ type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'seed' }] }, finish()])
    const ctx = await app({ models: { one: fake } })
    const lines: unknown[] = []
    ctx.logger.exporter({
      levels: { default: 3 },
      export: (message: { body?: unknown[]; args?: unknown[] }) => lines.push(JSON.stringify(message)),
    } as never)
    await ask(ctx, 'one')
    await ask(ctx, 'one')
    expect(lines.filter((line) => String(line).includes('one: unsupported: seed'))).toHaveLength(1)
  })

  it.each([
    [{ models: { mine: {} } }, /models\.mine names no package/],
    [{ models: { mine: { package: 'x', key: 'y' } } }, /models\.mine has no field "key"/],
    [{ models: { 'a/b': { package: 'x' } } }, /"a\/b" cannot name a provider/],
  ])('refuses %j', async (config, message) => {
    await expect(app(config as never)).rejects.toThrow(message)
  })
})
