import type { Request } from '@headrace/message'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Profiles, DEFAULT_WINDOW, OverflowError, ProfileError, RequestBudget, calibratedCounter, heuristicCounter, toProfile, weighContext } from '../src/index.ts'
import { plainCounter } from '../src/plain.ts'
import { context, request, someContext, someParts, tool, usage, user, withContext } from './values.ts'

const counter = plainCounter('length', (text) => text.length)
const small = { window: 1_000, completionReserve: 100, safetyMargin: 10 }

describe('a profile', () => {
  const profileFor = (profiles: Profiles, model: string) => new RequestBudget({ counter, profiles }).profileFor(model)

  it('of a model nobody described is the documented default', () => {
    expect(profileFor({}, 'x/y')).toEqual({ window: 128_000, completionReserve: 8_192, safetyMargin: 2_560, counter })
    expect(DEFAULT_WINDOW).toBe(128_000)
  })

  it('fills what it leaves out in proportion to its window', () => {
    expect(toProfile({ window: 4_000 })).toEqual({ window: 4_000, completionReserve: 1_000, safetyMargin: 80 })
  })

  it('is found by pattern; the most literal one wins, in any order', () => {
    const rules = { '*': { window: 1_001 }, 'a/*': { window: 1_002 }, 'a/big-*': { window: 1_003 }, 'a/big-one': { window: 1_004 } }
    for (const profiles of [rules, Object.fromEntries(Object.entries(rules).reverse())]) {
      expect(['b/x', 'a/x', 'a/big-two', 'a/big-one'].map((model) => profileFor(profiles, model).window)).toEqual([1_001, 1_002, 1_003, 1_004])
    }
  })

  it('matches whole names, and its signs are not a regular expression', () => {
    const profiles = { 'a/m.1': { window: 1_001 }, 'a/[x]+\\d': { window: 1_002 } }
    expect(['a/m.1', 'a/m21', 'za/m.1', 'a/m.1z', 'a/[x]+\\d', 'a/x1'].map((model) => profileFor(profiles, model).window)).toEqual([1_001, 128_000, 128_000, 128_000, 1_002, 128_000])
  })

  it.each([{ window: 1.5 }, { window: -1 }, { window: 100, completionReserve: 90, safetyMargin: 10 }, { safetyMargin: Number.NaN }, { window: 0 }])('that nothing fits is refused by pattern: %j', (profile) => {
    expect(() => new RequestBudget({ counter, profiles: { 'a/*': profile } })).toThrow(ProfileError)
    expect(() => new RequestBudget({ counter, profiles: { 'a/*': profile } })).toThrow(/^profile "a\/\*": /)
  })
})

describe('a request', () => {
  const budget = new RequestBudget({ counter, profiles: { 'p/m': small, 'p/large': { ...small, window: 100_000 } } })
  const room = 1_000 - 100 - 10

  it('fits to the last token, and not one more', () => {
    expect(budget.check(request({ history: [user('x'.repeat(room - 4))] }))).toMatchObject({ fits: true, terms: { total: room, free: 0 } })
    expect(budget.check(request({ history: [user('x'.repeat(room - 3))] }))).toMatchObject({ fits: false, terms: { total: room + 1, free: -1 } })
  })

  it('that does not fit gives an error that states every term on one line', () => {
    const run = context('head', 'tail')
    const parts = withContext({ system: 'system', tools: [tool('read')], prefix: [user('p')], before: [user('b')], history: [user('x'.repeat(1_000))], after: [user('a')] }, run)
    const decision = budget.check(request(parts), budget.weigh(run))
    if (decision.fits) throw new Error('it fits')
    const { error, terms } = decision
    expect(error).toBeInstanceOf(OverflowError)
    expect(error).toMatchObject({ code: 'REQUEST_OVERFLOW', model: 'p/m', terms })
    expect(Object.keys(terms).sort()).toEqual(['after', 'before', 'context', 'correction', 'free', 'history', 'margin', 'prefix', 'reserve', 'system', 'tools', 'total', 'window'])
    expect(error.message).not.toContain('\n')
    expect(error.message).toContain('p/m')
    for (const [term, tokens] of Object.entries(terms)) expect(error.message).toMatch(new RegExp(`\\b${term} (of )?${tokens}\\b`))
  })

  it('has terms that add up to its window', () => {
    fc.assert(fc.property(someParts, someContext, (parts, run) => {
      const { terms } = budget.check(request(withContext(parts, run)), budget.weigh(run))
      const { reserve, margin, system, tools, prefix, before, history, after, context, correction, free } = terms
      expect(reserve + margin + system + tools + prefix + before + history + after + context + correction + free).toBe(terms.window)
    }))
  })

  it('reserves what its config lets the model write', () => {
    expect(budget.check(request({ maxOutputTokens: 500 })).terms).toMatchObject({ reserve: 500, free: 490 })
  })

  it('is tried for a substitute by the substitute\'s own window', () => {
    const large = request({ history: [user('x'.repeat(2_000))] })
    expect(budget.check(large).fits).toBe(false)
    expect(budget.check({ ...large, config: { model: 'p/large' } }).fits).toBe(true)
  })

  it('of the message package is one that can be checked as it is', () => {
    const { config, messages, segments } = request({ history: [user('hello')] })
    const full: Request = { config, messages, segments, owners: ['user'], signal: new AbortController().signal }
    expect(budget.check(full).fits).toBe(true)
  })
})

describe('weights', () => {
  const double = plainCounter('double', (text) => text.length * 2)
  const run = context('head', 'the tail')

  it('of context and tools are the loop\'s counter\'s as text; the profile\'s counter counts the conversation', () => {
    const budget = new RequestBudget({ counter, profiles: { '*': { ...small, counter: double } } })
    const { terms } = budget.check(request(withContext({ tools: [tool('read')], history: [user('hello')] }, run)), budget.weigh(run))
    expect(terms).toMatchObject({ context: 12, tools: JSON.stringify(tool('read')).length, history: 4 + 10, before: 0, after: 0 })
  })

  it('are taken once: a check of another step, attempt or substitute weighs no context and no tool again', () => {
    const texts: string[] = []
    const spy = plainCounter('spy', (text) => (texts.push(text), text.length))
    const budget = new RequestBudget({ counter: spy, profiles: { 'p/*': { ...small, counter } } })
    const weight = budget.weigh(run)
    const tools = [tool('read')]
    for (const model of ['m', 'm', 'n']) budget.check(request(withContext({ model, tools }, run)), weight)
    expect(texts).toEqual(['head', 'the tail', JSON.stringify(tool('read'))])
  })

  it('do not change what a bill says, and bills reach the counter that counts for the model', () => {
    fc.assert(fc.property(someParts, someContext, fc.integer({ min: 1, max: 5_000 }), (parts, present, billed) => {
      const calibrated = calibratedCounter(double)
      const budget = new RequestBudget({ counter: heuristicCounter(), profiles: { 'p/m': { ...small, counter: calibrated } } })
      const sent = request(withContext(parts, present))
      budget.recordUsage(sent, usage(billed), { contextDigest: present.digest })
      const weight = budget.weigh(present)
      expect(budget.check(sent, weight).terms).toMatchObject({ total: billed, context: weight.tokens })
      expect(budget.check({ ...sent, config: { model: 'p/other' } }, weight).terms.correction).toBe(0)
      budget.invalidate('compacted')
      expect(budget.check(sent, weight).terms.correction).toBe(0)
    }))
  })

  it('can be taken with any counter', () => {
    expect(weighContext(double, run)).toMatchObject({ digest: run.digest, tokens: 24, head: run.headMessage, tail: run.tailMessage })
  })
})
