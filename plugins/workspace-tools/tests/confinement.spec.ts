import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Workspace } from '../src/workspace.ts'
import { bench, put } from './kit.ts'

const PATH_TOOLS = [
  ['read', {}], ['write', { content: 'x' }], ['edit', { old: 'a', new: 'b' }], ['list', {}], ['glob', { pattern: '**' }], ['grep', { pattern: 'a' }],
] as const

describe('confinement', () => {
  it.each(PATH_TOOLS)('%s refuses a path that leads outside, by name, by .. and through a link, and names it', async (name, rest) => {
    const { cwd, outside, refusal } = bench()
    put(outside, { 'secret.txt': 'a' })
    symlinkSync(outside, join(cwd, 'door'))
    symlinkSync(join(outside, 'secret.txt'), join(cwd, 'window'))
    for (const path of [outside, join(outside, 'secret.txt'), '../outside', '../outside/secret.txt', 'door', 'door/secret.txt', 'window', 'door/../../outside', '/', '/etc/passwd']) {
      expect(await refusal(name, { path, ...rest })).toBe(`${path} leads outside the workspace; use a path inside it.`)
    }
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('a')
    expect(readdirSync(outside)).toEqual(['secret.txt'])
  })

  it('a folder whose name only begins like the workspace is outside', async () => {
    const { cwd, refusal } = bench()
    mkdirSync(`${cwd}-other`)
    put(`${cwd}-other`, { 'a.txt': 'a' })
    expect(await refusal('read', { path: `${cwd}-other/a.txt` })).toContain('leads outside')
  })

  it('a new file below a link to the outside is refused, and nothing is made there', async () => {
    const { cwd, outside, refusal } = bench()
    symlinkSync(outside, join(cwd, 'door'))
    expect(await refusal('write', { path: 'door/a/b.txt', content: 'x' })).toContain('leads outside')
    expect(readdirSync(outside)).toEqual([])
  })

  it('links inside the workspace are followed, and a write keeps the link', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'real/a.txt': 'one' })
    symlinkSync('real', join(cwd, 'alias'))
    symlinkSync('real/a.txt', join(cwd, 'a-link'))
    expect(await text('read', { path: 'alias/a.txt' })).toBe('1\tone')
    await text('write', { path: 'a-link', content: 'two' })
    expect(readFileSync(join(cwd, 'real/a.txt'), 'utf8')).toBe('two')
    expect(readFileSync(join(cwd, 'a-link'), 'utf8')).toBe('two')
  })

  it('a dangling link is not a new file, and links in a circle are an error', async () => {
    const { cwd, outside, refusal } = bench()
    symlinkSync(join(outside, 'new.txt'), join(cwd, 'dangling'))
    symlinkSync('loop-b', join(cwd, 'loop-a'))
    symlinkSync('loop-a', join(cwd, 'loop-b'))
    expect(await refusal('write', { path: 'dangling', content: 'x' })).toContain('symbolic link to something that does not exist')
    expect(await refusal('write', { path: 'dangling/deeper', content: 'x' })).toContain('symbolic link to something that does not exist')
    expect(await refusal('read', { path: 'loop-a' })).toContain('lead in a circle')
    expect(existsSync(join(outside, 'new.txt'))).toBe(false)
  })

  it('a workspace that is itself reached through a link works', async () => {
    const { cwd, outside } = bench()
    put(cwd, { 'a.txt': 'hello' })
    symlinkSync(cwd, join(outside, 'alias'))
    const workspace = await Workspace.open(join(outside, 'alias'), [])
    expect(await workspace.find(join(outside, 'alias', 'a.txt'))).toMatchObject({ real: join(cwd, 'a.txt'), shown: 'a.txt' })
  })

  it('extra roots are admitted, shown by their whole path, and named in the refusal of others', async () => {
    const { outside } = bench()
    const { text, refusal } = bench({ roots: [outside, '/not/there'] })
    put(outside, { 'a.txt': 'there' })
    expect(await text('read', { path: join(outside, 'a.txt') })).toBe('1\tthere')
    expect(await text('write', { path: join(outside, 'b.txt'), content: '' })).toBe(`Created ${join(outside, 'b.txt')} (0 bytes).`)
    expect(await refusal('read', { path: '/etc/passwd' })).toBe(`/etc/passwd leads outside the workspace; use a path inside it, or inside ${outside}.`)
  })

  it('what was opened is judged again: a handle on an outside file is refused whatever its path was', async () => {
    const { cwd, outside } = bench()
    put(outside, { 'secret.txt': 'a' })
    put(cwd, { 'a.txt': 'a' })
    const workspace = await Workspace.open(cwd, [])
    const place = await workspace.find('a.txt')
    const handle = await open(join(outside, 'secret.txt'))
    // Where there is no /proc the path is resolved again instead: make that lead outside too.
    rmSync(join(cwd, 'a.txt'))
    symlinkSync(join(outside, 'secret.txt'), join(cwd, 'a.txt'))
    await expect(workspace.confirm(handle, place)).rejects.toThrow('leads outside')
    await handle.close()
  })

  it('a folder that was swapped for a link after it was judged is not written through', async () => {
    const { cwd, outside } = bench()
    put(cwd, { 'sub/a.txt': 'a' })
    const { replaceFile } = await import('../src/replace-file.ts')
    const workspace = await Workspace.open(cwd, [])
    for (const path of ['sub/a.txt', 'sub/new.txt', 'sub/deep/new.txt']) {
      mkdirSync(join(cwd, 'sub'), { recursive: true })
      const place = await workspace.find(path)
      rmSync(join(cwd, 'sub'), { recursive: true })
      symlinkSync(outside, join(cwd, 'sub'))
      put(outside, { 'a.txt': 'outside' })
      await expect(replaceFile(workspace, place, Buffer.from('x'), { signal: new AbortController().signal })).rejects.toThrow(/sub/)
      expect(readdirSync(outside)).toEqual(['a.txt'])
      expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('outside')
      rmSync(join(cwd, 'sub'))
    }
  })

  it('nor where it is a folder further up that was swapped', async () => {
    const { cwd, outside } = bench()
    put(cwd, { 'sub/deep/a.txt': 'a' })
    put(outside, { 'deep/a.txt': 'outside' })
    const { replaceFile } = await import('../src/replace-file.ts')
    const workspace = await Workspace.open(cwd, [])
    const places = await Promise.all(['sub/deep/a.txt', 'sub/deep/new.txt', 'sub/deep/x/new.txt'].map((path) => workspace.find(path)))
    rmSync(join(cwd, 'sub'), { recursive: true })
    symlinkSync(outside, join(cwd, 'sub'))
    for (const place of places) {
      await expect(replaceFile(workspace, place, Buffer.from('x'), { signal: new AbortController().signal })).rejects.toThrow('leads outside')
    }
    expect(readdirSync(join(outside, 'deep'))).toEqual(['a.txt'])
    expect(readFileSync(join(outside, 'deep/a.txt'), 'utf8')).toBe('outside')
  })

  it('a write breaks a hard link instead of writing into the file outside', async () => {
    const { cwd, outside, text } = bench()
    put(outside, { 'a.txt': 'outside' })
    linkSync(join(outside, 'a.txt'), join(cwd, 'a.txt'))
    await text('write', { path: 'a.txt', content: 'inside' })
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('outside')
  })

  it('pipes, sockets and devices are refused at once, by every tool that opens files', async () => {
    const { cwd, refusal, text } = bench({ roots: ['/dev'] })
    execFileSync('mkfifo', [join(cwd, 'pipe')])
    const server = createServer().listen(join(cwd, 'socket'))
    await new Promise((resolve) => server.once('listening', resolve))
    for (const [path, what] of [['pipe', 'a named pipe'], ['socket', 'a socket'], ['/dev/zero', 'a device']] as const) {
      expect(await refusal('read', { path })).toContain(`not a regular file but ${what}`)
      expect(await refusal('write', { path, content: '' })).toContain(`not a regular file but ${what}`)
      expect(await refusal('edit', { path, old: 'a', new: 'b' })).toContain(`not a regular file but ${what}`)
      expect(await refusal('grep', { path, pattern: 'a' })).toContain(`not a regular file but ${what}`)
    }
    expect(await text('grep', { pattern: 'a' })).toBe('[No matches.]')
    expect(await text('glob', { pattern: '**' })).toBe('[No files found.]')
    expect(await text('list', {})).toBe('pipe (not a regular file)\nsocket (not a regular file)')
    await new Promise((resolve) => server.close(resolve))
  })

  it('paths that are no paths are clear errors', async () => {
    const { cwd, refusal } = bench()
    put(cwd, { 'a.txt': 'a' })
    expect(await refusal('read', { path: '' })).toContain('The path is empty')
    expect(await refusal('read', { path: 'a\0b' })).toContain('NUL')
    expect(await refusal('read', { path: 'a.txt/b' })).toContain('a part of its path is a file')
    expect(await refusal('write', { path: 'a.txt/b', content: '' })).toContain('a part of its path is a file')
    expect(await refusal('read', { path: 'none.txt' })).toBe('There is no none.txt; list or glob tells what there is.')
    expect(await refusal('read', { path: '.' })).toContain('is a folder; list shows')
    expect(await refusal('write', { path: '.', content: '' })).toContain('is a folder')
    expect(await refusal('write', { path: 'new/', content: '' })).toContain('names a folder')
    expect(await refusal('list', { path: 'a.txt' })).toContain('is a file; read shows')
    expect(await refusal('glob', { path: 'a.txt', pattern: '*' })).toContain('is a file')
    expect(await refusal('read', { path: 'n'.repeat(300) })).toContain('its name is too long')
  })

  it('a workspace folder that is gone is an error that names it', async () => {
    const { cwd, refusal } = bench()
    rmSync(cwd, { recursive: true })
    expect(await refusal('bash', { command: 'true' })).toContain(`Cannot use the workspace folder ${cwd}`)
  })
})
