import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { type TokenCounter, exactCounter } from '../src/index.ts'
import { RUN_LIMIT, cutRuns } from '../src/runs.ts'
import { samples } from './samples.ts'

const MEGABYTE = 1_000_000
let counter: TokenCounter

beforeAll(async () => {
  counter = await exactCounter()
})

describe('the exact counter', () => {
  it.each(Object.entries(samples))('counts as the tokenizer does: %s', (_, text) => {
    expect(counter.countText(text)).toBe(encode(text).length)
  })

  it('counts a long text as the tokenizer does', () => {
    const text = Object.values(samples).join('\n\n').repeat(20)
    expect(counter.countText(text)).toBe(encode(text).length)
  })

  it('takes what looks like a special token for text', () => {
    expect(counter.countText('<|endoftext|>')).toBeGreaterThan(1)
  })

  it('has an encoding to choose, and names those there are', async () => {
    expect((await exactCounter('cl100k_base')).countText(samples.greek)).toBeGreaterThan(counter.countText(samples.greek))
    await expect(exactCounter('p50k' as never)).rejects.toMatchObject({ code: 'ENCODING_UNKNOWN', message: expect.stringContaining('o200k_base, cl100k_base') })
  })

  it('says which package is missing and what to do about it', async () => {
    vi.resetModules()
    vi.doMock('gpt-tokenizer/encoding/cl100k_base', () => {
      throw new Error('Cannot find package')
    })
    const fresh = await import('../src/index.ts')
    await expect(fresh.exactCounter('cl100k_base')).rejects.toMatchObject({ code: 'TOKENIZER_MISSING', message: expect.stringMatching(/npm install gpt-tokenizer.*heuristicCounter\(\)/) })
    vi.doUnmock('gpt-tokenizer/encoding/cl100k_base')
  })

  it('loads its package when it is called, not when the module is imported', async () => {
    // In a process of its own, with a resolver that refuses the package: importing works, calling does not.
    const hook = 'export async function resolve(name, context, next) { if (name.startsWith("gpt-tokenizer")) throw new Error("refused"); return next(name, context) }'
    const script = `
      import { register } from 'node:module'
      register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)})
      const tokens = await import(${JSON.stringify(new URL('../lib/index.js', import.meta.url).href)})
      console.log(tokens.heuristicCounter().countText('a word'), await tokens.exactCounter().catch((error) => error.code))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: fileURLToPath(new URL('..', import.meta.url)) })
    expect(stdout.trim()).toBe('2 TOKENIZER_MISSING')
  })
})

describe('a pathological text', () => {
  const random = (alphabet: readonly string[]) => {
    let state = 1
    return Array.from({ length: MEGABYTE / 2 }, () => alphabet[(state = (state * 48_271) % 2_147_483_647) % alphabet.length]).join('')
  }
  const letters = [...'abcdefghijklmnopqrstuvwxyz']
  const han = Array.from({ length: 20_000 }, (_, index) => String.fromCharCode(0x4E00 + index))

  it.each([
    ['one letter', 'a'.repeat(MEGABYTE)], ['one space', ' '.repeat(MEGABYTE)], ['line feeds', '\n'.repeat(MEGABYTE)], ['one sign', '_'.repeat(MEGABYTE)],
    ['slashes and line feeds', '/\n'.repeat(MEGABYTE / 2)], ['one digit', '7'.repeat(MEGABYTE)], ['one Chinese character', '水'.repeat(MEGABYTE)],
    ['one emoji', '👍'.repeat(MEGABYTE / 2)], ['combining marks', '\u0301'.repeat(MEGABYTE)], ['capitals and marks', 'A\u0301'.repeat(MEGABYTE / 2)],
    ['random letters', random(letters)], ['random signs', random([...'!#$%&*+-=?@^_~'])], ['random Chinese', random(han)],
  ])('of half a megabyte or more is counted, where its square would take longer than a test may: %s', (_, text) => {
    expect(counter.countText(text)).toBeGreaterThan(1_000)
  })

  it('is cut by a token a cut at most', () => {
    for (const text of ['a'.repeat(3_000), '='.repeat(3_000), ' '.repeat(3_000), random(letters).slice(0, 3_000), random(han).slice(0, 1_500)]) {
      const cuts = cutRuns(text).length - 1
      expect(cuts).toBeGreaterThan(0)
      expect(Math.abs(counter.countText(text) - encode(text).length)).toBeLessThanOrEqual(cuts)
    }
  })

  it('loses no character to the cutting, and keeps no run of more than twice the limit', () => {
    for (const piece of ['a', ' ', '_', '水', '👍', 'A\u0301', '/\n']) {
      const text = piece.repeat(5_000)
      expect(cutRuns(text).join('')).toBe(text)
      expect(Math.max(...cutRuns(text).map((part) => part.length))).toBeLessThanOrEqual(2 * RUN_LIMIT)
    }
  })

  it('is the only one that is cut', () => {
    for (const text of ['a few words '.repeat(1_000), '12345'.repeat(1_000), 'x'.repeat(RUN_LIMIT - 1), `${'-'.repeat(80)}\n`.repeat(50)]) expect(cutRuns(text)).toEqual([text])
  })
})
