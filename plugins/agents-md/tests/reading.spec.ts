import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, truncateSync, unlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { stopClock } from '@headrace/testing/clock'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type FileStatus, type FileSystem, nodeFiles } from '@headrace/files'
import { instructionFiles, isLinkText } from '../src/instruction-file.ts'
import { CountedFiles, all, folder, problems, tell, told, write } from './kit.ts'

const utf16 = (text: string, order: 'le' | 'be'): Buffer => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
  return order === 'le' ? bytes : bytes.swap16()
}

describe('text', () => {
  it.each([
    ['a UTF-8 byte order mark', Buffer.from('\ufeffone\ntwo\n')],
    ['CRLF', Buffer.from('one\r\ntwo\r\n')],
    ['CR only', Buffer.from('one\rtwo\r')],
    ['no end of the last line', Buffer.from('one\ntwo')],
    ['UTF-16LE with a mark', utf16('one\ntwo\n', 'le')],
    ['UTF-16BE with a mark', utf16('one\r\ntwo', 'be')],
  ])('with %s is told, and is the same text as without', async (_, bytes) => {
    const { text, problems: found } = await tell(folder({ 'AGENTS.md': bytes }))
    expect(text).toBe((await tell(folder({ 'AGENTS.md': 'one\ntwo\n' }))).text)
    expect(text).toContain('\none\ntwo\n')
    expect(found).toEqual([])
  })

  it.each([
    ['invalid UTF-8', Buffer.from([0x61, 0xff, 0x62]), 'NOT_TEXT'],
    ['a character cut in half', Buffer.from('ä').subarray(0, 1), 'NOT_TEXT'],
    ['NUL characters', 'a\0b', 'NOT_TEXT'],
    ['UTF-16LE without a mark', Buffer.from('one', 'utf16le'), 'NOT_TEXT'],
    ['UTF-16 of odd length', Buffer.concat([utf16('one', 'le'), Buffer.from('x')]), 'NOT_TEXT'],
    ['UTF-16 with a lone surrogate', Buffer.from('\ufeff\ud800', 'utf16le'), 'NOT_TEXT'],
    ['nothing', '', 'BLANK'],
    ['nothing but a mark', '\ufeff', 'BLANK'],
    ['only spaces', ' \t\r\n\u00a0\u3000', 'BLANK'],
  ])('that is %s is skipped, with a diagnostic that names the file; the other files are told', async (_, bytes, code) => {
    const root = folder({ 'AGENTS.md': bytes, 'AGENTS.local.md': 'the other' })
    const { h, text, problems: found } = await tell(root)
    expect(found).toEqual([`${code} AGENTS.md`])
    expect(text).toContain('the other')
    expect(text).not.toContain('path="AGENTS.md"')
    expect(h.reports).toMatchObject([{ plugin: 'agents-md', problem: expect.stringContaining(join(root, 'AGENTS.md')) }])
  })
})

