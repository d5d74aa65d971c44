import { describe, expect, it } from 'vitest'
import { isOurs } from '@headrace/message'
import { CONTEXT_TEMPLATE, type ContextEvent, ContextEventError, type RenderedContext, RunContext, contextEvent, decode, fromEvent } from '@headrace/run-context'

const context = new RunContext({ facts: [['date', 'today'], ['branch', '']], headSections: [['agents-md', 'Be kind.']], tailSections: [['notes', 'None.'], ['blank', ' ']] })
const [agentsMd, notes, blank] = context.sections as [typeof context.sections[0], typeof context.sections[0], typeof context.sections[0]]
const none = () => undefined

function refusal(run: () => unknown): ContextEventError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(ContextEventError)
    return error as ContextEventError
  }
  throw new Error('nothing was refused')
}

describe('contextEvent', () => {
  it('holds facts in full and each body that no event carries yet', () => {
    const data = contextEvent(context, none)
    expect(data).toEqual({
      digest: context.digest,
      template: CONTEXT_TEMPLATE,
      facts: [['date', 'today'], ['branch', '']],
      sections: [
        { name: 'agents-md', where: 'head', digest: agentsMd.digest, rendered: 'Be kind.' },
        { name: 'notes', where: 'tail', digest: notes.digest, rendered: 'None.' },
        { name: 'blank', where: 'tail', digest: blank.digest, rendered: '' },
      ],
    })
    expect(isOurs(data)).toBe(true)
  })

  it('refers to the carrier of a body, seq 0 included', () => {
    const carriers = new Map([[agentsMd.digest, 0], [notes.digest, 7]])
    expect(contextEvent(context, (digest) => carriers.get(digest)).sections).toEqual([
      { name: 'agents-md', where: 'head', digest: agentsMd.digest, in: 0 },
      { name: 'notes', where: 'tail', digest: notes.digest, in: 7 },
      blank,
    ])
  })

  it('holds the body of a section that stands twice once, when it is told its own seq', () => {
    const twice = new RunContext({ headSections: [['a', 'x']], tailSections: [['a', 'x']] })
    const { digest } = twice.sections[0]!
    const tail = { name: 'a', where: 'tail', digest }
    const data = contextEvent(twice, none, 4)
    expect(data.sections).toEqual([twice.sections[0], { ...tail, in: 4 }])
    expect(decode(data, none)).toEqual(twice)
    expect(contextEvent(twice, none).sections).toEqual([twice.sections[0], { ...tail, rendered: 'x' }])
  })
})

describe('decode', () => {
  const data = contextEvent(context, (digest) => (digest === notes.digest ? 7 : undefined))
  const bodyOf = (seq: number, digest: string) => (seq === 7 && digest === notes.digest ? 'None.' : undefined)
  const tampered = (
    change: (
      data: { -readonly [K in keyof ContextEvent]: unknown } & {
        sections: Record<string, unknown>[]
        facts: unknown[][]
      },
    ) => void,
  ) => {
    const copy = structuredClone(data)
    change(copy as never)
    return refusal(() => decode(copy, bodyOf))
  }

  it('renders both messages again, from the log alone', () => {
    const again = decode(JSON.parse(JSON.stringify(data)), bodyOf)
    expect(again).toEqual(context)
    expect(again).toBeInstanceOf(RunContext)
    expect(JSON.stringify([again.headMessage, again.tailMessage])).toBe(JSON.stringify([context.headMessage, context.tailMessage]))
  })

  it('takes an event with more in it, such as the turn', () => {
    expect(decode({ turn: 3, ...data } as ContextEvent, bodyOf).digest).toBe(context.digest)
  })

  it('refuses a body that the log does not hold, naming section and event', () => {
    const error = refusal(() => decode(data, none))
    expect(error.code).toBe('CONTEXT_BODY_MISSING')
    expect(error.message).toContain('"notes"')
    expect(error.message).toContain('event 7')
  })

  it('refuses another template, naming both', () => {
    const error = tampered((data) => { data.template = 'run-context/99' })
    expect(error.code).toBe('CONTEXT_TEMPLATE_UNKNOWN')
    expect(error.message).toContain('run-context/99')
    expect(error.message).toContain(CONTEXT_TEMPLATE)
  })

  it.each<[string, Parameters<typeof tampered>[0], string]>([
    ['a body', (data) => { data.sections[0]!.rendered = 'Be cruel.' }, 'section "agents-md"'],
    ['a name', (data) => { data.sections[0]!.name = 'skills' }, 'section "skills"'],
    ['a section digest', (data) => { data.sections[2]!.digest = notes.digest }, 'section "blank"'],
    ['a place', (data) => { data.sections[0]!.where = 'tail' }, 'the context'],
    ['an order', (data) => { data.sections.push(data.sections.splice(1, 1)[0]!) }, 'the context'],
    ['a section left out', (data) => { data.sections.pop() }, 'the context'],
    ['a fact', (data) => { data.facts[0]![1] = 'tomorrow' }, 'the context'],
    ['a fact left out', (data) => { data.facts[1]![1] = null }, 'the context'],
    ['the digest', (data) => { data.digest = agentsMd.digest }, 'the context'],
  ])('finds %s that was changed', (_name, change, told) => {
    const error = tampered(change)
    expect(error.code).toBe('CONTEXT_DIGEST_MISMATCH')
    expect(error.message).toContain(told)
  })

  it('finds a body that its carrier gives wrong', () => {
    expect(refusal(() => decode(data, () => 'Some.')).code).toBe('CONTEXT_DIGEST_MISMATCH')
  })

  it.each<[string, unknown]>([
    ['null', null],
    ['a list', []],
    ['no facts', { ...data, facts: undefined }],
    ['facts that are an object', { ...data, facts: { date: 'today' } }],
    ['facts that are no pairs', { ...data, facts: ['date', 'today'] }],
    ['a digest that is a number', { ...data, digest: 1 }],
    ['no template', { ...data, template: undefined }],
    ['sections that are an object', { ...data, sections: {} }],
    ['a section that is null', { ...data, sections: [null] }],
    ['a section without a name', { ...data, sections: [{ ...agentsMd, name: 1 }] }],
    ['a section in the middle', { ...data, sections: [{ ...agentsMd, where: 'middle' }] }],
    ['a section without a digest', { ...data, sections: [{ ...agentsMd, digest: null }] }],
    ['a section without a body', { ...data, sections: [{ ...agentsMd, rendered: undefined }] }],
    ['a carrier that is text', { ...data, sections: [{ ...agentsMd, in: '7' }] }],
  ])('refuses %s', (_name, given) => {
    expect(refusal(() => decode(given as ContextEvent, bodyOf)).code).toBe('CONTEXT_EVENT_INVALID')
  })
})

describe('fromEvent', () => {
  it('gives back a context from its JSON', () => {
    expect(fromEvent(JSON.parse(JSON.stringify(context)) as RenderedContext)).toEqual(context)
  })

  it('needs all the bodies', () => {
    const data = contextEvent(context, () => 7) as RenderedContext
    expect(refusal(() => fromEvent(data)).code).toBe('CONTEXT_BODY_MISSING')
  })
})
