import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KEY_MARK, Keys, formsOfKey } from '../src/index.ts'

const KEY = 'sk-proj-AbC+/9"x&Y-0123456789'
const keys = (...all: string[]): Keys => {
  const made = new Keys()
  for (const key of all) made.add(key)
  return made
}
const key = fc.stringMatching(/^[A-Za-z0-9+/=_.:"&-]{16,60}$/)

describe('Keys', () => {
  it('takes out the whole key, in each of its forms and in any case, and leaves what stands around it', () => {
    fc.assert(fc.property(key, fc.string(), fc.string(), fc.boolean(), (secret, before, after, upper) => {
      for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('hex')]) {
        const said = keys(secret).redact(`${before}|${upper ? form.toUpperCase() : form}|${after}`)
        expect(said.startsWith(`${before}|${KEY_MARK}`) || formsOfKey(secret).some((one) => before.toLowerCase().includes(one.toLowerCase()))).toBe(true)
      }
    }))
  })

  it('takes it out of base64, wherever it begins there', () => {
    for (const before of ['', 'a', 'ab', 'abc', 'Authorization: Bearer ']) {
      const coded = Buffer.from(`${before}${KEY} and more`).toString('base64')
      expect(keys(KEY).redact(coded)).toContain(KEY_MARK)
    }
  })

  it('leaves parts of a key, short keys and ordinary text as they are: output is not torn', () => {
    for (const text of [KEY.slice(0, -1), 'sk-proj-', 'secret', '']) expect(keys(KEY, 'short-one', 'secret').redact(text)).toBe(text)
    const value = { a: ['x', { b: 1 }] }
    expect(keys(KEY).redactJson(value)).toBe(value)
  })

  it('takes it out of JSON, out of names too', () => {
    expect(keys(KEY).redactJson({ [KEY]: [`a ${KEY}`, 1, null] })).toEqual({ [KEY_MARK]: [`a ${KEY_MARK}`, 1, null] })
  })

  it('a stream says the same as the whole, however the text is cut, and nothing of a key', () => {
    const pieces = fc.array(fc.oneof(fc.constant(KEY), fc.constant(KEY.slice(0, 9)), fc.constant(KEY.toUpperCase()), fc.constant('sk-'), fc.string({ maxLength: 5 })), { maxLength: 8 })
    fc.assert(fc.property(pieces, fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (parts, sizes) => {
      const text = parts.join('')
      const stream = keys(KEY).stream()
      const said: string[] = []
      for (let at = 0; at < text.length;) {
        const size = sizes.next().value as number
        said.push(stream.push(text.slice(at, at + size)))
        at += size
      }
      said.push(stream.end())
      expect(said.join('')).toBe(keys(KEY).redact(text))
    }))
  })

  it('a stream holds back nothing that cannot become a key', () => {
    const stream = keys(KEY).stream()
    expect(['!!!', ' s', 'k-p', '!', KEY.slice(0, 12), KEY.slice(12), '.'].map((piece) => stream.push(piece))).toEqual(['!!!', ' ', '', 'sk-p!', '', KEY_MARK, '.'])
    expect(stream.end()).toBe('')
  })
})
