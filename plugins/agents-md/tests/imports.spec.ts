import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { symlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { findImports } from '../src/imports.ts'
import { count, folder, tell } from './kit.ts'

describe('what is an import', () => {
  it.each([
    ['@other.md', ['other.md']],
    ['see @docs/a.md, and (@./b.md); "@../c.txt".', ['docs/a.md', './b.md', '../c.txt']],
    ['- @a.md\n- **@b.md**\n> @c.md', ['a.md', 'b.md', 'c.md']],
    ['@a.md @a.md', ['a.md']],
    ['@a.md#heading', ['a.md']],
    ['@my\\ notes/a.md', ['my notes/a.md']],
    ['@~/notes.md @/abs/notes', ['~/notes.md', '/abs/notes']],
    ['见 @文档/风格.md。', ['文档/风格.md']],
    ['@package.json', ['package.json']],
    ['mail me@example.md or <me@example.md>', []],
    ['git@github.com:me/x.md', []],
    ['@alice, @scope/pkg and @param', []],
    ['@https://example.org/x.md', []],
    ['`@a.md` and ``x ` @b.md`` and `c\n@d.md`', []],
    ['a lone ` and @a.md', ['a.md']],
    ['\\` @a.md` b', ['a.md']],
    ['`one` @a.md `two`', ['a.md']],
    ['`open\n\n@a.md`', ['a.md']],
    ['```\n@scope/pkg.md\n```\n@a.md', ['a.md']],
    ['~~~ sh\n@b.md\n```\n@c.md\n~~~\n@a.md', ['a.md']],
    ['````\n```\n@b.md\n```\n````\n@a.md', ['a.md']],
    ['- item\n  ```ts\n  import x from \'@scope/pkg.js\'\n  ```\n  @a.md', ['a.md']],
    ['> ```\n> @b.md\n> ```\n@a.md', ['a.md']],
    ['```\n@never closed.md', []],
    ['``` inline ``` @a.md', ['a.md']],
    ['text\n\n    @b.md\n\n    @c.md\n\n@a.md', ['a.md']],
    ['1. item\n\n    @a.md', ['a.md']],
    ['text\n    @a.md', ['a.md']],
    ['<!-- @b.md\n\n@c.md --> @a.md', ['a.md']],
  ])('%j', (text, expected) => {
    expect(findImports(text)).toEqual(expected)
  })

  it.each(['`'.repeat(200_000), '` '.repeat(100_000), `${' '.repeat(200_000)}\`\`\`x`, '> '.repeat(100_000) + '~~~', '@'.repeat(200_000), '@a\\ '.repeat(50_000), `@${'a.'.repeat(100_000)}`, '<!--'.repeat(50_000),
    Array.from({ length: 600 }, (_, index) => '`'.repeat(index + 1)).join(' ')])('takes linear time on a hostile text', (text) => {
    // Each is so long that anything else would take longer than a test may.
    findImports(text)
  })
})

describe('an import', () => {
  it('resolves against the file it stands in, in an ancestor\'s file, an overlay, an import and a nested file, and stands in front of it', async () => {
    const root = folder({
      'AGENTS.md': 'root @docs/a.md', 'docs/a.md': 'text a @b.md', 'docs/b.md': 'text b', 'b.md': 'not this',
      'x/AGENTS.local.md': 'overlay @../docs/c.md', 'docs/c.md': 'text c', 'x/y/AGENTS.md': 'nested @d.md', 'x/y/d.md': 'text d',
    })
    const { text, problems } = await tell(root, { cwd: join(root, 'x'), harness: { script: [{ calls: [{ name: 'touch', arguments: { path: 'y/z' } }] }, 'ok'] } })
    expect(text).toMatch(/text b\n[^]*text a @b.md\n[^]*root @docs\/a.md\n[^]*text c\n[^]*overlay @..\/docs\/c.md\n[^]*text d\n[^]*nested @d.md\n/)
    expect(text).toContain('<file path="../docs/b.md" imported-by="../docs/a.md" id=')
    expect(text).not.toContain('not this')
    expect(problems).toEqual([])
  })

  it('that is missing is reported; the file is told as it is', async () => {
    const { h, text, problems } = await tell(folder({ 'AGENTS.md': 'see @missing.md' }))
    expect(problems).toEqual(['IMPORT_MISSING AGENTS.md'])
    expect(h.reports[0]!.problem).toContain('missing.md')
    expect(text).toContain('see @missing.md')
  })

  it('in a circle is told once and reported', async () => {
    const { text, problems } = await tell(folder({ 'AGENTS.md': 'top @a.md', 'a.md': 'text a @b.md', 'b.md': 'text b @a.md @b.md @AGENTS.md' }))
    for (const line of ['top @a.md', 'text a @b.md', 'text b @a.md']) expect(count(text, line)).toBe(1)
    expect(problems).toEqual(['IMPORT_CYCLE b.md', 'IMPORT_CYCLE b.md', 'IMPORT_CYCLE b.md'])
  })

  it('by two files, or of what is told anyway, is told once, without a word', async () => {
    const root = folder({ 'AGENTS.md': 'top @a.md @b.md', 'a.md': 'text a @c.md', 'b.md': 'text b @c.md', 'c.md': 'text c', 'x/AGENTS.md': 'x @../AGENTS.md @../c.md' })
    const { text, problems } = await tell(root, { cwd: join(root, 'x') })
    for (const line of ['top @a.md', 'text a', 'text b', 'text c', 'x @..']) expect(count(text, line)).toBe(1)
    expect(problems).toEqual([])
  })

  it('of a nested file is not told again where the project\'s files have it', async () => {
    const root = folder({ 'AGENTS.md': 'top @a.md', 'a.md': 'text a', 'sub/AGENTS.md': 'sub @../a.md' })
    const { h, text } = await tell(root, { harness: { script: [{ calls: [{ name: 'touch', arguments: { path: 'sub' } }] }, 'ok'] } })
    await h.run('Again')
    expect(count(text, 'text a')).toBe(1)
    expect(text).toContain('sub @../a.md')
  })

  it('deeper than the limit, or beyond the number of files, is reported', async () => {
    const chain = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`${index}.md`, `level ${index} @${index + 1}.md`]))
    const { text, problems } = await tell(folder({ 'AGENTS.md': '@0.md and text', ...chain }))
    expect(text).toContain('level 4')
    expect(text).not.toContain('level 5')
    expect(problems).toEqual(['IMPORT_DEPTH 4.md'])
    const many = await tell(folder({ 'AGENTS.md': Array.from({ length: 5_000 }, (_, index) => `@none${index}.md`).join('\n') }), { importFiles: 3 })
    expect(many.problems).toEqual(['IMPORT_MISSING AGENTS.md', 'IMPORT_MISSING AGENTS.md', 'IMPORT_MISSING AGENTS.md', 'IMPORT_LIMIT AGENTS.md', 'OVER_BUDGET AGENTS.md'])
  })

  it('that leads outside of the project is refused, written out, from home or by a link; unless a root allows it', async () => {
    const outside = folder({ 'secret.md': 'secret' }, { git: false })
    const root = folder({})
    const up = relative(root, join(outside, 'secret.md'))
    symlinkSync(join(outside, 'secret.md'), join(root, 'link.md'))
    const home = relative(homedir(), join(outside, 'secret.md'))
    for (const target of [up, join(outside, 'secret.md'), `~/${home}`, 'link.md']) {
      writeFileSync(join(root, 'AGENTS.md'), `see @${target}`)
      const { text, problems } = await tell(root)
      expect([target, problems[0]!.split(' ')[0]]).toEqual([target, 'OUTSIDE'])
      expect(text).not.toContain('\nsecret\n')
      expect((await tell(root, { roots: [outside] })).text).toContain('\nsecret\n')
    }
  })
})
