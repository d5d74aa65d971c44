import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { cursorOf, parseCursor, seededSum, sumText } from '@headrace/session'
import { everyKind } from './every-kind.ts'

describe('a sum', () => {
  it('is the CRC-32 of the place and the text, as text or as bytes', () => {
    expect(seededSum('demo', 12, '{"é":1}')).toBe(crc32('demo/12/{"é":1}'))
    expect(seededSum('demo', 12, Buffer.from('{"é":1}'))).toBe(crc32('demo/12/{"é":1}'))
    for (const id of ['', 'demo', 'é/\u{1F600}']) for (const seq of [0, 9, 10, 4_294_967_296, 9_007_199_254_740_991]) expect(seededSum(id, seq, 'x')).toBe(crc32(`${id}/${seq}/x`))
    expect([0, 1, 0x0a0b0c0d, 0xffffffff].map(sumText)).toEqual(['00000000', '00000001', '0a0b0c0d', 'ffffffff'])
    expect(new Set([seededSum('a', 1, 'x'), seededSum('a', 2, 'x'), seededSum('b', 1, 'x'), seededSum('a', 1, 'y')]).size).toBe(4)
  })
})

describe('a cursor', () => {
  it('names an event by its seq and the sum of its place and JSON', () => {
    const { events, lines } = everyKind()
    for (const [seq, event] of events.entries()) {
      const cursor = cursorOf('demo', event)
      expect(cursor).toBe(cursorOf('demo', event, lines[seq]))
      expect(parseCursor(cursor)).toEqual({ seq, sum: crc32(`demo/${seq}/${lines[seq]}`) })
    }
  })

  it.each(['', '1', '1.', '1.abc', '01.00000000', '-1.00000000', '1.0000000G', '1.000000000', '99999999999999999.00000000'])('is not %j', (text) => {
    expect(parseCursor(text)).toBeUndefined()
  })
})
