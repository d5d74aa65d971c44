import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type TokenCounter, exactCounter, heuristicCounter } from '../src/index.ts'
import { samples } from './samples.ts'

describe('the heuristic counter', () => {
  const heuristic = heuristicCounter()
  let exact: TokenCounter

  beforeAll(async () => {
    exact = await exactCounter()
  })

  it.each(Object.entries(samples))('is between 25 % below and 35 % above the exact count: %s', (_, text) => {
    const ratio = heuristic.countText(text) / exact.countText(text)
    expect(ratio).toBeGreaterThan(0.75)
    expect(ratio).toBeLessThan(1.35)
  })

  it('is within 20 % for all of them together, and above rather than below', () => {
    const sum = (counter: TokenCounter) => Object.values(samples).reduce((total, text) => total + counter.countText(text), 0)
    const ratio = sum(heuristic) / sum(exact)
    expect(ratio).toBeGreaterThan(1)
    expect(ratio).toBeLessThan(1.2)
  })

  it('gives the empty text no token and any other at least one', () => {
    expect(heuristic.countText('')).toBe(0)
    fc.assert(fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
      const tokens = heuristic.countText(text)
      return Number.isSafeInteger(tokens) && tokens >= 1
    }))
  })

  it('weighs scripts by what they cost: the same length of Chinese is dearer than of English', () => {
    expect(heuristic.countText('水'.repeat(100))).toBeGreaterThan(3 * heuristic.countText('the water '.repeat(10)))
  })

  // Squares of these lengths would take longer than a test may.
  it('takes time linear in the length: ten megabytes of anything are counted', () => {
    const pieces = ['a', 'A', ' ', '\n', '-', '-=', '7', '水', '👍', 'the word 12 '].map((piece) => piece.repeat(1_000_000 / piece.length))
    for (const text of pieces) expect(heuristic.countText(text)).toBeGreaterThan(1_000)
  })
})
