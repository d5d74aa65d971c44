import type { Context } from 'cordis'
import { expect, it } from 'vitest'
import type { Adapter } from '@headrace/agent'
import { RequestBudget, costOf, heuristicCounter, modelInfo } from '@headrace/tokens'
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

it('an app’s own rows stand in front of the known models, or in their place: for costs, and for the window of a budget', async () => {
  const row = { context: 50_000, rates: { input: 1, cached: 0.5, output: 2 } }
  const budget = new RequestBudget({ counter: heuristicCounter() })
  const made = (settings: object) => harness({ plugins: [providers], agent: { model: 'lab/own', budget }, settings })
  const own = await made({ models: { 'lab/own': row } })
  const { cost } = await own.agent.prompt('a').result
  expect(cost).toBeCloseTo((6_000 + 4_000 * 0.5 + 500 * 2) / 1e6, 6)
  expect(own.ctx.llm.info('lab/own-20260101')).toMatchObject({ context: 50_000, rates: { written: 1 } })
  expect((await own.events()).findLast(({ type }) => type === 'step/end')?.data).toMatchObject({ budget: { window: 50_000 } })
  expect((await own.agent.prompt('b', { config: { model: known } }).result).cost).toBeCloseTo(one, 6)
  await own.dispose()
  const alone = await made({ models: { 'lab/own': row }, knownModels: false })
  expect(await alone.agent.prompt('a', { config: { model: known } }).result).not.toHaveProperty('cost')
  expect([alone.ctx.llm.info(known), alone.ctx.llm.info('lab/own')?.context]).toEqual([undefined, 50_000])
  await alone.dispose()
  await expect(made({ models: { 'lab/own': { context: 0 } } })).rejects.toThrow('models["lab/own"].context must be a whole number of tokens')
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