describe('what is no file', () => {
  it('a folder', async () => {
    const root = folder({ 'AGENTS.local.md': 'the other' })
    mkdirSync(join(root, 'AGENTS.md'))
    const { text, problems: found } = await tell(root)
    expect(found).toEqual(['NOT_A_FILE AGENTS.md'])
    expect(text).toContain('the other')
  })

  it('a FIFO, which nobody writes to, by its name and by a link', async () => {
    const root = folder({})
    execFileSync('mkfifo', [join(root, 'AGENTS.md')])
    symlinkSync('AGENTS.md', join(root, 'AGENTS.local.md'))
    const { text, problems: found } = await tell(root)
    expect(found).toEqual(['NOT_A_FILE AGENTS.md', 'NOT_A_FILE AGENTS.local.md'])
    expect(text).toBe('')
  })

  it('a FIFO that takes the place of a file between the look and the opening', async () => {
    const root = folder({ 'AGENTS.md': 'text' })
    const files = new CountedFiles()
    const { realpath } = files
    files.realpath = async (path) => {
      const real = await realpath.call(files, path)
      if (path.endsWith('AGENTS.md')) {
        unlinkSync(real)
        execFileSync('mkfifo', [real])
      }
      return real
    }
    const { text, problems: found } = await tell(root, { files })
    expect(found).toEqual(['NOT_A_FILE AGENTS.md'])
    expect(text).toBe('')
  })

  it('a socket', async () => {
    const root = folder({})
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(root, 'AGENTS.md'), resolve))
    onTestFinished(() => void server.close())
    expect((await tell(root)).problems).toEqual(['NOT_A_FILE AGENTS.md'])
  })

  it('a device', async () => {
    const { problems: found } = await tell(folder({}), { global: '/dev/zero' })
    expect(found).toEqual(['NOT_A_FILE /dev/zero'])
  })

  it('a file of 300 MB, which is not read', async () => {
    const root = folder({ 'AGENTS.md': 'x', 'AGENTS.local.md': 'the other' })
    truncateSync(join(root, 'AGENTS.md'), 300_000_000)
    const files = new CountedFiles()
    const { text, problems: found } = await tell(root, { files })
    expect(found).toEqual(['TOO_LARGE AGENTS.md'])
    expect(files.read_).toEqual([join(root, 'AGENTS.local.md')])
    expect(text).toContain('the other')
  })

  it('a file that grows while it is read is read up to the limit only', async () => {
    const root = folder({ 'AGENTS.md': 'x'.repeat(100) })
    const files = new CountedFiles()
    const { lstat } = files
    files.lstat = (path) => {
      const status = lstat.call(files, path)
      if (path.endsWith('AGENTS.md') && status?.size === 100) truncateSync(path, 5_000_000)
      return status
    }
    const { problems: found } = await tell(root, { files, maxFile: 1_000 })
    expect(found).toEqual(['TOO_LARGE AGENTS.md'])
  })

  it('an unreadable file', async () => {
    const root = folder({ 'AGENTS.md': 'secret', 'AGENTS.local.md': 'the other' })
    const files = new CountedFiles()
    files.faults.set(join(root, 'AGENTS.md'), 'EACCES')
    const { h, text, problems: found } = await tell(root, { files })
    expect(found).toEqual(['UNREADABLE AGENTS.md'])
    expect(text).toContain('the other')
    files.reset()
    await h.run('Again')
    expect(files.read_).toEqual([])
  })

  it('a file that the system has no time for keeps what was told', async () => {
    const root = folder({ 'AGENTS.md': 'text' })
    const files = new CountedFiles()
    const { h } = await tell(root, { files })
    write(root, { 'AGENTS.md': 'new text' })
    files.faults.set(join(root, 'AGENTS.md'), 'EMFILE')
    await h.run('Again')
    expect(told(h)).toHaveLength(1)
    files.faults.clear()
    await h.run('Again')
    expect(told(h)).toHaveLength(2)
    expect(told(h)[1]).toContain('new text')
  })
})

describe('on a file system whose clock ticks', () => {
  it('a file is read when the tick of its last change is past: what it holds then is what its time stands for', async () => {
    const clock = stopClock()
    const status: FileStatus = { kind: 'file', size: 3, id: '1', stamp: [1n], changed: Date.now() }
    let content = 'old'
    const files: FileSystem = {
      ...nodeFiles, lstat: () => status, stat: () => status, realpath: async (path) => path,
      read: async () => ({ bytes: Buffer.from(content), before: status, after: status }),
    }
    const reader = instructionFiles(files, ['/p'], 1_000)
    const first = reader.look('/p/AGENTS.md')
    await clock.pass(2)
    content = 'new'
    await clock.pass(1_000)
    expect(await first).toMatchObject({ text: 'new' })
    expect(await reader.look('/p/AGENTS.md')).toBe(await first)
  })

  it('a file that changes while it is read is read again', async () => {
    const at = (stamp: number): FileStatus => ({ kind: 'file', id: '1', size: 3, stamp: [BigInt(stamp)], changed: 0 })
    let reads = 0
    const files: FileSystem = {
      ...nodeFiles, lstat: () => at(2), stat: () => at(2), realpath: async (path) => path,
      read: async () => ({ bytes: Buffer.from(`text ${++reads}`), before: at(reads), after: at(2) }),
    }
    const reader = instructionFiles(files, ['/p'], 1_000)
    expect(await reader.look('/p/AGENTS.md')).toMatchObject({ text: 'text 1' })
    expect(await reader.look('/p/AGENTS.md')).toMatchObject({ text: 'text 2' })
    expect(await reader.look('/p/AGENTS.md')).toMatchObject({ text: 'text 2' })
  })
})

