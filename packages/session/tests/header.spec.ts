import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defined } from '@headrace/message'
import { type EpochHeader, type HeaderDelta, type SessionEvent, HeaderFold, applyHeaderDelta, byCodeUnits, diffHeader, sameHeader, toHeader } from '@headrace/session'
import { HEADER, system, user } from './log-builder.ts'
import { header, headers } from './header-arbitrary.ts'

const tool = (name: string, description = 'd') => ({ name, description, parameters: { type: 'object' } })
const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
const size = (value: unknown): number => JSON.stringify(value).length

function deltaOf(base: EpochHeader, next: EpochHeader): HeaderDelta {
  const delta = diffHeader(base, next)
  if (delta === undefined || delta === 'fallback') throw new Error(`no delta but ${String(delta)}`)
  return delta
}

describe('diffHeader and applyHeaderDelta', () => {
  it('L9: apply(base, diff(base, next)) = next through JSON, or the diff is a fallback or nothing', () => {
    let deltas = 0
    fc.assert(fc.property(header, header, fc.subarray(['config', 'system', 'tools', 'prefix', 'before', 'after', 'owners'] as const), (base, other, changed) => {
      const next = defined({ ...base, ...Object.fromEntries(changed.map((field) => [field, other[field]])) }) as EpochHeader
      const delta = diffHeader(base, next)
      if (delta === undefined) expect(sameHeader(toHeader(base), toHeader(next))).toBe(true)
      else if (delta !== 'fallback') {
        deltas++
        expect(sameHeader(applyHeaderDelta(toHeader(base), json(delta)), toHeader(next))).toBe(true)
      }
    }), { numRuns: 1_000 })
    expect(deltas).toBeGreaterThan(100)
  })

  it('L9: where the prefix stands and tools stand in order of name, the diff is never a fallback', () => {
    const ordered = (tools: NonNullable<EpochHeader['tools']>) =>
      [...new Map(tools.map((each) => [each.name, each])).values()].sort((a, b) => byCodeUnits(a.name, b.name))
    const inOrder = (item: EpochHeader): EpochHeader => ({ ...item, ...(item.tools && { tools: ordered(item.tools) }) })
    fc.assert(fc.property(header, header, (base, next) => {
      const { prefix: _, ...rest } = next
      const { prefix: _owner, ...owners } = next.owners
      const signed = { ...owners, ...(base.owners.prefix && { prefix: base.owners.prefix }) }
      const moved: EpochHeader = { ...rest, owners: signed, ...(base.prefix && { prefix: base.prefix }) }
      expect(diffHeader(inOrder(base), inOrder(moved))).not.toBe('fallback')
    }), { numRuns: 500 })
  })

  it('gives nothing where nothing changed, however the header came to be', () => {
    fc.assert(fc.property(header, (base) => {
      expect(diffHeader(base, base)).toBeUndefined()
      expect(diffHeader(base, json(base))).toBeUndefined()
      expect(diffHeader(toHeader(json(base)), base)).toBeUndefined()
    }))
  })

  it('writes a tool that comes in the middle as a small delta', () => {
    const tools = Array.from({ length: 60 }, (_, index) => tool(`tool_${String(index).padStart(2, '0')}`, 'what it does '.repeat(40)))
    const base: EpochHeader = { ...HEADER, tools: tools.filter((_, index) => index !== 30), owners: { tools: Object.fromEntries(tools.map(({ name }) => [name, 'a/b'])) } }
    const next = { ...base, tools }
    const delta = deltaOf(base, next)
    expect(delta).toEqual({ tools: { set: [tools[30]] } })
    expect(size(delta)).toBeLessThan(size(tools[30]) + 40)
    expect(deltaOf(next, base)).toEqual({ tools: { remove: ['tool_30'] } })
  })

  it('writes a change of owner alone as a delta, of each kind that a delta can say', () => {
    const base: EpochHeader = { config: HEADER.config, system: 'One', tools: [tool('t')], before: [system('b')], after: [user('a')], owners: { config: { model: 'a/x' }, system: [{ owner: 'a/x', length: 3 }], tools: { t: 'a/x' }, before: ['a/x'], after: ['a/x'] } }
    for (const [field, value] of Object.entries({ config: { model: 'b/y' }, system: [{ owner: 'b/y', length: 3 }], tools: { t: 'b/y' }, before: ['b/y'], after: ['b/y'] })) {
      expect(deltaOf(base, { ...base, owners: { ...base.owners, [field]: value } })).toEqual({ owners: { [field]: value } })
    }
  })

  it('takes away the owner of a config field with null', () => {
    expect(deltaOf({ ...HEADER, owners: { config: { model: 'a/x', stop: 'a/x' } } }, { ...HEADER, owners: { config: { model: 'a/x' } } })).toEqual({ owners: { config: { stop: null } } })
  })

  it('does not take the order of keyed owners for a change', () => {
    expect(diffHeader({ ...HEADER, owners: { tools: { a: 'x/1', b: 'x/2' } } }, { ...HEADER, owners: { tools: { b: 'x/2', a: 'x/1' } } })).toBeUndefined()
  })

  it.each(['__proto__', 'constructor', 'toString', '10', '2', '', 'ü'])('knows a tool named %j and its owner', (name) => {
    const owners = (...names: string[]) => JSON.parse(`{${names.map((each) => `${JSON.stringify(each)}:"a/b"`).join(',')}}`) as Record<string, string>
    const base = { ...HEADER, tools: [tool('m')], owners: { tools: owners('m') } }
    const next = { ...HEADER, tools: [tool('m'), tool(name)].sort((a, b) => byCodeUnits(a.name, b.name)), owners: { tools: owners('m', name) } }
    for (const [from, to] of [[base, next], [next, base]] as const) {
      const applied = applyHeaderDelta(toHeader(from), json(deltaOf(from, to)))
      expect(sameHeader(applied, toHeader(to))).toBe(true)
      expect(Object.keys(applied.owners.tools!).sort()).toEqual(Object.keys(to.owners.tools).sort())
    }
  })

  it.each([
    ['tools that stand otherwise than by name', { ...HEADER, tools: [tool('a'), tool('b')] }, { ...HEADER, tools: [tool('b'), tool('a')] }],
    ['two tools of one name', { ...HEADER, tools: [tool('a')] }, { ...HEADER, tools: [tool('a'), tool('a', 'other')] }],
    ['a new prefix', { ...HEADER, prefix: [system('a')] }, { ...HEADER, prefix: [system('b')] }],
    ['a prefix that comes', HEADER, { ...HEADER, prefix: [system('b')] }],
    ['a prefix that goes', { ...HEADER, prefix: [system('b')] }, HEADER],
    ['a new owner of the prefix', { ...HEADER, prefix: [system('b')], owners: { prefix: ['a/x'] } }, { ...HEADER, prefix: [system('b')], owners: { prefix: ['b/y'] } }],
  ] satisfies [string, EpochHeader, EpochHeader][])('falls back for %s', (_name, base, next) => {
    expect(diffHeader(base, next)).toBe('fallback')
  })

  it('goes from tools out of order to tools in order by a delta', () => {
    expect(diffHeader({ ...HEADER, tools: [tool('b'), tool('a')] }, { ...HEADER, tools: [tool('a'), tool('b')] })).toEqual({ tools: {} })
  })
})

