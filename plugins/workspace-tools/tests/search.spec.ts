import { execFileSync } from 'node:child_process'
import { chmodSync, symlinkSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { turns } from '@headrace/testing/gate'
import { GlobPattern, expandBraces } from '../src/glob-pattern.ts'
import { compileSegment } from '../src/glob-pattern.ts'
import { walk } from '../src/walk.ts'
import { bench, folder, put } from './kit.ts'

describe('list', () => {
  it('shows one folder: folders, files with their size, links with where they lead, in the order of code units', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'b.txt': '12345', 'B.txt': '', 'é.txt': 'é', '.hidden': 'x', 'sub/inner.txt': '' })
    symlinkSync('b.txt', join(cwd, 'link'))
    expect(await text('list', {})).toBe('.hidden\t1\nB.txt\t0\nb.txt\t5\nlink -> b.txt\nsub/\né.txt\t2')
    expect(await text('list', { path: 'sub' })).toBe('inner.txt\t0')
  })

  it('is bounded, and says how many are left', async () => {
    const { cwd, text } = bench({ maxResults: 3 })
    put(cwd, Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, ''])))
    expect(await text('list', {})).toBe('f0\t0\nf1\t0\nf2\t0\n[7 more entries; glob with a pattern finds some of them.]')
  })

  it('an empty folder says so, and a name cannot fake a line', async () => {
    const { cwd, text } = bench()
    expect(await text('list', {})).toBe('[The folder is empty.]')
    put(cwd, { 'a\nb': '' })
    expect(await text('list', {})).toBe('a\\u000ab\t0')
  })
})

describe('glob', () => {
  const files = {
    'a.ts': '', 'a/b.ts': '', 'a/b/c.ts': '', 'a/b/c.js': '', '.github/workflows/ci.yml': '', 'node_modules/x/index.ts': '', '.git/a.ts': '', 'z.md': '',
  }

  it.each([
    ['*.ts', 'a.ts\na/b.ts\na/b/c.ts'],
    ['./*.ts', 'a.ts'],
    ['a/**', 'a/b.ts\na/b/c.js\na/b/c.ts'],
    ['a/*', 'a/b.ts'],
    ['*/**', '.github/workflows/ci.yml\na/b.ts\na/b/c.js\na/b/c.ts'],
    ['a/', 'a/b.ts\na/b/c.js\na/b/c.ts'],
    ['**/c.{js,ts}', 'a/b/c.js\na/b/c.ts'],
    ['{a,z}.{ts,md}', 'a.ts\nz.md'],
    ['**/[!a-b].ts', 'a/b/c.ts'],
    ['.github/**/*.yml', '.github/workflows/ci.yml'],
    ['node_modules/**/*.ts', 'node_modules/x/index.ts'],
    ['a/b/c.ts', 'a/b/c.ts'],
    ['*.none', '[No files found.]'],
  ])('%s', async (pattern, expected) => {
    const { cwd, text } = bench()
    put(cwd, files)
    expect(await text('glob', { pattern })).toBe(expected)
  })

  it('searches below path, takes absolute patterns, and shows paths of the workspace', async () => {
    const { cwd, text, refusal } = bench()
    put(cwd, files)
    expect(await text('glob', { pattern: '*.js', path: 'a' })).toBe('a/b/c.js')
    expect(await text('glob', { pattern: `${cwd}/a/*/*.js` })).toBe('a/b/c.js')
    expect(await text('glob', { pattern: '../*.js', path: 'a/b' })).toBe('[No files found.]')
    expect(await refusal('glob', { pattern: '../**' })).toContain('leads outside')
    expect(await refusal('glob', { pattern: '/**' })).toContain('leads outside')
    expect(await refusal('glob', { pattern: '*/../../**' })).toContain('only at its beginning')
  })

  it('does not follow links, so a circle of them ends', async () => {
    const { cwd, outside, text } = bench()
    put(cwd, { 'a/x.ts': '' })
    put(outside, { 'y.ts': '' })
    symlinkSync('..', join(cwd, 'a/up'))
    symlinkSync(outside, join(cwd, 'door'))
    expect(await text('glob', { pattern: '**/*.ts' })).toBe('a/x.ts')
    expect(await text('glob', { pattern: '**' })).toBe('a/up\na/x.ts\ndoor')
  })

  it('a walk that is cancelled, or that may not enter a folder, looks no further', async () => {
    const { cwd } = bench()
    put(cwd, { 'a/x.ts': '', 'b/y.ts': '' })
    const found = async (enter: (names: readonly string[]) => boolean, signal = new AbortController().signal) => {
      const paths = []
      for await (const { names } of walk(cwd, { skip: [], gitignore: true, top: cwd, signal, enter })) paths.push(names.join('/'))
      return paths
    }
    expect(await found(() => true)).toEqual(['a/x.ts', 'b/y.ts'])
    expect(await found(([name]) => name === 'b')).toEqual(['b/y.ts'])
    expect(await found(() => true, AbortSignal.abort())).toEqual([])
    const pattern = new GlobPattern('./b/*/c')
    expect(['b', 'x'].reduce((state, name) => pattern.step(state, name), pattern.start())).not.toEqual([])
    expect(pattern.step(pattern.start(), 'a')).toEqual([])
  })

  it('is bounded in number, in order, and says that there is more', async () => {
    const { cwd, text } = bench({ maxResults: 2 })
    put(cwd, { 'b/1': '', 'b.txt': '', 'a': '', 'c': '' })
    expect(await text('glob', { pattern: '**' })).toBe('a\nb.txt\n[There are more files; narrow the pattern or the path.]')
  })

  // A matcher that goes back would be at these for longer than the world stands, and the tests with it.
  it('a pattern that would take a backtracking matcher for ever ends', () => {
    const bomb = `${'*a'.repeat(30)}*b`
    expect(compileSegment(bomb)('a'.repeat(255))).toBe(false)
    expect(new GlobPattern(`${'**/'.repeat(200)}x`).test(Array.from({ length: 200 }, () => 'a'))).toBe(false)
    expect(() => expandBraces('{a,b}'.repeat(12))).toThrow('more than 1000 alternatives')
  })

  it('a name and a glob agree with a plain definition of both', () => {
    const parts = fc.array(fc.constantFrom('a', 'b', '*', '?', '[ab]', '[!a]'), { maxLength: 6 })
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 })
    fc.assert(fc.property(parts, name, (glob, text) => {
      const regex = glob.join('').replaceAll('*', '.*').replaceAll('?', '.').replaceAll('!', '^')
      expect(compileSegment(glob.join(''))(text)).toBe(new RegExp(`^${regex}$`).test(text))
    }), { numRuns: 2_000 })
  })
})