describe('a symbolic link', () => {
  it('to a file inside is followed, also where its folder is a link', async () => {
    const root = folder({ 'docs/agents.md': 'inside, with @style.md', 'docs/style.md': 'the style' })
    symlinkSync('docs/agents.md', join(root, 'AGENTS.md'))
    const { text, problems: found } = await tell(root)
    expect(text).toMatch(/the style[^]*inside, with @style.md/)
    expect(text).toContain('<file path="AGENTS.md"')
    expect(found).toEqual([])
  })

  it('to a file outside is refused and not read, by its name or by a folder\'s', async () => {
    const outside = folder({ 'secret.md': 'secret', 'sub/AGENTS.md': 'secret' })
    const root = folder({ 'AGENTS.local.md': 'the other' })
    symlinkSync(join(outside, 'secret.md'), join(root, 'AGENTS.md'))
    symlinkSync(join(outside, 'sub'), join(root, 'sub'))
    const files = new CountedFiles()
    const { text, problems: found } = await tell(root, { files, harness: { script: [{ calls: [{ name: 'touch', arguments: { path: 'sub/x' } }] }, 'ok'] } })
    expect(found).toEqual(['OUTSIDE AGENTS.md', 'OUTSIDE sub/AGENTS.md'])
    expect(text).toContain('the other')
    expect(text).not.toContain('secret')
    expect(files.read_).toEqual([join(root, 'AGENTS.local.md')])
    expect((await tell(root, { roots: [outside] })).text).toContain('secret')
  })

  it('to nothing, or in a circle, is a diagnostic; a target that comes is told', async () => {
    const root = folder({})
    symlinkSync('nothing.md', join(root, 'AGENTS.md'))
    symlinkSync('AGENTS.local.md', join(root, 'AGENTS.local.md'))
    const { h, problems: found } = await tell(root)
    expect(found).toEqual(['LINK_DANGLING AGENTS.md', 'LINK_LOOP AGENTS.local.md'])
    write(root, { 'nothing.md': 'something' })
    rmSync(join(root, 'AGENTS.local.md'))
    write(root, { 'AGENTS.local.md': 'a file now' })
    await h.run('Again')
    expect(all(h)).toMatch(/something[^]*a file now/)
    expect(problems(h, root)).toEqual([])
  })

  it('that leads elsewhere now is announced', async () => {
    const root = folder({ 'one.md': 'text 1', 'two.md': 'text 2' })
    symlinkSync('one.md', join(root, 'AGENTS.md'))
    const { h } = await tell(root)
    unlinkSync(join(root, 'AGENTS.md'))
    symlinkSync('two.md', join(root, 'AGENTS.md'))
    await h.run('Again')
    expect(told(h)).toHaveLength(2)
    expect(told(h)[1]).toContain('text 2')
  })

  it.each(['CLAUDE.md', '../AGENTS.md', 'docs/agents', './x', '/etc/agents'])('checked out as the text %s is a diagnostic', async (text) => {
    expect((await tell(folder({ 'AGENTS.md': text }))).problems).toEqual(['LINK_AS_TEXT AGENTS.md'])
  })

  it.each(['Use tabs.', 'See docs/style.md', '@docs/style.md', 'https://example.org/agents.md', 'tabs', '# docs/x.md\n\ntext', '`npm test`'])('is not what %j is', (text) => {
    expect(isLinkText(text)).toBe(false)
  })
})
