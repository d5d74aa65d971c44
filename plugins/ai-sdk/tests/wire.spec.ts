import { createOpenAI } from '@ai-sdk/openai'
import { createModelServer } from '@headrace/model-server'
import { type ModelSource, aiSdkAdapter, wireFetch } from '@headrace/plugin-ai-sdk'
import { expect, it, onTestFinished } from 'vitest'
import { collect, request, toolsFor } from '@headrace/testing/adapter'

it('the body of a model that was made in code is made again where its package is told, and says what is missing where it is not', async () => {
  const server = await createModelServer(() => 'Hi.')
  onTestFinished(() => server.close())
  const { chat } = createOpenAI({ baseURL: server.url, apiKey: 'none-at-all', fetch: wireFetch })
  const model: ModelSource = (name) => chat(name) as never
  const asked = request()
  const told = { package: async () => ({ name: '@ai-sdk/openai', version: '3.0.0' }) }
  const sent = (await collect(aiSdkAdapter(model, told), asked)).find(({ type }) => type === 'wire')
  const made = await aiSdkAdapter(model, told).wire!(asked, toolsFor(asked))
  expect(sent).toMatchObject({ digest: made.digest, adapter: made.adapter })
  expect(server.requests).toHaveLength(1)
  await expect(aiSdkAdapter(model).wire!(asked, toolsFor(asked))).rejects.toThrow(/made in code.*make it with fetch: wireFetch, and give aiSdkAdapter\(\) its package/)
  expect(server.requests).toHaveLength(1)
})