describe('.gitignore', () => {
  it('decides as git does, nested files and negations included', async () => {
    const root = folder()
    const names = ['a.log', 'keep.log', 'b/a.log', 'b/keep.log', 'build/x', 'b/build/x', 'top', 'b/top', 'doc/a.txt', 'doc/b/a.txt', 'x y', 'x y ', '#c', '!d', 'e[1]', 'e1',
      '{q,r}', 'q', '{s,t}', 's', 'empty/any',  'deep/a/b/c', 'deep/c', 'sub/own.txt', 'sub/a.log', 'name', 'b/name/x', 'foo/bar/baz', 'z/foo/bar/baz', 'star.x', 'b/star.x', 'b/star.y', 'any/1/2', 'any2']
    put(root, Object.fromEntries(names.map((name) => [name, ''])))
    put(root, {
      '.gitignore': '\ufeff*.log\r\n# comment\n!keep.log\nbuild/\n/top\ndoc/*.txt\nx y\\ \n\\#c\n\\!d\ne[1]\n{q,r}\n/{s,t}\nempty/any/**\ndeep/**/c\nname/\nfoo/bar\nb/star.?\nany/**\n   \n\n',
      'sub/.gitignore': '!a.log\nown.*\n', 'b/.gitignore': 'keep.log  \n',
    })
    execFileSync('git', ['init', '-q'], { cwd: root })
    const git = execFileSync('git', ['-c', 'core.quotePath=false', 'ls-files', '-z', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
    const { text } = bench({ roots: [root] })
    const ours = await text('glob', { pattern: '**', path: root })
    expect(ours.split('\n').map((line) => line.slice(root.length + 1))).toEqual(git.split('\0').filter((name) => name !== '').sort())
  })

  it('rules above the folder count, unless they ignore the very folder that was named', async () => {
    const { cwd, text } = bench()
    put(cwd, { '.gitignore': '*.log\ndist/\nout*\n', 'out/out.js': '', 'src/a.log': '', 'src/a.ts': '', 'dist/a.js': '', 'dist/sub/b.js': '' })
    expect(await text('glob', { pattern: '**' })).toBe('.gitignore\nsrc/a.ts')
    expect(await text('glob', { pattern: '**', path: 'src' })).toBe('src/a.ts')
    expect(await text('glob', { pattern: '**', path: 'dist' })).toBe('dist/a.js\ndist/sub/b.js')
    expect(await text('glob', { pattern: '**', path: 'out' })).toBe('out/out.js')
    expect(await text('glob', { pattern: 'dist/sub/*' })).toBe('dist/sub/b.js')
  })

  it('can be switched off; a link or a pipe of that name is not read', async () => {
    const { cwd, outside, text } = bench()
    put(outside, { rules: '*.ts\n' })
    put(cwd, { 'a.ts': '', 'sub/b.ts': '' })
    symlinkSync(join(outside, 'rules'), join(cwd, '.gitignore'))
    execFileSync('mkfifo', [join(cwd, 'sub/.gitignore')])
    expect(await text('glob', { pattern: '*.ts' })).toBe('a.ts\nsub/b.ts')
    const other = bench({ gitignore: false })
    put(other.cwd, { '.gitignore': '*', 'a.ts': '' })
    expect(await other.text('glob', { pattern: '*.ts' })).toBe('a.ts')
  })

  it('rules of a hostile workspace do not hang the walk', async () => {
    const { cwd, text } = bench()
    put(cwd, { '.gitignore': `${'*a'.repeat(50)}*b\n${' '.repeat(50_000)}x\n`, ['a'.repeat(200)]: '' })
    expect(await text('glob', { pattern: '**' })).toContain('a'.repeat(200))
  })
})

describe('grep', () => {
  it('gives path:line:text in order of path and line', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'b.txt': 'one\ntwo\none two\r\n', 'a/z.txt': '\ufeffone', 'node_modules/x.txt': 'one', 'a.bin': Buffer.from('one\0') })
    expect(await text('grep', { pattern: '^one' })).toBe('a/z.txt:1:one\nb.txt:1:one\nb.txt:3:one two')
    expect(await text('grep', { pattern: 'two$', path: 'b.txt' })).toBe('b.txt:2:two\nb.txt:3:one two')
    expect(await text('grep', { pattern: 'one', path: 'node_modules' })).toBe('node_modules/x.txt:1:one')
    expect(await text('grep', { pattern: 'absent' })).toBe('[No matches.]')
  })

  it('gives the same whichever file is read first: a large one holds up the small ones behind it', async () => {
    const { cwd, text } = bench({ maxResults: 30 })
    put(cwd, { 'a.txt': `${'x\n'.repeat(2_000_000)}needle`, ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`b${String(i).padStart(2, '0')}.txt`, 'needle'])) })
    const lines = (await text('grep', { pattern: 'needle', filesOnly: true })).split('\n')
    expect(lines.slice(0, -1)).toEqual(['a.txt', ...Array.from({ length: 29 }, (_, i) => `b${String(i).padStart(2, '0')}.txt`)])
    expect(lines.at(-1)).toContain('There are more matches')
  })

  it('takes glob, ignoreCase and filesOnly', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a.ts': 'Foo\nfoo', 'a.js': 'foo', 'src/b.ts': 'FOO' })
    expect(await text('grep', { pattern: 'foo', glob: '*.ts' })).toBe('a.ts:2:foo')
    expect(await text('grep', { pattern: 'foo', glob: 'src/**', ignoreCase: true })).toBe('src/b.ts:1:FOO')
    expect(await text('grep', { pattern: 'foo', ignoreCase: true, filesOnly: true })).toBe('a.js\na.ts\nsrc/b.ts')
  })

  it('shows context once, with -- between what is apart', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': '1\nx2\n3\nx4\n5\n6\n7\n8\nx9', 'b.txt': 'x1\n2' })
    expect(await text('grep', { pattern: 'x', context: 1 })).toBe([
      'a.txt-1-1', 'a.txt:2:x2', 'a.txt-3-3', 'a.txt:4:x4', 'a.txt-5-5', '--', 'a.txt-8-8', 'a.txt:9:x9', '--', 'b.txt:1:x1', 'b.txt-2-2',
    ].join('\n'))
  })

  it('is bounded in matches and in characters, and says so', async () => {
    const few = bench({ maxResults: 2 })
    put(few.cwd, { 'a.txt': 'x\nx\nx', 'b.txt': 'x' })
    expect(await few.text('grep', { pattern: 'x' })).toBe('a.txt:1:x\na.txt:2:x\n[There are more matches; narrow the pattern, the path or the glob, or set filesOnly.]')
    expect(await few.text('grep', { pattern: 'x', path: 'b.txt' })).toBe('b.txt:1:x')
    const short = bench({ maxOutput: 200 })
    put(short.cwd, { 'a.txt': `${'x'.repeat(90)}\n`.repeat(100) })
    const found = await short.text('grep', { pattern: 'x', context: 2 })
    expect(found.length).toBeLessThan(400)
    expect(found).toContain('[There are more matches')
  })

  it('a long line is shown around its match, whole characters only', async () => {
    const { cwd, text } = bench({ maxLine: 100 })
    put(cwd, { 'a.txt': `${'𝄞'.repeat(500)}needle${'y'.repeat(500)}` })
    const found = await text('grep', { pattern: 'needle' })
    expect(found).toMatch(/^a\.txt:1:\[975 characters …\] .𝄞+needley+ \[… 431 more characters in this line\]$/u)
    expect(found.isWellFormed()).toBe(true)
    put(cwd, { 'a.txt': `${'y'.repeat(194)}needle` })
    expect(await text('grep', { pattern: 'needle' })).toBe(`a.txt:1:[100 characters …] ${'y'.repeat(94)}needle`)
  })

  it('a match across two chunks of a large file is found, and characters are not torn', async () => {
    const { cwd, text } = bench()
    for (const shift of [0, 1, 2, 3]) {
      put(cwd, { 'a.txt': `${'x'.repeat(65_534 - 3 + shift).replace(/x{100}/g, (run) => `${run.slice(1)}\n`)}é𝄞needle\nend` })
      expect(await text('grep', { pattern: 'é𝄞needle$', filesOnly: true })).toBe('a.txt')
    }
  })

  it('of an endless line only the beginning is searched, and the result says so', async () => {
    const { cwd, text } = bench({ maxRead: 1_000, maxLine: 100 })
    put(cwd, { 'a.txt': `${'x'.repeat(5_000)}needle\nneedle` })
    expect(await text('grep', { pattern: 'needle' })).toBe('a.txt:2:needle\n[1 lines are longer than 1000 characters and were searched only to there.]')
  })

  it.each(['(a+)+$', '(a|a)*$', '(a|aa)+$', '(.*a){20}$', '^(([a-z])+.)+[A-Z]([a-z])+$', '(?:a?){30}a{30}$'])('the regex bomb %s does not go off', async (pattern) => {
    const { cwd, text } = bench()
    put(cwd, { 'a.txt': `${'a'.repeat(40_000)}!\n`.repeat(5) })
    expect(await text('grep', { pattern })).toBeTypeOf('string')
  })

  it('a pattern that is none, or too costly, is refused with what the syntax is', async () => {
    const { refusal } = bench()
    expect(await refusal('grep', { pattern: '(' })).toMatch(/missing closing \).*RE2 syntax/)
    expect(await refusal('grep', { pattern: '(?=a)b' })).toContain('no look-around')
    expect(await refusal('grep', { pattern: '(a{1000}b)'.repeat(9) })).toContain('too large')
  })

  it('a binary file that was named is refused', async () => {
    const { cwd, refusal } = bench()
    put(cwd, { 'a.bin': Buffer.from('one\0') })
    expect(await refusal('grep', { pattern: 'one', path: 'a.bin' })).toContain('not a text file')
    expect(await refusal('grep', { pattern: 'one', path: 'none' })).toContain('There is no none')
  })

  it('ends when it is cancelled, in the middle of a huge file', async () => {
    const { cwd, refusal, controller } = bench()
    put(cwd, { 'a.txt': 'some line of text\n'.repeat(1_000) })
    truncateSync(join(cwd, 'a.txt'), 200_000_000_000)
    const refused = refusal('grep', { pattern: '[a-z]+ absent' })
    await turns()
    controller.abort()
    expect(await refused).toContain('Cancelled')
  })

  it('searches many files without holding up the process for long', async () => {
    const { cwd, text } = bench()
    for (let i = 0; i < 300; i++) put(cwd, { [`d${i % 10}/f${i}.txt`]: 'the quick brown fox\n'.repeat(3_000) })
    let others = 0
    let searching = true
    const turning = (async () => {
      for (; searching; others++) await turns(1)
    })()
    await text('grep', { pattern: 'f[aeiou]x\\s+jumps' })
    searching = false
    await turning
    // More often than once a file, however fast the machine is.
    expect(others).toBeGreaterThan(300)
  })

  it('files that may not be read are counted, folders are passed over', async () => {
    const { cwd, text, refusal } = bench()
    put(cwd, { 'a.txt': 'one', 'closed.txt': 'one', 'closed/b.txt': 'one' })
    chmodSync(join(cwd, 'closed.txt'), 0)
    chmodSync(join(cwd, 'closed'), 0)
    await asNobody(cwd, async () => {
      expect(await text('grep', { pattern: 'one' })).toBe('a.txt:1:one\n[1 files could not be read.]')
      expect(await refusal('read', { path: 'closed.txt' })).toBe('Cannot read closed.txt: the system does not permit it (EACCES).')
      expect(await refusal('list', { path: 'closed' })).toBe('Cannot list closed: the system does not permit it (EACCES).')
    })
    chmodSync(join(cwd, 'closed'), 0o700)
  })
})

/** Root may read everything: be somebody else for a while. */
async function asNobody(cwd: string, work: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return work()
  chmodSync(dirname(cwd), 0o755)
  process.seteuid?.(65_534)
  try {
    await work()
  } finally {
    process.seteuid?.(0)
  }
}
