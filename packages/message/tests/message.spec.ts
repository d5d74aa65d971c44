import { describe, expect, it } from 'vitest'
import { type Contribution, HeadraceError, JsonError, MessageError, callsOf, copyJson, isBlank, isOurs, messageOf, textOf, toContent, toContribution, toWellFormed } from '@headrace/message'

const DIGEST = 'a'.repeat(64)
const text = (value: string) => ({ type: 'text', text: value }) as const

describe('toContribution', () => {
  it('gives a string, one block and a list of strings one representation', () => {
    const wanted = '{"role":"user","content":[{"type":"text","text":"Hi"}]}'
    for (const content of ['Hi', [text('Hi')], ['Hi'], [{ text: 'Hi', type: 'text' }], ['', 'Hi', text('')]]) {
      expect(JSON.stringify(toContribution({ content, role: 'user' }, 'x'))).toBe(wanted)
    }
  })

  it('takes a bare string for a system message', () => {
    expect(toContribution('Hi', 'x')).toEqual({ role: 'system', content: [text('Hi')] })
  })

  it('keeps images and files by digest, and what a provider wants back', () => {
    const image = { type: 'image', digest: DIGEST, mediaType: 'image/png' }
    const signed = { type: 'text', text: 'Hi', metadata: { z: 1, a: [2] } }
    const file = { type: 'file', digest: DIGEST, mediaType: 'application/pdf', name: 'a.pdf' }
    expect(JSON.stringify(toContribution({ role: 'user', content: [signed, image, file] }, 'x').content)).toBe(JSON.stringify([signed, image, file]))
  })

  it('copies and freezes, so that a message that its plugin kept and changed does not change ours', () => {
    const source = { role: 'user', content: [{ type: 'text', text: 'before' }] }
    const contribution = toContribution(source, 'x')
    source.content[0]!.text = 'after'
    expect(textOf(contribution)).toBe('before')
    expect(isOurs(contribution) && isOurs(contribution.content)).toBe(true)
    expect(toContribution(contribution, 'x')).toBe(contribution)
  })

  it('judges also what is ours, where it did not make it', () => {
    const forged = copyJson({ role: 'system', content: copyJson([text(''), { type: 'tool-call', id: '1', name: 'n', arguments: '' }]) })
    expect(() => toContribution(forged, 'x')).toThrow(MessageError)
    expect(toContribution(copyJson({ role: 'system', content: copyJson([text(''), text('Hi')]) }), 'x').content).toEqual([text('Hi')])
  })

  it.each([
    [{ role: 'assistant', content: 'Hi' }, 'x.role must be "system" or "user", not "assistant"'],
    [{ role: 'tool', content: [] }, 'x.role'],
    [{ role: 7, content: 'Hi' }, 'not a number'],
    [{ role: 'user', content: 'Hi', owner: 'forged' }, 'unknown field "owner"'],
    [{ role: 'user', content: [{ type: 'tool-call', id: '1', name: 'n', arguments: '' }] }, 'x.content[0] must be a text, an image or a file block, not "tool-call"'],
    [{ role: 'user', content: [{ type: 'tool-result', id: '1', name: 'n', content: [] }] }, 'not "tool-result"'],
    [{ role: 'user', content: [{ type: 'reasoning', text: 'hm' }] }, 'not "reasoning"'],
    [{ role: 'user', content: ['a', { text: 'no type' }] }, 'x.content[1]'],
    [{ role: 'user', content: [{ type: 'text', text: 'a', extra: 1 }] }, 'unknown field "extra"'],
    [{ role: 'user', content: [{ type: 'text', text: 3 }] }, 'x.content[0].text must be a string'],
    [{ role: 'user', content: [{ type: 'text', text: 'a', metadata: null }] }, 'x.content[0].metadata must be an object'],
    [{ role: 'user', content: [{ type: 'image', digest: 'A'.repeat(64), mediaType: 'image/png' }] }, 'putBlob()'],
    [{ role: 'user', content: [{ type: 'image', digest: DIGEST }] }, 'x.content[0].mediaType'],
    [{ role: 'user', content: { type: 'text', text: 'a' } }, 'x.content must be a string or a list'],
    [{ role: 'user', content: ['a', , 'b'] }, 'x.content[1]'],
    [{ role: 'user' }, 'x.content'],
    [undefined, 'x must be an object, not undefined'],
    [null, 'not null'],
    [['Hi'], 'not a list'],
    [42, 'not number'],
  ])('refuses %j and says why', (input, problem) => {
    expect(() => toContribution(input, 'x')).toThrow(expect.objectContaining({ name: 'MessageError', code: 'MESSAGE_INVALID', message: expect.stringContaining(problem) as string }) as Error)
  })

  it('refuses metadata that is not JSON, with its path', () => {
    expect(() => toContribution({ role: 'user', content: [{ type: 'text', text: 'a', metadata: { f: NaN } }] }, 'x')).toThrow(JsonError)
    expect(() => toContribution({ role: 'user', content: [{ type: 'text', text: 'a', metadata: { f: NaN } }] }, 'x')).toThrow('x.content[0].metadata.f is NaN')
  })
})

describe('toContent', () => {
  it('makes text well-formed at the border, and says where', () => {
    const repaired: string[] = []
    const content = toContent(['good', 'cut \uD83D', { type: 'text', text: '\uDE00 off' }], 'x', (at) => repaired.push(at))
    expect(content).toEqual([text('good'), text('cut \uFFFD'), text('\uFFFD off')])
    expect(repaired).toEqual(['x[1]', 'x[2]'])
    expect(toContent('\uD83D\uDE00', 'x', () => { throw new Error('well-formed') })).toEqual([text('😀')])
    expect(toWellFormed('a\uD800', 'x')).toBe('a\uFFFD')
  })
})

describe('isBlank', () => {
  it('is true where there is nothing to read', () => {
    const of = (...content: Contribution['content']) => isBlank({ content })
    expect(of()).toBe(true)
    expect(of(text(' \n\t\u2003'))).toBe(true)
    expect(of(text(' '), text('x'))).toBe(false)
    expect(of({ type: 'image', digest: DIGEST, mediaType: 'image/png' })).toBe(false)
  })
})

describe('textOf and callsOf', () => {
  it('give the text, and the calls of an assistant in order', () => {
    const calls = ['1', '2'].map((id) => ({ type: 'tool-call', id, name: 'n', arguments: '{' }) as const)
    const message = { role: 'assistant', content: [text('a'), calls[0]!, { type: 'reasoning', text: 'hm' }, text('b'), calls[1]!] } as const
    expect(textOf(message)).toBe('ab')
    expect(callsOf(message)).toEqual(calls)
    expect(callsOf({ role: 'user', content: [text('a')] })).toEqual([])
  })
})

describe('errors', () => {
  it('carry a stable code, and the name of their class', () => {
    class OddError extends HeadraceError {}
    const error = new OddError('ODD', 'it is odd', { cause: 1 })
    expect(error).toMatchObject({ name: 'OddError', code: 'ODD', cause: 1 })
  })

  it('are shown on one line whatever was thrown', () => {
    expect(messageOf(new Error('one\r\n  two'))).toBe('one two')
    expect(messageOf(new TypeError())).toBe('TypeError')
    expect(messageOf('cut \uD83D')).toBe('cut \uFFFD')
    expect(messageOf(undefined)).toBe('undefined')
    expect(messageOf(Symbol('s'))).toBe('Symbol(s)')
    expect(messageOf({ toString() { throw new Error('no') } })).toBe('an error that cannot be shown')
    expect(messageOf(new Error('x'.repeat(10_000))).length).toBe(4_000)
  })
})
