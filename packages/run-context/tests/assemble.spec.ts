import { describe, expect, it } from 'vitest'
import { assemble } from '@headrace/run-context'

describe('assemble', () => {
  it('joins a non-blank identity and the non-blank sections by blank lines', () => {
    expect(assemble('You are a miller.\n', ['  One\n\ntwo \n', '', ' \u0085\n', undefined, null, 'Three'])).toBe('You are a miller.\n\n  One\n\ntwo\n\nThree')
  })

  it.each(['', ' \n', undefined, null])('leaves out the identity %j', (identity) => {
    expect(assemble(identity, ['One'])).toBe('One')
    expect(assemble(identity, [])).toBe('')
  })

  it('needs no sections', () => {
    expect(assemble('You are a miller.')).toBe('You are a miller.')
  })

  it('refuses what is not text, with the place', () => {
    // @ts-expect-error a number
    expect(() => assemble(42)).toThrow(expect.objectContaining({ code: 'CONTEXT_VALUE_INVALID', argument: 'identity' }))
    // @ts-expect-error a Promise
    expect(() => assemble('a', ['b', Promise.resolve('c')])).toThrow(expect.objectContaining({ argument: 'sections', index: 1, message: expect.stringContaining('await') }))
    // @ts-expect-error a string is a list of characters
    expect(() => assemble('a', 'bc')).toThrow(expect.objectContaining({ code: 'CONTEXT_LIST_INVALID', argument: 'sections' }))
    expect(() => assemble('a\uD83D')).toThrow(expect.objectContaining({ code: 'CONTEXT_NOT_WELL_FORMED' }))
  })
})
