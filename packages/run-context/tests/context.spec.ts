import { describe, expect, it } from 'vitest'
import { CONTEXT_HEADING, CONTEXT_NOT_A_REQUEST, CONTEXT_PRECEDENCE, RunContext } from '@headrace/run-context'

const NOTHING = new RunContext().digest
const FIXED = `${CONTEXT_PRECEDENCE}\n${CONTEXT_NOT_A_REQUEST}`

describe('three kinds of empty', () => {
  describe.each([undefined, null])('%s', (value) => {
    it.each(['facts', 'headSections', 'tailSections'] as const)('in %s is not stored, not in the digest, not in a message', (list) => {
      const context = new RunContext({ [list]: [['branch', value]] })
      expect(context[list]).toEqual([])
      expect(context.sections).toEqual([])
      expect(context.digest).toBe(NOTHING)
      expect([context.headMessage, context.tailMessage]).toEqual([undefined, undefined])
      expect(context.isEmpty).toBe(true)
    })
  })

  describe.each(['', ' \n\t', '\u0085\u3000'])('blank %j', (value) => {
    it.each(['headSections', 'tailSections'] as const)('as a section in %s is stored as the empty string, in the digest, in no message', (list) => {
      const context = new RunContext({ [list]: [['notes', value]] })
      expect(context[list]).toEqual([['notes', '']])
      expect(context.sections).toMatchObject([{ name: 'notes', where: list === 'headSections' ? 'head' : 'tail', rendered: '' }])
      expect(context.digest).not.toBe(NOTHING)
      expect(context.digest).toBe(new RunContext({ [list]: [['notes', '']] }).digest)
      expect([context.headMessage, context.tailMessage]).toEqual([undefined, undefined])
      expect(context.isEmpty).toBe(false)
    })

    it('as a fact is stored as the empty string, in the digest, in the message, and enough to make a tail', () => {
      const context = new RunContext({ facts: [['branch', value]] })
      expect(context.facts).toEqual([['branch', '']])
      expect(context.digest).not.toBe(NOTHING)
      expect(context.headMessage).toBeUndefined()
      expect(context.tailMessage?.content).toEqual([{ type: 'text', text: `${CONTEXT_HEADING}\n\n- branch: \n\n${FIXED}` }])
      expect(context.isEmpty).toBe(false)
    })
  })
})

describe('a context', () => {
  const options = () => ({ facts: [['a', '1']] as [string, string][], headSections: [['h', 'H']] as [string, string][], tailSections: [['t', 'T']] as [string, string][] })

  it('does not change when its inputs do', () => {
    const given = options()
    const context = new RunContext(given)
    const before = JSON.stringify(context)
    for (const list of [given.facts, given.headSections, given.tailSections]) {
      list[0]![1] = 'changed'
      list.push(['b', 'b'])
    }
    given.facts = []
    expect(JSON.stringify(context)).toBe(before)
    expect(context).toEqual(new RunContext(options()))
  })

  it('is frozen to the bottom', () => {
    const frozen = (value: unknown): boolean => typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen))
    const context = new RunContext(options())
    expect(frozen(context)).toBe(true)
    expect(frozen(context.toJSON())).toBe(true)
    expect(() => { (context as { digest: string }).digest = '' }).toThrow(TypeError)
    expect(() => { (context.facts as unknown[]).push(['b', '2']) }).toThrow(TypeError)
    expect(() => { (context.facts as [string, string][])[0]![1] = '2' }).toThrow(TypeError)
  })

  it('lists its sections, head first, with names, places, digests and bodies', () => {
    const { sections } = new RunContext({ tailSections: [['a', 'x '], ['b', '']], headSections: [['h', 'H']] })
    expect(sections.map(({ name, where, rendered }) => [name, where, rendered])).toEqual([['h', 'head', 'H'], ['a', 'tail', 'x'], ['b', 'tail', '']])
    expect(Object.keys(sections[0]!)).toEqual(['name', 'where', 'digest', 'rendered'])
  })

  it('as JSON is its digest, template, facts and sections', () => {
    const context = new RunContext(options())
    expect(JSON.parse(JSON.stringify(context))).toEqual({ digest: context.digest, template: context.template, facts: [['a', '1']], sections: context.sections })
  })

  it('as text is short, with the first eight digits of its digest', () => {
    expect(`${new RunContext({ facts: [['date', '2026-08-10']] })}`).toBe('RunContext 579ad92e')
  })
})
