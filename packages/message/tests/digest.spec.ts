import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EMPTY_CHAIN, chain, chainOf, copyJson, digestOf, requestDigest, requestDigests, sameValue, sha256 } from '@headrace/message'

// Written down here once more, by other means, so that a change of the format cannot pass unseen: logs outlive programs.
const sha = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')
const hello = { role: 'user', content: [{ type: 'text', text: 'Grüß dich, 🌍' }] } as const

describe('digests', () => {
  it('are SHA-256 in lower-case hex over UTF-8 bytes', () => {
    expect(sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(sha256('ü')).toBe(sha256(new Uint8Array([0xc3, 0xbc])))
  })

  it('of a value are over its exact JSON', () => {
    expect(digestOf(hello)).toBe(sha('{"role":"user","content":[{"type":"text","text":"Grüß dich, 🌍"}]}'))
    expect(digestOf('a\n')).toBe(sha('"a\\n"'))
    expect(digestOf({ a: 1, b: 2 })).not.toBe(digestOf({ b: 2, a: 1 }))
  })

  it('of a value that somebody may change are never kept', () => {
    const value = { text: 'one' }
    const first = digestOf(value)
    value.text = 'two'
    expect(digestOf(value)).toBe(sha('{"text":"two"}'))
    expect(digestOf(value)).not.toBe(first)
    const list = [{ a: 1 }]
    chainOf(list)
    list.push({ a: 2 })
    expect(chainOf(list)).toBe(chain(chain(EMPTY_CHAIN, digestOf({ a: 1 })), digestOf({ a: 2 })))
  })

  it('of a value that is ours are the same, however it became ours', () => {
    fc.assert(fc.property(fc.array(fc.dictionary(fc.string(), fc.nat()), { maxLength: 5 }), (values) => {
      const parsed = JSON.parse(JSON.stringify(values)) as object[]
      expect(digestOf(copyJson(parsed))).toBe(digestOf(parsed))
      expect(chainOf(copyJson(parsed))).toBe(chainOf(parsed))
    }))
  })
})

describe('chains', () => {
  it('begin with 64 zeros and link the hex text of two digests', () => {
    expect(EMPTY_CHAIN).toBe('0'.repeat(64))
    const [a, b] = [{ a: 1 }, { b: 2 }]
    expect(chainOf([a, b])).toBe(sha(sha(EMPTY_CHAIN + sha('{"a":1}')) + sha('{"b":2}')))
    expect(chainOf([b, a])).not.toBe(chainOf([a, b]))
  })

  it('of an absent and of an empty list are one (L10)', () => {
    expect(chainOf(undefined)).toBe(EMPTY_CHAIN)
    expect(chainOf([])).toBe(EMPTY_CHAIN)
  })
})

describe('requestDigest', () => {
  it('is SHA-256 over seven digests, each followed by a line feed', () => {
    const config = { model: 'p/m' }
    const tools = [{ name: 't', description: 'd', parameters: { type: 'object' } }]
    const history = sha('history')
    const digests = requestDigests({ config, system: 'Be kind.', tools, prefix: [hello], after: [hello] }, history)
    const link = sha(EMPTY_CHAIN + sha(JSON.stringify(hello)))
    expect(digests).toEqual({
      config: sha('{"model":"p/m"}'),
      system: sha('"Be kind."'),
      tools: sha(EMPTY_CHAIN + sha('{"name":"t","description":"d","parameters":{"type":"object"}}')),
      prefix: link,
      before: EMPTY_CHAIN,
      history,
      after: link,
    })
    expect(requestDigest(digests)).toBe(sha(`${digests.config}\n${digests.system}\n${digests.tools}\n${link}\n${EMPTY_CHAIN}\n${history}\n${link}\n`))
  })

  it('gives an absent system the digest of nothing: no text', () => {
    const digests = requestDigests({ config: { model: 'p/m' } }, EMPTY_CHAIN)
    expect(digests).toMatchObject({ system: '', tools: EMPTY_CHAIN, prefix: EMPTY_CHAIN, before: EMPTY_CHAIN, after: EMPTY_CHAIN })
  })

  it('tells which segment a message stands in', () => {
    const config = { model: 'p/m' }
    const all = [{ prefix: [hello] }, { before: [hello] }, { after: [hello] }].map((part) =>
      requestDigest(requestDigests({ config, ...part }, EMPTY_CHAIN)),
    )
    expect(new Set(all).size).toBe(3)
  })
})

describe('sameValue', () => {
  it('agrees with the JSON text, whoever holds the values', () => {
    const value = fc.oneof(fc.constant(undefined), fc.string(), fc.array(fc.record({ a: fc.nat({ max: 2 }) }), { maxLength: 2 }))
    fc.assert(fc.property(value, value, fc.boolean(), fc.boolean(), (a, b, mineA, mineB) => {
      const own = (mine: boolean, item: unknown): unknown =>
        mine && item !== undefined ? copyJson(JSON.parse(JSON.stringify(item)) as unknown) : item
      expect(sameValue(own(mineA, a), own(mineB, b))).toBe(JSON.stringify(a) === JSON.stringify(b))
    }))
  })
})
