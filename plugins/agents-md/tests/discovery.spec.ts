import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Config, settle } from '../src/config.ts'
import { count, folder, problems, start, tell, told, write } from './kit.ts'

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

describe('files for other agents', () => {
  const others = ['CLAUDE.md', '.claude/CLAUDE.md', 'GEMINI.md', '.github/copilot-instructions.md', '.cursorrules']

  it.each(others)('%s is reported where it is all that a folder has, and told with otherAgents', async (name) => {
    const root = folder({ [name]: 'theirs', 'a/AGENTS.md': 'ours', [`a/${name}`]: 'passed over' })
    const { h, text, problems } = await tell(root, { cwd: join(root, 'a') })
    expect(text).not.toContain('theirs')
    expect(problems).toEqual([`OTHER_AGENT ${name}`])
    await h.run('Again')
    expect(h.reports).toHaveLength(1)
    const told = await tell(root, { cwd: join(root, 'a'), otherAgents: true })
    expect(told.text).toMatch(/theirs[^]*ours/)
    expect(told.text).not.toContain('passed over')
    expect(told.problems).toEqual([])
  })

  it('are not reported where there is an AGENTS.md, where they have been named, or once an AGENTS.md came', async () => {
    expect((await tell(folder({ 'AGENTS.md': 'ours', 'CLAUDE.md': 'theirs' }))).problems).toEqual([])
    expect((await tell(folder({ 'CLAUDE.md': 'named' }), { names: ['AGENTS.md', 'CLAUDE.md'] })).problems).toEqual([])
    const root = folder({ 'CLAUDE.md': 'theirs' })
    const { h } = await tell(root)
    expect(problems(h, root)).toEqual(['OTHER_AGENT CLAUDE.md'])
    write(root, { 'AGENTS.md': 'ours' })
    await h.run('Again')
    expect(problems(h, root)).toEqual([])
  })

  it('in a folder that a tool touched are reported, once', async () => {
    const root = folder({ 'sub/CLAUDE.md': 'theirs' })
    const script = [{ calls: [{ name: 'touch', arguments: { path: 'sub/x' } }] }, { calls: [{ name: 'touch', arguments: { path: 'sub/y' } }] }, 'ok']
    const { h, problems } = await tell(root, { harness: { script } })
    expect(h.reports).toHaveLength(1)
    expect(problems).toEqual(['OTHER_AGENT sub/CLAUDE.md'])
  })
})

describe('the root of a project', () => {
  it('is where one of the markers is, a file or a folder', async () => {
    const root = folder({ 'AGENTS.md': 'above', 'in/package.json': '{}', 'in/AGENTS.md': 'in', 'in/deep/x': '' })
    const { text } = await tell(root, { cwd: join(root, 'in/deep'), projectMarkers: ['package.json'] })
    expect(text).toContain('\nin\n')
    expect(text).not.toContain('above')
    const both = await tell(root, { cwd: join(root, 'in/deep'), projectMarkers: [] })
    expect(both.text).toBe('')
  })

  it('that is a linked worktree may have links into the main one, and nowhere else', async () => {
    const root = folder({ 'AGENTS.md': 'the main one\'s' }, { git: false })
    const git = (...args: string[]): void => void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: root, stdio: 'ignore' })
    git('init', '-b', 'main')
    git('commit', '--allow-empty', '-m', 'x')
    for (const place of ['.worktrees/x', `../${basename(root)}-beside`]) {
      git('worktree', 'add', '--detach', place)
      const tree = join(root, place)
      onTestFinished(() => rmSync(tree, { recursive: true, force: true }))
      symlinkSync(join(root, 'AGENTS.md'), join(tree, 'AGENTS.md'))
      expect((await tell(tree)).text).toContain('the main one\'s')
    }
    // A file that only says that it is a worktree's proves nothing: the repository does not know it.
    const forged = folder({ '.git': `gitdir: ${root}/.git/worktrees/x` }, { git: false })
    symlinkSync(join(root, 'AGENTS.md'), join(forged, 'AGENTS.md'))
    expect((await tell(forged)).problems).toEqual(['OUTSIDE AGENTS.md'])
  })
})
