import { describe, expect, it } from 'vitest'
import { RunContext, type RunContextOptions } from '@headrace/run-context'

describe('vectors of an independent implementation', () => {
  it.each<[string, RunContextOptions, string]>([
    ['a fact', { facts: [['date', '2026-08-10']] }, '579ad92ef1bb6ddb1791d1c43cc13ff86421a3e8e4f14d3c92bb8c4a5a94bb18'],
    ['a tail section', { tailSections: [['r', 'R']] }, 'ba3126b1b900c9407d025e6dd8ee0342398b79c380c159798ecb7430f1254539'],
    ['a head section', { headSections: [['a', 'x']] }, 'deb2d5d6f5d0ebf74af3dad2f0fd67906e188950e9c031d02bdb400e8cce8be2'],
    ['a key twice', { facts: [['a', '1'], ['a', '2']] }, '77d0da0e645a60cd483751184f9b59d5fe14fd1e228418a48fb050f85545c675'],
    // Python: sha256(json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=False).encode())
    ['nothing', {}, '5a24510646b2e8dc443338dd7d419f8847d680dbef477799301cdf5ba79983c0'],
    ['what JSON escapes and what it does not', {
      facts: [['  Ключ \n', '\uFEFF é e\u0301 \u2028/\x00\x1f\x7f"\\\b\f\n\r\t😀\u0085 \n']],
      headSections: [['漢', '\r\nx\n']],
      tailSections: [['z', ' '], ['left out', null], ['a', '<&>']],
    }, '80f15db8832c82a9897c84372fb07a83274ba9e2e94095bf19ac155257d74c78'],
  ])('%s', (_name, options, digest) => {
    expect(new RunContext(options).digest).toBe(digest)
  })

  it.each<[string, string, string]>([
    ['a', 'x', '40c0bc08fb0525db40e29b471e3a9d104357bddc4e10f852cb32d53cd4feb59b'],
    ['漢', '\r\nx', 'c3cc7a7bbe41f4a9c25c1fd84e605c0d319533944eb241ca2897939db03d4e60'],
    ['z', '', '9f6ad9d9ddac47de2f917ea94582028e46e6eb082c1ae3bcc2ee79328bbbe3ca'],
  ])('section %j = %j, in the head and in the tail', (name, body, digest) => {
    const context = new RunContext({ headSections: [[name, body]], tailSections: [[name, `${body} \n`]] })
    expect(context.sections.map((section) => section.digest)).toEqual([digest, digest])
  })
})
