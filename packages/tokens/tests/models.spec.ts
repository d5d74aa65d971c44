import { MODELS, RequestBudget, costOf, heuristicCounter, modelInfo, modelTable } from '@headrace/tokens'
import { describe, expect, it } from 'vitest'

describe('what is known of a model', () => {
  it.each([
    ['anthropic/claude-sonnet-4-5-20250929', 'anthropic/claude-sonnet-4-5'], ['openrouter/anthropic/claude-opus-4.5', 'anthropic/claude-opus-4-5'],
    ['openai/gpt-5-mini', 'openai/gpt-5-mini'], ['openai-chat/gpt-4o-2024-08-06', 'openai/gpt-4o'], ['google/gemini-3-pro-preview', 'google/gemini-3-pro'],
  ])('%s is %s', (model, row) => expect(modelInfo(model)).toBe(MODELS[row]))

  it.each(['openai/gpt-5.99', 'openai/gpt-4', 'anthropic/claude-opus-5-9', 'lab/any', 'claude'])('of %s nothing is', (model) => expect(modelInfo(model)).toBeUndefined())

  it('an app’s own rows come first', () => {
    const mine = modelTable({
      'lab/any': { context: 16_000 }, 'anthropic/claude-sonnet-5': { context: 200_000 }, 'OpenAI/gpt-4-1': { context: 1, rates: { input: 2, output: 8 } },
    })
    expect(modelInfo('lab/any', mine)).toEqual({ context: 16_000 })
    expect(modelInfo('openrouter/anthropic/claude-sonnet-5-20260101', mine)).toEqual({ context: 200_000 })
    expect(modelInfo('openai/gpt-4.1', mine)).toEqual({ context: 1, rates: { input: 2, cached: 2, written: 2, output: 8 } })
    expect(modelInfo('openai/gpt-4.1-mini', mine)).toBe(MODELS['openai/gpt-4.1-mini'])
    expect(modelInfo('openai/gpt-4.1-mini', modelTable({}, {}))).toBeUndefined()
  })

  it('the dearer rates of several tiers hold in order of their tokens, whichever comes first in the row', () => {
    const rates = (input: number): object => ({ input, output: 0 })
    const row = { context: 9, rates: rates(1), above: [{ tokens: 200, rates: rates(3) }, { tokens: 100, rates: rates(2) }] }
    const table = modelTable({ 'lab/any': row as never })
    const price = (input: number): number | undefined => costOf({ input, cached: 0, written: 0, output: 0 }, modelInfo('lab/any', table))
    expect([100, 150, 250].map(price)).toEqual([0.0001, 0.0003, 0.00075])
  })

  it.each<[unknown, string]>([
    [null, 'models["lab/any"] must have fields of context, output, rates, above, images'], [{}, 'models["lab/any"].context must be a whole number of tokens'],
    [{ context: '16k' }, 'models["lab/any"].context'], [{ context: 1, price: 2 }, 'models["lab/any"].price is none of context'],
    [{ context: 1, rates: { input: 1 } }, 'models["lab/any"].rates.output must be US dollars'], [{ context: 1, rates: { input: -1, output: 1 } }, 'rates.input'],
    [{ context: 1, above: {} }, 'above must be a list'], [{ context: 1, above: [{ tokens: 1, rates: {} }] }, 'above[0].rates.input'], [{ context: 1, images: 'no' }, 'images'],
  ])('a row of %j is refused, naming what is wrong', (row, problem) => expect(() => modelTable({ 'lab/any': row as never })).toThrow(problem))

  it.each(['qwen3', '/qwen3', 'lab/', 'lab/*'])('a row of %s is refused: it would be found for no model', (name) => {
    expect(() => modelTable({ [name]: { context: 1 } })).toThrow(`models["${name}"] must be named as one model is: provider/name`)
  })

  it('a budget counts with the window that is known, unless its profile says one', () => {
    const budget = new RequestBudget({ counter: heuristicCounter(), profiles: { 'anthropic/*': { safetyMargin: 7 }, 'openai/*': { window: 5_000 } } })
    const known = (model: string) => modelInfo(model, modelTable({ 'lab/any': { context: 16_000 } }))
    const of = (model: string): unknown => budget.profileFor(model, known)
    expect(of('anthropic/claude-opus-5')).toMatchObject({ window: 1_000_000, safetyMargin: 7 })
    expect(of('openai/gpt-5')).toMatchObject({ window: 5_000 })
    expect(of('lab/any')).toMatchObject({ window: 16_000, completionReserve: 4_000, safetyMargin: 320 })
    expect(of('lab/other')).toMatchObject({ window: 128_000 })
  })
})

describe('a price', () => {
  it('counts what was read from the cache and written to it at their own rates', () => {
    const usage = { input: 1_000_000, cached: 500_000, written: 100_000, output: 10_000 }
    expect(costOf({ ...usage, input: 100_000, cached: 50_000, written: 10_000 }, modelInfo('anthropic/claude-sonnet-4-5'))).toBeCloseTo(0.04 * 3 + 0.05 * 0.3 + 0.01 * 3.75 + 0.01 * 15)
    expect(costOf(usage, { context: 1 })).toBeUndefined()
  })

  it('of a read is the model’s own part of the input', () => {
    const usage = { input: 1_000_000, cached: 1_000_000, written: 0, output: 0 }
    const read = (model: string): number | undefined => costOf(usage, modelInfo(model))
    expect(['anthropic/claude-opus-5', 'anthropic/claude-opus-5.5', 'anthropic/claude-fable-5-1'].map(read)).toEqual([0.5, 0.2, 0.25])
    expect(costOf({ input: 50_000, cached: 0, written: 0, output: 0 }, modelInfo('anthropic/claude-haiku-5-5'))).toBeCloseTo(0.005)
    expect(costOf({ input: 150_000, cached: 0, written: 0, output: 0 }, modelInfo('anthropic/claude-haiku-5-5'))).toBeCloseTo(0.075)
  })

  it('has tiers', () => {
    const info = modelInfo('google/gemini-3-pro')
    expect(costOf({ input: 300_000, cached: 0, written: 0, output: 0 }, info)).toBeCloseTo(1.2)
    expect(costOf({ input: 100_000, cached: 0, written: 0, output: 0 }, info)).toBeCloseTo(0.2)
  })
})