describe('L10: absent has one spelling', () => {
  const full = { system: 'One', tools: [tool('t')], before: [system('b')], after: [system('a')] }
  const transition = { system: '', tools: [], before: [], after: [] }

  it.each(['system', 'tools', 'before', 'after'] as const)('%s comes, goes, and an empty one is none', (field) => {
    const present: EpochHeader = { ...HEADER, [field]: full[field] }
    const empty: EpochHeader = { ...HEADER, [field]: transition[field] }
    expect(deltaOf(present, HEADER)).toEqual({ [field]: transition[field] })
    expect(deltaOf(present, empty)).toEqual({ [field]: transition[field] })
    expect(Object.hasOwn(applyHeaderDelta(toHeader(present), deltaOf(present, HEADER)), field)).toBe(false)
    expect(diffHeader(HEADER, empty)).toBeUndefined()
    expect(sameHeader(applyHeaderDelta(toHeader(HEADER), deltaOf(HEADER, present)), toHeader(present))).toBe(true)
    expect(Object.hasOwn(toHeader(empty), field)).toBe(false)
  })

  it('holds for the prefix and for owners too', () => {
    const empty = toHeader({
      config: HEADER.config,
      prefix: [],
      owners: { config: {}, tools: {}, system: [], prefix: [], before: [], after: [] },
    })
    expect(empty).toEqual({ config: HEADER.config, owners: {} })
  })

  it.each(['config', 'tools'] as const)('the last owner of %s goes', (field) => {
    const base: EpochHeader = { ...HEADER, owners: { [field]: { model: 'a/x' } } }
    expect(applyHeaderDelta(toHeader(base), deltaOf(base, HEADER)).owners).toEqual({})
  })
})

