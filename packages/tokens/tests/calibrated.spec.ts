import type { Usage } from '@headrace/message'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { calibratedCounter, heuristicCounter, weighContext } from '../src/index.ts'
import { plainCounter } from '../src/plain.ts'
import { type Parts, assistant, context, request, someContext, someMessages, someParts, tool, usage, user, withContext } from './values.ts'

const base = heuristicCounter()
const some: Parts = { system: 'You are brief.', tools: [tool('read')], prefix: [user('opener')], before: [user('framing')], history: [user('hello')], after: [user('now')] }

describe('the calibrated counter', () => {
  it('is its base until something was billed', () => {
    expect(calibratedCounter(base).countRequest(request(some))).toEqual(base.countRequest(request(some)))
  })

  it('counts the billed request as what was billed, whatever the base says', () => {
    fc.assert(fc.property(someParts, fc.integer({ min: 1, max: 100_000 }), (parts, billed) => {
      const counter = calibratedCounter(base)
      counter.recordUsage(request(parts), usage(billed))
      expect(counter.countRequest(request(parts)).total).toBe(billed)
    }))
  })

  it('counts a longer request as the bill and an estimate of what is new', () => {
    fc.assert(fc.property(someParts, someMessages, fc.integer({ min: 1, max: 100_000 }), (parts, added, billed) => {
      const counter = calibratedCounter(base)
      counter.recordUsage(request(parts), usage(billed))
      const longer = request({ ...parts, history: [...parts.history ?? [], ...added] })
      expect(counter.countRequest(longer).total).toBe(billed + base.countMessages(added))
    }))
  })

  it('puts the new request\'s after in the place of the billed one\'s', () => {
    const counter = calibratedCounter(base)
    counter.recordUsage(request(some), usage(5_000))
    const after = [user('a longer state than before')]
    expect(counter.countRequest(request({ ...some, after })).total).toBe(
      5_000 - base.countMessages(some.after ?? []) + base.countMessages(after),
    )
  })

  it('never counts the context twice: a bill includes it', () => {
    fc.assert(fc.property(someParts, someContext, someMessages, fc.integer({ min: 1, max: 100_000 }), (parts, run, added, billed) => {
      const counter = calibratedCounter(base)
      counter.recordUsage(request(withContext(parts, run)), usage(billed), { contextDigest: run.digest })
      const longer = request(withContext({ ...parts, history: [...parts.history ?? [], ...added] }, run))
      const weights = { context: weighContext(base, run), tools: 777 }
      const count = counter.countRequest(longer, weights)
      expect(count.total).toBe(billed + base.countMessages(added))
      expect(count.context).toBe(weights.context.tokens)
    }))
  })

  it('grows with what is appended, message by message, and never shrinks', () => {
    fc.assert(fc.property(someParts, someMessages, fc.integer({ min: 1, max: 10_000 }), (parts, added, billed) => {
      const counter = calibratedCounter(base)
      counter.recordUsage(request(parts), usage(billed))
      let last = counter.countRequest(request(parts)).total
      let history = parts.history ?? []
      for (const message of added) {
        history = [...history, message]
        const { total } = counter.countRequest(request({ ...parts, history }))
        expect(total).toBeGreaterThan(last)
        last = total
      }
    }))
  })

  it('keeps the total the sum of the terms; what the bill says beyond them is the correction', () => {
    fc.assert(fc.property(someParts, someParts, fc.integer({ min: 1, max: 1_000 }), (parts, { after }, billed) => {
      const counter = calibratedCounter(base)
      counter.recordUsage(request(parts), usage(billed))
      const { total, ...terms } = counter.countRequest(request({ ...parts, ...after && { after } }))
      expect(total).toBeGreaterThanOrEqual(0)
      expect(total).toBe(Object.values(terms).reduce((a, b) => a + b))
    }))
  })

  it('learns from the newest bill', () => {
    const counter = calibratedCounter(base)
    counter.recordUsage(request(some), usage(100))
    const longer = request({ ...some, history: [user('hello'), assistant('hi')] })
    counter.recordUsage(longer, usage(300))
    expect(counter.countRequest(longer).total).toBe(300)
  })

  it.each<[string, Usage]>([['zeros', usage(0)], ['NaN', usage(Number.NaN)], ['a negative number', usage(-5)]])('learns nothing from %s', (_, bill) => {
    const counter = calibratedCounter(base)
    counter.recordUsage(request(some), bill)
    expect(counter.countRequest(request(some))).toEqual(base.countRequest(request(some)))
  })

  it('is cheap where little is new: a step on a long history counts only the new texts', () => {
    const countText = vi.fn((text: string) => text.length)
    const history = Array.from({ length: 5_000 }, (_, index) => user(`message ${index}`))
    const counter = calibratedCounter(plainCounter('letters', countText))
    counter.recordUsage(request({ history }), usage(9_000))
    expect(countText).toHaveBeenCalledTimes(5_000)
    countText.mockClear()
    counter.countRequest(request({ history: [...history, user('one more')] }))
    expect(countText.mock.calls).toEqual([['one more']])
  })
})

