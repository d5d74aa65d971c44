import { describe, expect, it } from 'vitest'
import { isOurs, sha256 } from '@headrace/message'
import { CONTEXT_HEADING, CONTEXT_NOT_A_REQUEST, CONTEXT_PRECEDENCE, CONTEXT_TEMPLATE, RunContext, type RunContextOptions } from '@headrace/run-context'

const FIXED = `${CONTEXT_PRECEDENCE}\n${CONTEXT_NOT_A_REQUEST}`

function texts(options: RunContextOptions) {
  const { headMessage, tailMessage } = new RunContext(options)
  return { head: headMessage?.content[0], tail: tailMessage?.content[0] } as { head?: { text: string }, tail?: { text: string } }
}
const head = (options: RunContextOptions) => texts(options).head?.text
const tail = (options: RunContextOptions) => texts(options).tail?.text

describe('head', () => {
  it('is the non-blank head sections in order, joined by one blank line, with no names and no facts', () => {
    const options: RunContextOptions = { facts: [['date', 'today']], headSections: [['b', 'First\n'], ['blank', ' \n'], ['a', '  Second']], tailSections: [['c', 'Third']] }
    expect(head(options)).toBe('First\n\n  Second')
  })

  it('is not there when nothing is left', () => {
    expect(head({ facts: [['date', 'today']], tailSections: [['c', 'Third']] })).toBeUndefined()
    expect(head({ headSections: [['a', ''], ['b', ' \u0085']] })).toBeUndefined()
  })

  it('keeps what only looks blank: U+FEFF is no White_Space', () => {
    expect(head({ headSections: [['a', '\uFEFF']] })).toBe('\uFEFF')
  })
})

describe('tail', () => {
  it('is the heading, a row per fact, the tail sections, and two fixed lines', () => {
    expect(tail({ facts: [['date', '2026-08-10'], ['branch', 'main\n  (dirty)\n'], ['date', 'again']], tailSections: [['x', 'One\n\ntwo'], ['y', 'Three']], headSections: [['h', 'H']] }))
      .toBe(`## Current context\n\n- date: 2026-08-10\n- branch: main\n  (dirty)\n- date: again\n\nOne\n\ntwo\n\nThree\n\n${FIXED}`)
  })

  it('without facts goes from the heading to the sections', () => {
    expect(tail({ tailSections: [['r', 'R']] })).toBe(`${CONTEXT_HEADING}\n\nR\n\n${FIXED}`)
  })

  it('without sections goes from the facts to the fixed lines', () => {
    expect(tail({ facts: [['a', '1']] })).toBe(`${CONTEXT_HEADING}\n\n- a: 1\n\n${FIXED}`)
  })

  it('is not there without a stored fact or a non-blank tail section', () => {
    expect(tail({ headSections: [['h', 'H']] })).toBeUndefined()
    expect(tail({ facts: [['a', null]], tailSections: [['r', ' '], ['s', undefined]] })).toBeUndefined()
  })

  it('has no trailing newline', () => {
    expect(tail({ facts: [['a', '1\n']], tailSections: [['r', 'R\n']] })).toMatch(/\S$/)
  })
})

describe('the fixed texts', () => {
  it('are those of the template that a log names: who changes a text changes the name', () => {
    const texts = sha256([CONTEXT_HEADING, CONTEXT_PRECEDENCE, CONTEXT_NOT_A_REQUEST].join('\n'))
    expect([CONTEXT_TEMPLATE, texts]).toEqual(['run-context/1', '42457f5a153e1e21e0c1c0bc7ebe614af755f326463b2cde5c646f6d1992c277'])
  })

  it('are one line each, and say what counts and that nothing is asked', () => {
    for (const line of [CONTEXT_HEADING, CONTEXT_PRECEDENCE, CONTEXT_NOT_A_REQUEST]) expect(line).toMatch(/^\S.*\S$/)
    for (const word of ['outranks', 'environment description', 'tool catalogue', 'project instructions', 'earlier in the conversation', 'authoritative', 'disagree']) {
      expect(CONTEXT_PRECEDENCE).toContain(word)
    }
    for (const word of ['context, not a request', 'acknowledge', 'answer']) expect(CONTEXT_NOT_A_REQUEST).toContain(word)
  })
})

describe('messages', () => {
  const context = new RunContext({ facts: [['a', '1']], headSections: [['h', 'H']] })

  it('have role system and one text block', () => {
    expect(context.headMessage).toEqual({ role: 'system', content: [{ type: 'text', text: 'H' }] })
    expect(JSON.stringify(context.tailMessage)).toBe(`{"role":"system","content":[{"type":"text","text":${JSON.stringify(`${CONTEXT_HEADING}\n\n- a: 1\n\n${FIXED}`)}}]}`)
  })

  it('are the same object every time, and ours, so that no hop copies them', () => {
    for (const message of ['headMessage', 'tailMessage'] as const) {
      expect(context[message]).toBe(context[message])
      expect(isOurs(context[message]) && isOurs(context[message]?.content)).toBe(true)
    }
  })
})