describe('the system prompt in a delta', () => {
  const lines = Array.from({ length: 500 }, (_, index) => `line ${index} of the prompt`)

  it('is trimmed to the lines that changed', () => {
    const changed = lines.with(250, 'changed')
    expect(deltaOf({ ...HEADER, system: lines.join('\n') }, { ...HEADER, system: changed.join('\n') })).toEqual({ system: { head: 250, tail: 249, lines: ['changed'] } })
  })

  it.each([
    ['a', 'a\n'], ['a\n', 'a'], ['\n', '\n\n'], ['\n', 'a'], ['a', '\n'], ['\n\n', '\n'], ['a\na', 'a'], ['a', 'a\na'], ['a\nb\na', 'a\na'], ['a\r\nb', 'a\nb'],
    ['a\u2028b', 'a\nb'], ['x', 'y'], ['same\nend', 'other\nend'], ['begin\nsame', 'begin\nother'],
  ])('leads from %j to %j', (from, to) => {
    for (const [base, next] of [[from, to], [to, from]]) {
      const delta = json(deltaOf({ ...HEADER, system: base! }, { ...HEADER, system: next! }))
      expect(applyHeaderDelta(toHeader({ ...HEADER, system: base! }), delta).system).toBe(next)
    }
  })

  it('leads from any text to any other', () => {
    const text = fc.array(fc.constantFrom('', 'a', 'b', '\r', ' '), { maxLength: 6 }).map((parts) => parts.join('\n'))
    fc.assert(fc.property(text, text, (from, to) => {
      const [base, next] = [toHeader({ ...HEADER, system: from }), toHeader({ ...HEADER, system: to })]
      const delta = diffHeader(base, next)
      expect(delta).not.toBe('fallback')
      if (from !== to) expect(applyHeaderDelta(base, delta as HeaderDelta).system ?? '').toBe(to)
    }), { numRuns: 500 })
  })
})

describe('HeaderFold', () => {
  it('gives any sequence of headers back from the events it wrote, through JSON', () => {
    fc.assert(fc.property(fc.array(fc.record({ next: headers, anchor: fc.constantFrom(undefined, undefined, undefined, 'resume' as const, 'fork' as const), substitute: fc.constantFrom(undefined, undefined, true as const) }), { minLength: 1, maxLength: 12 }), (sequence) => {
      const writer = new HeaderFold()
      const reader = new HeaderFold()
      let seq = 0
      for (const { next, anchor, substitute } of sequence) {
        const draft = writer.owed(next, anchor, substitute)
        if (draft) {
          const event = { seq: seq++, time: 0, ...draft } as SessionEvent
          writer.apply(event)
          reader.apply(json(event))
        }
        expect(sameHeader(writer.header!, toHeader(next))).toBe(true)
        expect(sameHeader(reader.header!, toHeader(next))).toBe(true)
        expect(reader.baseline).toEqual(writer.baseline)
        if (!substitute) expect(reader.baseline!.config).toEqual(next.config)
      }
    }), { numRuns: 300 })
  })

  it('is frozen all through', () => {
    const fold = new HeaderFold()
    const draft = fold.owed({ ...HEADER, before: [system('b')], owners: { before: ['a/b'] } })!
    fold.apply(json({ seq: 0, time: 0, ...draft }) as SessionEvent)
    expect(() => { (fold.header!.before![0]!.content[0] as { text: string }).text = 'x' }).toThrow(TypeError)
    expect(() => { (fold.header!.owners.before as string[])[0] = 'x' }).toThrow(TypeError)
    expect(() => { (fold.header!.config as { model: string }).model = 'x' }).toThrow(TypeError)
  })
})
