import { MODELS, costOf, modelInfo } from '@headrace/tokens'
import { describe, expect, it } from 'vitest'

describe('what is known of a model', () => {
  it.each([
    ['anthropic/claude-sonnet-4-5-20250929', 'anthropic/claude-sonnet-4-5'], ['openrouter/anthropic/claude-opus-4.5', 'anthropic/claude-opus-4-5'],
    ['openai/gpt-5-mini', 'openai/gpt-5-mini'], ['openai-chat/gpt-4o-2024-08-06', 'openai/gpt-4o'], ['google/gemini-3-pro-preview', 'google/gemini-3-pro'],
  ])('%s is %s', (model, row) => expect(modelInfo(model)).toBe(MODELS[row]))

  it.each(['openai/gpt-5.99', 'openai/gpt-4', 'anthropic/claude-opus-5-9', 'lab/any', 'claude'])('of %s nothing is', (model) => expect(modelInfo(model)).toBeUndefined())

  it('an app’s own rows come first', () => {
    expect(modelInfo('lab/any', { 'lab/any': { context: 16_000 }, ...MODELS })).toEqual({ context: 16_000 })
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
