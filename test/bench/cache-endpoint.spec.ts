import { createModelServer } from '@headrace/model-server'
import { expect, it, onTestFinished } from 'vitest'
import { main, measureEndpoint } from './cache-endpoint.ts'

it('an endpoint is asked for five turns with facts in each place, and what it says of its cache is told', async () => {
  const server = await createModelServer(() => 'Function.')
  onTestFinished(() => server.close())
  const full = async (channel: 'history' | 'system'): Promise<number> =>
    (await measureEndpoint(channel, { model: 'scripted', baseURL: server.url })).reduce((sum, { input, cached }) => sum + input - cached, 0)
  expect(await full('history')).toBeLessThan(await full('system'))
  const printed: string[] = []
  await main({ HEADRACE_E2E_MODEL: 'scripted', HEADRACE_E2E_BASE_URL: server.url }, (line: string) => void printed.push(line))
  expect(printed).toEqual([expect.stringMatching(/^facts in history: \d+ of \d+ tokens from the cache/), expect.stringMatching(/^facts in the system prompt: \d+ of \d+/)])
  expect(server.requests).toHaveLength(20)
})

it('without a model nothing is asked, and that is no failure', async () => {
  const printed: string[] = []
  await main({}, (line: string) => void printed.push(line))
  expect(printed).toEqual([expect.stringMatching(/^Nothing was measured/)])
})
