import { expect, it } from 'vitest'
import { FeedbackBound } from '../src/feedback.ts'

const refused = expect.objectContaining({ code: 'LOG_FEEDBACK' }) as unknown

/** How many of so many appends are taken, each so many milliseconds behind the one before. */
function taken(bound: FeedbackBound, appends: number, apart: number, weight = 1): number {
  for (let index = 0; index < appends; index++) {
    try {
      bound.check(0, weight, index * apart)
    } catch (error) {
      expect(error).toEqual(refused)
      return index
    }
  }
  return appends
}

it('what answers itself at once, or a moment later each time, is refused after ten thousand; what comes slower, never', () => {
  expect(taken(new FeedbackBound(), 100_000, 0)).toBe(10_000)
  expect(taken(new FeedbackBound(), 100_000, 0.02)).toBeLessThan(10_200)
  expect(taken(new FeedbackBound(), 100_000, 1)).toBeLessThan(20_001)
  expect(taken(new FeedbackBound(), 100_000, 2)).toBe(100_000)
  expect(taken(new FeedbackBound(), 100_000, 0, 10)).toBe(1_000)
})

it('who adds something to each step is never refused, also where a step takes no time', () => {
  const bound = new FeedbackBound()
  for (let step = 0; step < 1_000; step++) {
    bound.step()
    for (let index = 0; index < 100; index++) bound.check(0, 1, 0)
  }
  expect(taken(bound, 20_000, 0)).toBeLessThan(10_000)
})

it('a pause gives back, and a hundred answers in a row are too many at any pace', () => {
  const bound = new FeedbackBound()
  expect(taken(bound, 20_000, 0)).toBe(10_000)
  expect(() => bound.check(0, 1, 5_000)).toThrow('never end')
  bound.check(0, 1, 15_000)
  expect(() => bound.check(100, 1, 20_000)).toThrow('100 times in a row')
})
