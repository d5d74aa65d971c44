import { mkdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bench, contentOf, put } from './kit.ts'

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(24)])

describe('read', () => {
  it('numbers the lines, and shows neither \\r nor a byte order mark', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': '\ufeffone\r\n\r\nthree', 'b.txt': 'one\n\n' })
    expect(await text('read', { path: 'a.txt' })).toBe('1\tone\n2\t\n3\tthree')
    expect(await text('read', { path: 'b.txt' })).toBe('1\tone\n2\t')
  })

  it('gives the part asked for, and says where to go on only where the file does', async () => {
    const { cwd, text, refusal } = bench()
    put(cwd, { 'a.txt': 'a\nb\nc\nd\n' })
    expect(await text('read', { path: 'a.txt', offset: 2, limit: 2 })).toBe('2\tb\n3\tc\n[The file goes on: read it with offset 4.]')
    expect(await text('read', { path: 'a.txt', offset: 3, limit: 2 })).toBe('3\tc\n4\td')
    expect(await refusal('read', { path: 'a.txt', offset: 5 })).toBe('a.txt has 4 lines; there is no line 5.')
  })

  it('an empty file says so', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': '' })
    expect(await text('read', { path: 'a.txt' })).toBe('[The file is empty.]')
  })

  it('parts of a long file, read by their notes, are the whole file', async () => {
    const { cwd, text } = bench({ maxRead: 1_000 })
    const lines = Array.from({ length: 3_000 }, (_, at) => `line ${at} ${'é𝄞'.repeat(at % 30)}`)
    put(cwd, { 'a.txt': lines.join('\n') })
    const seen: string[] = []
    for (let offset: number | undefined = 1; offset !== undefined;) {
      const part: string = await text('read', { path: 'a.txt', offset })
      expect(part.length).toBeLessThan(1_100)
      const note = /\n\[The file goes on: read it with offset (\d+)\.\]$/.exec(part)
      seen.push(...part.slice(0, note?.index).split('\n').map((line) => line.replace(/^\d+\t/, '')))
      offset = note === null ? undefined : Number(note[1])
    }
    expect(seen).toEqual(lines)
  })

  it('a line that is too long is cut, whole characters only, and says how much is missing', async () => {
    const { cwd, text } = bench({ maxLine: 101 })
    put(cwd, { 'a.txt': `${'𝄞'.repeat(100)}\r\nend` })
    expect(await text('read', { path: 'a.txt' })).toBe(`1\t${'𝄞'.repeat(50)} [… 100 more characters in this line]\n2\tend`)
  })

  it('a line of exactly the longest length is whole, also before \\r\\n', async () => {
    const { cwd, text } = bench({ maxLine: 100 })
    put(cwd, { 'a.txt': `${'x'.repeat(100)}\r\n${'y'.repeat(100)}` })
    expect(await text('read', { path: 'a.txt' })).toBe(`1\t${'x'.repeat(100)}\n2\t${'y'.repeat(100)}`)
  })

  it('of a huge file only what is asked for is read', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'huge.txt': 'one line\n'.repeat(10_000), 'line.txt': 'x'.repeat(30_000_000) })
    truncateSync(join(cwd, 'huge.txt'), 200_000_000_000)
    expect(await text('read', { path: 'huge.txt', offset: 2, limit: 1 })).toBe('2\tone line\n[The file goes on: read it with offset 3.]')
    expect(await text('read', { path: 'line.txt' })).toContain('[… 29998000 more characters in this line]')
  })

  it('what is not UTF-8 text is refused, saying what it is', async () => {
    const { cwd, refusal } = bench()
    put(cwd, {
      'a.bin': Buffer.from([1, 0, 2]), 'a.png': PNG, 'utf16.txt': Buffer.from('\ufeffhi', 'utf16le'),
      'latin1.txt': Buffer.from('one\ncaf\xe9\nthree', 'latin1'), 'cut.txt': Buffer.from('ok\né').subarray(0, 4),
    })
    expect(await refusal('read', { path: 'a.bin' })).toBe('a.bin is a binary file of 3 bytes, not UTF-8 text; use bash to look into it.')
    expect(await refusal('read', { path: 'a.png' })).toContain('an image (image/png) of 32 bytes')
    expect(await refusal('read', { path: 'utf16.txt' })).toContain('UTF-16')
    expect(await refusal('read', { path: 'latin1.txt' })).toContain('latin1.txt is not valid UTF-8')
    expect(await refusal('read', { path: 'cut.txt' })).toContain('not valid UTF-8 after line 1')
  })

  it('gives an image as an image where the app says that the model can see', async () => {
    const { cwd, call, refusal } = bench({ images: true, maxFile: 100 })
    put(cwd, { 'a.png': PNG, 'large.png': Buffer.concat([PNG, Buffer.alloc(100)]) })
    expect(contentOf(await call('read', { path: 'a.png' }))).toEqual([{ type: 'image', digest: '32', mediaType: 'image/png' }])
    expect(await refusal('read', { path: 'large.png' })).toContain('larger than the 100 bytes')
  })

  it('a cancelled read ends', async () => {
    const { cwd, refusal, controller } = bench()
    put(cwd, { 'a.txt': 'a\n'.repeat(1_000_000) })
    controller.abort()
    expect(await refusal('read', { path: 'a.txt', offset: 900_000 })).toContain('Cancelled')
  })

  it('a NUL far behind the beginning reaches no result', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': `${'x\n'.repeat(5_000)}a\0b` })
    expect(await text('read', { path: 'a.txt', offset: 5_001 })).toBe('5001\ta\ufffdb')
  })

  it('does not follow the name of a folder', async () => {
    const { cwd, refusal } = bench()
    mkdirSync(join(cwd, 'sub'))
    expect(await refusal('read', { path: 'sub' })).toBe('sub is a folder; list shows what is in it.')
  })
})
