import type { Context } from 'cordis'
import { expect, it } from 'vitest'
import type { Adapter } from '@headrace/agent'
import { costOf, modelInfo } from '@headrace/tokens'
import { harness } from '@headrace/testing'

const usage = { input: 10_000, cached: 4_000, written: 1_000, output: 500 }
const known = 'anthropic/claude-sonnet-4-5'
const adapter: Adapter = { async *stream() {
  yield { type: 'text', text: 'ok' }
  yield { type: 'usage', usage }
  yield { type: 'finish', reason: 'stop' }
} }
const providers = { name: 'providers', inject: ['llm'], apply: async (ctx: Context) => {
  for (const name of ['anthropic', 'lab']) ctx.llm.adapter(name, adapter)
} }
const one = costOf(usage, modelInfo(known))!

it('a turn says what its requests cost, side requests included, and each turn by itself', async () => {
  const asking = { name: 'asking', inject: ['agents'], apply: async (ctx: Context) => void ctx.on('agent/turn-stopping', async (agent, turn) => {
    if (turn.number === 2) await agent.ask(['Sum up.'], { purpose: 'summary' })
  }) }
  const h = await harness({ plugins: [providers, asking], agent: { model: known } })
  const costs = []
  for (const prompt of ['a', 'b', 'c']) costs.push((await h.agent.prompt(prompt).result).cost)
  expect(costs).toEqual([one, 2 * one, one].map((cost) => expect.closeTo(cost, 6) as number))
  await h.resume()
  expect((await h.agent.prompt('d').result).cost).toBeCloseTo(one, 6)
  await h.dispose()
})

it('where the rates of one model are not known it says nothing, and never 0', async () => {
  const h = await harness({ plugins: [providers], agent: { model: 'lab/own' } })
  expect(await h.agent.prompt('a').result).not.toHaveProperty('cost')
  expect((await h.agent.prompt('b', { config: { model: known } }).result).cost).toBeCloseTo(one, 6)
  expect(await h.agent.prompt('c').result).not.toHaveProperty('cost')
  const withdrawn = h.agent.prompt('d')
  withdrawn.cancel()
  expect(await withdrawn.result).not.toHaveProperty('cost')
  await h.dispose()
})
