import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { replaceText } from '../src/replacement.ts'
import { bench, put } from './kit.ts'

const edited = (text: string, old: string, put: string, all = false): string => replaceText(text, { old, new: put, all }, 'a.txt').text

describe('an edit survives', () => {
  it.each([
    ['a match that begins at a line break', 'a\r\nb\r\n', '\nb', '', 'a\r\n'],
    ['a match that ends at one', 'a\r\nb\r\n', 'a\n', '', 'b\r\n'],
    ['nothing but a line break', 'a\r\nb', '\n', ' ', 'a b'],
    ['an old text with \\r\\n in a file with \\n', 'a\nb\n', 'a\r\nb', 'c\r\nd', 'c\nd\n'],
    ['mixed line ends, each kept', 'a\r\nb\nc\r\n', 'a\nb\nc', 'A\nB\nC', 'A\r\nB\nC\r\n'],
    ['a new line among mixed line ends', 'a\nb\r\nc\n', 'b', 'b\nx', 'a\nb\r\nx\r\nc\n'],
    ['line ends of \\r alone', 'a\rb\rc', 'a\nb', 'a\nx\nb', 'a\rx\rb\rc'],
    ['a byte order mark, also in the old text', '\ufeffa\nb', '\ufeffa', '\ufeffc', '\ufeffc\nb'],
    ['tabs', '\tif (x) {\n\t\ty\n\t}', '\t\ty', '\t\tz', '\tif (x) {\n\t\tz\n\t}'],
    ['decomposed characters, which stay so', 're\u0301sume\u0301 = 1', 'résumé = 1', 'résumé = 2', 're\u0301sume\u0301 = 2'],
    ['composed characters asked for decomposed', 'café = 1', 'cafe\u0301 = 1', 'cafe\u0301 = 2', 'café = 2'],
    ['Hangul written as letters', '\u1112\u1161\u11ab = 1', '한 = 1', '한 = 2', '\u1112\u1161\u11ab = 2'],
    ['spaces that do not break, which stay so', 'a\u00a0b\u202fc d', 'a b c d', 'a b c e', 'a\u00a0b\u202fc e'],
    ['all of that at once', '\ufeffcafe\u0301\u00a01\r\ncafe\u0301\u00a02\r\n', 'café 1\ncafé 2', 'café 1\nnew\ncafé 3', '\ufeffcafe\u0301\u00a01\r\nnew\r\ncafé 3\r\n'],
  ])('%s', (_, text, old, put, expected) => expect(edited(text, old, put)).toBe(expected))

  it('exact text first: what is there to the letter is not ambiguous for what only looks the same', () => {
    expect(edited('a b\na\u00a0b', 'a b', 'c')).toBe('c\na\u00a0b')
    expect(() => edited('e\u0301 é'.normalize('NFD'), 'é', 'x')).toThrow('2 times')
  })

  it('never inside of a line break or a character', () => {
    expect(() => edited('a\r\n', '\r', 'x')).not.toThrow()
    expect(edited('a\r\nb', '\r', 'x')).toBe('axb')
    expect(() => edited('e\u0301', 'e', 'x')).not.toThrow()
    expect(() => edited('한'.normalize('NFD'), '\u1112\u1161', 'x')).not.toThrow()
  })

  it('whatever the line ends: the lines that the edit does not touch keep theirs, and there is never a lone \\r of ours', () => {
    const end = fc.constantFrom('\n', '\r\n')
    const lines = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', ''), end), { minLength: 1, maxLength: 8 })
    fc.assert(fc.property(lines, fc.nat(), fc.nat({ max: 4 }), fc.array(fc.constantFrom('x', 'y', ''), { maxLength: 3 }), (list, from, count, put) => {
      const start = from % list.length
      const text = list.map(([line, ending]) => line + ending).join('')
      const old = list.slice(start, start + count).map(([line]) => `${line}\n`).join('')
      const fresh = put.map((line) => `${line}\n`).join('')
      if (old === '' || old === fresh) return
      let result: string
      try {
        result = edited(text, old, fresh)
      } catch {
        return
      }
      expect(result.replaceAll('\r\n', '\n')).toBe(text.replaceAll('\r\n', '\n').replace(old, () => fresh))
      expect(result).not.toMatch(/\r(?!\n)/)
    }))
  })
})

describe('the hint', () => {
  const why = (text: string, old: string): string => {
    try {
      return edited(text, old, 'new')
    } catch (error) {
      return (error as Error).message
    }
  }

  it('shows the line that differs, with what cannot be seen written out', () => {
    expect(why('if (x) {\n\treturn 1\n}', 'if (x) {\n    return 1\n}')).toContain('Line 2 is "\\treturn 1" in the file, and "    return 1" in the old text.')
    expect(why('a\u200b = 1\u3000', 'a\u200b = 1')).not.toContain('does not have')
    expect(why('\u3000a', ' a')).toContain('Line 1 is "\\u3000a" in the file, and " a" in the old text.')
  })
})

describe('a file that was changed since the model read it', () => {
  const read = async (b: ReturnType<typeof bench>) => {
    put(b.cwd, { 'a.txt': 'one\ntwo\nthree\n' })
    await b.text('read', { path: 'a.txt', offset: 1, limit: 1 })
  }

  it.each([['write', { content: 'mine' }], ['edit', { old: 'one', new: '1' }]] as const)('is not touched by %s, which says what changed and what to do', async (tool, input) => {
    const b = bench()
    await read(b)
    writeFileSync(join(b.cwd, 'a.txt'), 'one\n2\nthree\n')
    const refusal = await b.refusal(tool, { path: 'a.txt', ...input })
    expect(refusal).toBe('a.txt was changed since you read it, by someone else or by a command; nothing was written. Read it again first. What differs now:\n2\t2')
    expect(readFileSync(join(b.cwd, 'a.txt'), 'utf8')).toBe('one\n2\nthree\n')
    await b.text('read', { path: 'a.txt' })
    await b.text(tool, { path: 'a.txt', ...input })
  })

  it('counts as known after the model wrote it, and where only its time is another', async () => {
    const b = bench()
    await read(b)
    await b.text('edit', { path: 'a.txt', old: 'one', new: '1' })
    await b.text('edit', { path: 'a.txt', old: 'two', new: '2' })
    await b.text('write', { path: 'a.txt', content: 'mine' })
    writeFileSync(join(b.cwd, 'a.txt'), 'mine')
    await b.text('write', { path: 'a.txt', content: 'mine again' })
    expect(readFileSync(join(b.cwd, 'a.txt'), 'utf8')).toBe('mine again')
  })

  it('may have been removed: that is said once', async () => {
    const b = bench()
    await read(b)
    rmSync(join(b.cwd, 'a.txt'))
    expect(await b.refusal('write', { path: 'a.txt', content: 'x' })).toContain('was removed since you read it')
    expect(await b.text('write', { path: 'a.txt', content: 'x' })).toContain('Created a.txt')
  })

  it('that was never read may be written, as it may where lines were removed and read again', async () => {
    const b = bench()
    put(b.cwd, { 'b.txt': 'x' })
    await b.text('write', { path: 'b.txt', content: 'y' })
    writeFileSync(join(b.cwd, 'b.txt'), '')
    expect(await b.refusal('write', { path: 'b.txt', content: 'z' })).toContain('was changed since you read it')
  })
})
