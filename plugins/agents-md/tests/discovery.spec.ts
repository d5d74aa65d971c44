import { linkSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Config, settle } from '../src/config.ts'
import { count, folder, start, tell, told } from './kit.ts'

describe('files from the root to the working directory', () => {
  it('are one topic, the most general first, each overlay behind its folder\'s own', async () => {
    const root = folder({ 'AGENTS.md': 'root', 'AGENTS.local.md': 'root overlay', 'a/AGENTS.md': 'a', 'a/b/AGENTS.local.md': 'b overlay', 'a/b/AGENTS.md': 'b', 'other/AGENTS.md': 'other', 'a/b/c/AGENTS.md': 'below' })
    const home = folder({ 'AGENTS.md': 'own' }, { git: false })
    const { h, problems } = await tell(root, { cwd: join(root, 'a/b'), global: join(home, 'AGENTS.md') })
    expect(told(h)).toHaveLength(1)
    expect([...told(h)[0]!.matchAll(/<file path="([^"]+)" id="[^"]+">\n(.*)\n<\/file id/g)].map(([, path, text]) => [path, text])).toEqual([
      [join(home, 'AGENTS.md'), 'own'], ['../../AGENTS.md', 'root'], ['../../AGENTS.local.md', 'root overlay'], ['../AGENTS.md', 'a'], ['AGENTS.md', 'b'], ['AGENTS.local.md', 'b overlay'],
    ])
    expect(problems).toEqual([])
    expect(h.reports).toEqual([])
    expect((await h.verify()).difference).toBeUndefined()
  })

  it('end at the nearest .git, a folder or a worktree\'s file; without one only the folder itself counts', async () => {
    const outer = folder({ 'AGENTS.md': 'outer', 'wt/.git': 'gitdir: ../.git/worktrees/wt', 'wt/AGENTS.md': 'tree', 'wt/src/AGENTS.md': 'src' })
    expect((await tell(outer, { cwd: join(outer, 'wt/src') })).text).not.toContain('outer')
    const plain = folder({ 'AGENTS.md': 'above', 'in/AGENTS.md': 'in' }, { git: false })
    const { text } = await tell(plain, { cwd: join(plain, 'in') })
    expect(text).toContain('\nin\n')
    expect(text).not.toContain('above')
  })

  it('may have other names: the first in a folder that holds text counts, also where one before it does not', async () => {
    const root = folder({ 'AGENTS.md': 'agents', 'CLAUDE.md': 'claude', 'a/CLAUDE.md': 'claude a', 'a/b/AGENTS.md': ' ', 'a/b/CLAUDE.md': 'claude b' })
    const { text, problems } = await tell(root, { cwd: join(root, 'a/b'), names: ['AGENTS.md', 'CLAUDE.md'] })
    expect(text).toMatch(/agents[^]*claude a[^]*claude b/)
    expect(text).not.toContain('\nclaude\n')
    expect(problems).toEqual(['BLANK a/b/AGENTS.md'])
  })

  it('are found where the agent knows its folder by a link', async () => {
    const root = folder({ 'AGENTS.md': 'root', 'a/AGENTS.md': 'a' })
    const elsewhere = folder({ 'AGENTS.md': 'not this' })
    symlinkSync(join(root, 'a'), join(elsewhere, 'link'))
    const { text } = await tell(root, { cwd: join(elsewhere, 'link') })
    expect(text).toMatch(/root[^]*\na\n/)
    expect(text).not.toContain('not this')
  })

  it('that are none say nothing', async () => {
    const { h, problems } = await tell(folder({}))
    expect(told(h)).toEqual([])
    expect(problems).toEqual([])
  })
})

describe('told once', () => {
  it('a worktree inside the repository, from inside and from outside', async () => {
    const root = folder({ 'AGENTS.md': 'same text', '.worktrees/x/.git': 'gitdir: ../../.git/worktrees/x', '.worktrees/x/AGENTS.md': 'same text' })
    expect(count((await tell(root, { cwd: join(root, '.worktrees/x') })).text, 'same text')).toBe(1)
    const { text } = await tell(root, { harness: { script: [{ calls: [{ name: 'touch', arguments: { path: '.worktrees/x/file' } }] }, 'ok'] } })
    expect(count(text, 'same text')).toBe(1)
  })

  it('a file under two names, as on a disk that is blind for case', async () => {
    const root = folder({ 'AGENTS.md': 'same file' })
    linkSync(join(root, 'AGENTS.md'), join(root, 'agents.md'))
    expect(count((await tell(root, { names: ['AGENTS.md', 'agents.md'] })).text, 'same file')).toBe(1)
    expect(count((await tell(root, { local: ['agents.md'] })).text, 'same file')).toBe(1)
  })

  it('equal texts in two folders, whatever their byte order marks and line ends, in the more specific place', async () => {
    const root = folder({ 'AGENTS.md': '\ufeffone\r\ntwo\r\n', 'a/AGENTS.md': 'one\ntwo' })
    const { text } = await tell(root, { cwd: join(root, 'a') })
    expect(count(text, 'one\ntwo')).toBe(1)
    expect(text).toContain('<file path="AGENTS.md"')
  })
})

describe('the user\'s own file', () => {
  it('is in XDG_CONFIG_HOME where that is absolute, else in ~/.config; may be another, or none', () => {
    const config = Config({})
    expect(settle(config, { XDG_CONFIG_HOME: '/xdg' }, '/home/me').global).toBe('/xdg/headrace/AGENTS.md')
    expect(settle(config, { XDG_CONFIG_HOME: 'relative' }, '/home/me').global).toBe('/home/me/.config/headrace/AGENTS.md')
    expect(settle(config, {}, '/home/me').global).toBe('/home/me/.config/headrace/AGENTS.md')
    expect(settle(Config({ global: '/own.md' }), {}, '/home/me').global).toBe('/own.md')
    expect(settle(Config({ global: false }), {}, '/home/me').global).toBe(false)
  })

  it('may be a link to anywhere, and import what is beside it or where the link leads; nothing else', async () => {
    const shelf = folder({ 'other.md': 'x', 'dotfiles/agents.md': 'mine @beside.md @../other.md', 'dotfiles/beside.md': 'beside' }, { git: false })
    const home = folder({}, { git: false })
    symlinkSync(join(shelf, 'dotfiles/agents.md'), join(home, 'AGENTS.md'))
    const { text, problems } = await tell(folder({ 'AGENTS.md': 'project' }), { global: join(home, 'AGENTS.md') })
    expect(text).toMatch(/beside\n[^]*mine @beside.md[^]*\nproject\n/)
    expect(problems).toEqual([`OUTSIDE ${join(shelf, 'other.md')}`])
  })
})

describe('the config', () => {
  it.each([[{ names: ['a/b'] }], [{ local: ['..'] }], [{ names: [''] }], [{ roots: ['relative'] }], [{ global: 'relative.md' }]])('refuses %j', (config) => {
    expect(() => settle(Config(config))).toThrow(/^agents-md: /)
  })

  it('serves one agent where the plugin is loaded on its context', async () => {
    const root = folder({ 'AGENTS.md': 'root', 'sub/AGENTS.md': 'sub' })
    mkdirSync(join(root, 'empty'))
    const h = await start(root)
    const other = await h.ctx.agents.create({ id: 'other', model: 'scripted/model', cwd: join(root, 'sub') })
    await other.prompt('Go').result
    await h.run('Go')
    expect(other.session.entries().map(({ owner }) => owner)).toEqual(['agents-md/project', 'user', 'model'])
    expect(told(h)).toHaveLength(1)
    expect(told(h)[0]).not.toContain('sub')
  })
})
