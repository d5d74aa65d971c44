import { mkdirSync, symlinkSync } from 'node:fs'
import { open, realpath, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  configHome,
  cutAfter,
  decodeText,
  expandHome,
  foldersToProject,
  isAbsent,
  isInside,
  isPassing,
  nodeFiles,
  oneLine,
  quoted,
  realPathOf,
  reasonOf,
  shownName,
  stateHome,
} from '../src/index.ts'
import { folder } from './kit.ts'

const failed = (code: string): Error => Object.assign(new Error(`${code}: as the system says it`), { code })

describe('decodeText', () => {
  const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')

  it.each([
    ['UTF-8', Buffer.from('a\nb'), 'utf-8'],
    ['UTF-8 with a mark', Buffer.from('\ufeffa\r\nb'), 'utf-8'],
    ['UTF-16LE with a mark', utf16('a\rb'), 'utf-16le'],
    ['UTF-16BE with a mark', utf16('a\nb').swap16(), 'utf-16be'],
  ])('reads %s, without the mark and with \\n', (_, bytes, encoding) => expect(decodeText(bytes)).toEqual({ text: 'a\nb', encoding }))

  it.each([
    ['a byte that is none', Buffer.from([0x61, 0xff])],
    ['half of a character', Buffer.from('ä').subarray(0, 1)],
    ['NUL', Buffer.from('a\0b')],
    ['UTF-16 of odd length', Buffer.concat([utf16('a'), Buffer.from('x')])],
  ])('says what is wrong with %s', (_, bytes) => expect(decodeText(bytes)).toHaveProperty('problem'))

  it('reads a head that ends inside of a character, and keeps marks and separators inside', () => {
    expect(decodeText(Buffer.from('aä').subarray(0, 2), true)).toMatchObject({ text: 'a' })
    expect(decodeText(Buffer.from('a\u2028b\u0085c\ufeffd'))).toMatchObject({ text: 'a\u2028b\u0085c\ufeffd' })
  })
})

describe('confinement', () => {
  it('is by folders, not by the letters of a path', () => {
    expect(['/a', '/a/b', '/ab', '/', '/a/../b'].map((path) => isInside('/a', path))).toEqual([true, true, false, false, true])
    expect(isInside('/', '/a')).toBe(true)
  })

  it('tells where an open file is, wherever its path leads by now', async () => {
    const root = folder({ 'in/a.txt': 'a', 'out/a.txt': 'b' })
    const handle = await open(join(root, 'in/a.txt'))
    await rename(join(root, 'in'), join(root, 'moved'))
    symlinkSync('out', join(root, 'in'))
    // Elsewhere than on Linux only the path can be asked.
    const where = process.platform === 'linux' ? 'moved/a.txt' : 'out/a.txt'
    expect(await realPathOf(handle, join(root, 'in/a.txt'))).toBe(join(root, where))
    await handle.close()
    expect(await realpath(join(root, 'in/a.txt'))).toBe(join(root, 'out/a.txt'))
  })
})

describe('folders', () => {
  it('are those of XDG, unless the variable is relative or empty', () => {
    for (const wrong of [undefined, '', 'relative']) {
      expect(configHome({ XDG_CONFIG_HOME: wrong }, '/home/ada')).toBe('/home/ada/.config')
      expect(stateHome({ XDG_STATE_HOME: wrong }, '/home/ada')).toBe('/home/ada/.local/state')
    }
    expect(configHome({ XDG_CONFIG_HOME: '/etc/x' }, '/home/ada')).toBe('/etc/x')
    expect(expandHome('~x/y')).toBe('~x/y')
    expect(expandHome('~/y')).toMatch(/\/y$/)
  })

  it('go up to the nearest with a marker, be it a link to nothing; without one there is only the folder', () => {
    const root = folder({ 'a/b/c/x': '' })
    symlinkSync('nowhere', join(root, 'a/.marker'))
    const from = join(root, 'a/b/c')
    expect(foldersToProject(from, ['.marker'], nodeFiles)).toEqual([from, join(root, 'a/b'), join(root, 'a')])
    expect(foldersToProject(from, ['.none'], nodeFiles)).toEqual([from])
    mkdirSync(join(from, '.none'))
    expect(foldersToProject(from, ['.none', '.marker'], nodeFiles)).toEqual([from])
  })
})

it('errors say in a few words why', () => {
  expect(reasonOf(failed('EACCES'))).toBe('the system does not permit it')
  expect(reasonOf(failed('EWHATEVER'))).toBe('EWHATEVER: as the system says it')
  expect(reasonOf('thrown')).toBe('thrown')
  expect(['ENOENT', 'ENOTDIR', 'EIO'].map((code) => [isAbsent(failed(code)), isPassing(failed(code))])).toEqual([[true, false], [true, false], [false, true]])
})

it('names and texts are shown on one line, never cut inside of a character', () => {
  expect(cutAfter('a😀b', 2)).toBe('a')
  expect(oneLine(' a\r\n\u0085b\ud800 ')).toBe('a b\ufffd')
  expect(quoted('x'.repeat(100))).toBe(`"${'x'.repeat(80)}…"`)
  expect(shownName('a\u202eb\n')).toBe('a\\u202eb\\u000a')
})