describe('a bill is dropped', () => {
  const run = context('head', 'tail')
  const other = context('head', 'another tail')

  function countAfter(parts: Parts, digest: string | undefined, next: Parts, present: typeof run | undefined) {
    const counter = calibratedCounter(base)
    const weights = present ? { context: weighContext(base, present) } : {}
    counter.recordUsage(request(parts), usage(50_000), digest === undefined ? {} : { contextDigest: digest })
    return { counter, count: counter.countRequest(request(next), weights), estimate: base.countRequest(request(next), weights) }
  }

  it.each<[string, typeof run | undefined, typeof run | undefined]>([
    ['changes', run, other], ['comes: none → some', undefined, run], ['goes: some → none', run, undefined],
    ['comes empty: an empty one is not none', undefined, context(undefined, undefined)],
  ])('when the context %s', (_, billed, present) => {
    const [before, now] = [billed, present].map((context) => (context ? withContext(some, context) : some))
    const { counter, count, estimate } = countAfter(before!, billed?.digest, now!, present)
    expect(count).toEqual(estimate)
    expect(counter.dropped).toMatch(/^the context changed from \w+ to \w+$/)
  })

  it('once: the old context coming back does not bring it back, and a new bill is kept while its context stays', () => {
    const { counter } = countAfter(withContext(some, run), run.digest, withContext(some, other), other)
    const back = request(withContext(some, run))
    const weights = { context: weighContext(base, run) }
    expect(counter.countRequest(back, weights)).toEqual(base.countRequest(back, weights))
    counter.recordUsage(back, usage(60_000), { contextDigest: run.digest })
    expect(counter.countRequest(back, weights).total).toBe(60_000)
    expect(counter.countRequest(back, weights).total).toBe(60_000)
  })

  it.each<[string, Parts, string]>([
    ['a message of the history is another', { history: [user('hallo'), assistant('x')] }, 'message 2 differs'],
    ['the history is shorter', { history: [] }, 'there are 2 messages, fewer than the 3 billed'],
    ['the prefix differs', { prefix: [user('another opener')] }, 'message 0 differs'],
    ['before differs', { before: [user('another frame')] }, 'message 1 differs'],
    ['the system text differs', { system: 'You are verbose.' }, 'the system text differs'],
    ['a tool came', { tools: [tool('read'), tool('write')] }, 'the tools differ'],
  ])('when %s', (_, change, reason) => {
    const { counter, count, estimate } = countAfter(some, undefined, { ...some, ...change }, undefined)
    expect(count).toEqual(estimate)
    expect(counter.dropped).toContain(reason)
    expect(counter.countRequest(request(some))).toEqual(base.countRequest(request(some)))
  })

  it('when it is invalidated, with the reason', () => {
    const counter = calibratedCounter(base)
    counter.recordUsage(request(some), usage(50_000))
    counter.invalidate('compacted')
    expect(counter.countRequest(request(some))).toEqual(base.countRequest(request(some)))
    expect(counter.dropped).toBe('compacted')
  })

  it('for its own session and model only', () => {
    const counter = calibratedCounter(base)
    counter.recordUsage(request(some), usage(50_000))
    const [substitute, elsewhere] = [request({ ...some, model: 'other' }), request({ ...some, session: 'other', history: [] })]
    expect(counter.countRequest(substitute)).toEqual(base.countRequest(substitute))
    expect(counter.countRequest(elsewhere)).toEqual(base.countRequest(elsewhere))
    expect(counter.countRequest(request(some)).total).toBe(50_000)
    expect(counter.dropped).toBeUndefined()
  })

  it('when too many sessions are newer, so that a counter that serves an app does not grow with it', () => {
    const counter = calibratedCounter(base)
    for (let index = 0; index < 100; index++) counter.recordUsage(request({ ...some, session: `s${index}` }), usage(50_000))
    expect(counter.countRequest(request({ ...some, session: 's99' })).total).toBe(50_000)
    expect(counter.countRequest(request({ ...some, session: 's0' })).total).toBeLessThan(1_000)
  })

  it('not when the same tools and messages come as copies', () => {
    const counter = calibratedCounter(base)
    counter.recordUsage(request(some), usage(50_000))
    expect(counter.countRequest(JSON.parse(JSON.stringify(request(some)))).total).toBe(50_000)
  })
})
