import { describe, expect, it } from 'vitest'
import { stripTrailing } from '../src/text.ts'

// Unicode's own table, PropList.txt, White_Space.
const WHITE_SPACE = new Set([
  0x9, 0xa, 0xb, 0xc, 0xd, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
  0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
])

describe('stripping', () => {
  it('takes exactly Unicode White_Space, of all code points', () => {
    const taken: number[] = []
    for (let code = 0; code <= 0x10ffff; code++) {
      if (stripTrailing(`x${String.fromCodePoint(code)}`) === 'x') taken.push(code)
    }
    expect(taken).toEqual([...WHITE_SPACE])
  })

  it('takes U+0085 and leaves U+FEFF, unlike trimEnd', () => {
    expect(stripTrailing('x \u0085')).toBe('x')
    expect(stripTrailing('x \uFEFF')).toBe('x \uFEFF')
  })

  it('is linear in a long run of spaces inside a text', () => {
    const text = `${' '.repeat(2_000_000)}x`
    // One that is not would be at it for longer than a test may take.
    expect(stripTrailing(text)).toBe(text)
  })
})
