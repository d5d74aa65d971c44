import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ToolSchema, digestOf } from '@headrace/message'
import { type EpochHeader, HeaderFold, type SessionEvent, applyHeaderDelta, diffHeader, sameHeader, toHeader } from '@headrace/session'
import { header, headers } from '../../packages/session/tests/header-arbitrary.ts'
import { app, eventsOf, expectRebuilds, plugin, system, tool } from './help.ts'

const config = { model: 'p/m' }
const schema = (name: string): ToolSchema => ({ name, description: `The tool ${name}.`, parameters: { type: 'object' } })
const base: EpochHeader = { config, system: 'one\ntwo\nthree', tools: [schema('a'), schema('c')], prefix: [system('prefix')], owners: {} }

describe('L9 Deltas round-trip or do not exist', () => {
  it('each is verified by applying it: apply(base, diff(base, next)) = next, or fallback, for any two headers', () => {
    let deltas = 0
    fc.assert(fc.property(headers, headers, (from, to) => {
      const delta = diffHeader(from, to)
      if (delta === 'fallback') return
      if (delta) deltas++
      expect(sameHeader(delta ? applyHeaderDelta(from, delta) : toHeader(from), toHeader(to))).toBe(true)
    }), { numRuns: 600 })
    expect(deltas).toBeGreaterThan(10)
  })

  it('and through the log: the fold of what is owed is the header that was to be said, byte for byte', () => {
    fc.assert(fc.property(fc.array(fc.oneof(headers, header), { minLength: 2, maxLength: 5 }), (list) => {
      const fold = new HeaderFold()
      for (const [index, next] of list.entries()) {
        const draft = fold.owed(next)
        if (draft) fold.apply(JSON.parse(JSON.stringify({ seq: index, time: 0, ...draft })) as SessionEvent)
        expect(sameHeader(fold.header!, toHeader(next))).toBe(true)
        expect(digestOf(toHeader(fold.header!).config)).toBe(digestOf(toHeader(next).config))
      }
    }), { numRuns: 300 })
  })

  it.each<[string, Partial<EpochHeader>]>([
    ['tools in another order', { tools: [schema('c'), schema('a')] }],
    ['a tool that stands where its name does not put it', { tools: [schema('a'), schema('c'), schema('b')] }],
    ['two tools of one name', { tools: [schema('a'), schema('a')] }],
    ['another prefix', { prefix: [system('another')] }],
    ['no prefix', { prefix: [] }],
  ])('one that cannot express the change becomes a fallback snapshot: %s', (_, change) => {
    const next = { ...base, ...change }
    expect(diffHeader(base, next)).toBe('fallback')
    const fold = new HeaderFold()
    fold.apply({ seq: 0, time: 0, ...fold.owed(base)! } as SessionEvent)
    const draft = fold.owed(next)!
    expect(draft).toMatchObject({ type: 'request/header', data: { reason: 'fallback' } })
    fold.apply({ seq: 1, time: 0, ...draft } as SessionEvent)
    expect(sameHeader(fold.header!, toHeader(next))).toBe(true)
  })

  it.each<[string, Partial<EpochHeader>, object]>([
    ['a tool in the middle', { tools: [schema('a'), schema('b'), schema('c')] }, { tools: { set: [schema('b')] } }],
    ['a line of the system prompt', { system: 'one\n2\nthree' }, { system: { head: 1, tail: 1, lines: ['2'] } }],
    ['an owner alone', { owners: { config: { model: 'a/x' } } }, { owners: { config: { model: 'a/x' } } }],
    ['nothing', {}, {}],
  ])('one that can is small: %s', (_, change, delta) => {
    expect(diffHeader(base, { ...base, ...change }) ?? {}).toEqual(delta)
  })

  it('in a live log: a tool that comes, a section that changes, then both at once', async () => {
    let words = 'one\ntwo\nthree'
    const made = await app({ plugins: [plugin('changes', (ctx) => {
      tool(ctx, 'a')
      tool(ctx, 'c')
      ctx.system.section({ key: 's', content: () => words })
    })] })
    await made.run('One.')
    const gone = tool(made.ctx, 'b')
    await made.run('Two.')
    words = 'one\n2\nthree'
    gone()
    await made.run('Three.')
    const deltas = eventsOf(await made.events(), 'request/header-delta').map(({ data }) => data.delta)
    expect(deltas).toMatchObject([{ tools: { set: [{ name: 'b' }] } }, { tools: { remove: ['b'] }, system: { head: 1, tail: 1, lines: ['2'] } }])
    expect(eventsOf(await made.events(), 'request/header')).toHaveLength(1)
    await expectRebuilds(made)
  })
})
