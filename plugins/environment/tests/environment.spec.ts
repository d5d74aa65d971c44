import { execFileSync } from 'node:child_process'
import { mkdtemp, mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BriefingService } from '@headrace/briefing'
import { type FileSystem, nodeFiles } from '@headrace/files'
import { textOf } from '@headrace/message'
import { removeFolder } from '@headrace/testing/folder'
import { type Harness, harness } from '@headrace/testing'
import { growthKit } from '@headrace/testing/growth-kit'
import { type Ref, parseReftable } from '../src/reftable.ts'
import * as environment from '../src/index.ts'

let folder: string
beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'headrace-environment-')) })
afterEach(async () => {
  vi.useRealTimers()
  removeFolder(folder)
})

const git = (...args: string[]): void => void execFileSync('git', args, { cwd: folder, stdio: 'ignore', env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' } })
type Row = readonly [name: string, ref: Ref | undefined]

/** A reftable of version 1 with blocks of 512 bytes, as git's documentation describes it. */
function reftable(rows: readonly Row[]): Buffer {
  const size = 512
  const blocks: Buffer[] = []
  for (let rest = rows; rest.length > 0;) {
    const start = blocks.length === 0 ? 24 : 0
    const records: Buffer[] = []
    let last = ''
    for (const [name, ref] of rest) {
      const record = encoded(name, ref, last)
      if (start + 4 + Buffer.concat([...records, record]).length + 5 > size) break
      records.push(record)
      last = name
    }
    rest = rest.slice(records.length)
    const body = Buffer.concat([...records, Buffer.from([0, 0, start + 4, 0, 1])])
    const header = Buffer.concat([start > 0 ? Buffer.from([...Buffer.from('REFT'), 1, 0, size >> 8, size & 0xff, ...Buffer.alloc(16)]) : Buffer.alloc(0), Buffer.from('r\0\0\0')])
    header.writeUIntBE(header.length + body.length, header.length - 3, 3)
    blocks.push(Buffer.concat([header, body, Buffer.alloc(rest.length > 0 ? size - header.length - body.length : 0)]))
  }
  return Buffer.concat(blocks)
}

function encoded(name: string, ref: Ref | undefined, last: string): Buffer {
  let prefix = 0
  while (prefix < last.length && last[prefix] === name[prefix]) prefix++
  const type = ref === undefined ? 0 : 'commit' in ref ? 1 : 3
  const value = ref === undefined ? Buffer.alloc(0) : 'commit' in ref ? Buffer.from(ref.commit, 'hex') : Buffer.from([ref.target.length, ...Buffer.from(ref.target)])
  const suffix = name.slice(prefix)
  return Buffer.concat([varint(prefix), varint(suffix.length * 8 + type), Buffer.from(suffix), varint(0), value])
}

function varint(value: number): Buffer {
  const bytes = [value & 0x7f]
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift(0x80 | (--rest & 0x7f))
  return Buffer.from(bytes)
}

const app = (config: object = {}): Promise<Harness> =>
  harness({ plugins: [BriefingService, [environment, config]] as never, agent: { cwd: folder } })
const told = (h: Harness): readonly string[] => h.agent.session.entries().filter(({ owner }) => owner === 'environment/environment').map(({ message }) => textOf(message))

describe('environment in history', () => {
  it('tells date, platform, folder, branch and head once, and announces what changed', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-06-15T23:59:30Z') })
    git('init', '-b', 'main')
    const h = await app({ timeZone: 'UTC' })
    await h.run('one')
    expect(told(h)).toEqual([`The environment you work in:\n\n- date: 2026-06-15\n- platform: ${process.platform}\n- working directory: ${folder}\n- git branch: main`])
    await h.run('two')
    expect(told(h)).toHaveLength(1)
    git('commit', '--allow-empty', '-m', 'x')
    git('checkout', '-b', 'topic/a')
    vi.setSystemTime(new Date('2026-06-16T00:00:30Z'))
    await h.run('three')
    expect(told(h)).toHaveLength(2)
    expect(told(h)[1]).toMatch(/^The environment has changed\. It is now:\n\n- date: 2026-06-16\n(.*\n){2}- git branch: topic\/a\n- git head: [0-9a-f]{12}$/)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('tells what the app adds, each fact on one line, and leaves out what is undefined', async () => {
    const h = await app({ git: false, facts: () => ({ ticket: 'A-1\n- date: forged', none: undefined }) })
    await h.run('one')
    expect(told(h)[0]).toMatch(/\n- ticket: A-1 - date: forged$/)
    await h.dispose()
  })
})

it('after: rides last on every request, and never stands in history', async () => {
  const h = await app({ channel: 'after', git: false })
  await h.run('one')
  await h.run('two')
  for (const request of h.requests) {
    expect(request.segments.after).toBe(1)
    expect(request.owners.at(-1)).toBe('environment/environment')
  }
  expect(told(h)).toEqual([])
  await h.dispose()
})

describe('git', () => {
  it('reads a worktree, packed refs, a detached head, and no repository at all', async () => {
    const head = new environment.GitHead()
    expect(await head.read(tmpdir())).toBeUndefined()
    git('init', '-b', 'main')
    expect(await head.read(folder)).toEqual({ branch: 'main' })
    git('commit', '--allow-empty', '-m', 'x')
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).slice(0, 12)
    git('worktree', 'add', 'tree', '-b', 'side')
    git('pack-refs', '--all')
    await mkdir(join(folder, 'tree', 'deep'))
    expect(await head.read(join(folder, 'tree', 'deep'))).toEqual({ branch: 'side', head: commit })
    expect(await head.read(folder)).toEqual({ branch: 'main', head: commit })
    git('checkout', '--detach')
    expect(await head.read(folder)).toEqual({ head: commit })
  })

  it('where nothing changed reads no file, and looks at no more than it watches', async () => {
    git('init', '-b', 'main')
    git('commit', '--allow-empty', '-m', 'x')
    const calls: string[] = []
    const counted: FileSystem = {
      ...nodeFiles,
      lstat: (path) => { calls.push('lstat'); return nodeFiles.lstat(path) },
      stat: (path) => { calls.push('stat'); return nodeFiles.stat(path) },
      read: (path, limit) => { calls.push('read'); return nodeFiles.read(path, limit) },
    }
    const head = new environment.GitHead(counted)
    await head.read(folder)
    calls.length = 0
    await head.read(folder)
    expect(calls.filter((call) => call === 'read')).toEqual([])
    expect(calls.length).toBeLessThanOrEqual(5)
  })

  it('reads a reftable: the newest table that has a ref, in blocks, also of a worktree and detached', async () => {
    const [one, two] = ['1'.repeat(40), '2'.repeat(40)]
    const many = Array.from({ length: 300 }, (_, index): Row => [`refs/heads/topic/number-${String(index).padStart(3, '0')}`, { commit: one }])
    const tables = join(folder, '.git/reftable')
    await mkdir(tables, { recursive: true })
    await writeFile(join(folder, '.git/HEAD'), 'ref: refs/heads/.invalid\n')
    const write = async (...list: readonly (readonly Row[])[]): Promise<void> => {
      for (const [index, rows] of list.entries()) await writeFile(join(tables, `0x0${index}-ab.ref`), reftable(rows))
      await writeFile(join(tables, 'tables.list'), list.map((_, index) => `0x0${index}-ab.ref\n`).join(''))
    }
    const head = new environment.GitHead()
    await write([['HEAD', { target: 'refs/heads/main' }]])
    expect(await head.read(folder)).toEqual({ branch: 'main' })
    await write([['HEAD', { target: 'refs/heads/topic/number-299' }], ...many])
    expect(await head.read(folder)).toEqual({ branch: 'topic/number-299', head: one.slice(0, 12) })
    await write([['HEAD', { target: 'refs/heads/main' }], ['refs/heads/main', { commit: one }]], [['refs/heads/main', { commit: two }]])
    expect(await head.read(folder)).toEqual({ branch: 'main', head: two.slice(0, 12) })
    await write([['HEAD', { target: 'refs/heads/main' }], ['refs/heads/main', { commit: one }]], [['refs/heads/main', undefined]])
    expect(await head.read(folder)).toEqual({ branch: 'main' })
    await write([['HEAD', { commit: two }]])
    expect(await head.read(folder)).toEqual({ head: two.slice(0, 12) })
    const tree = join(folder, '.git/worktrees/tree')
    await mkdir(join(tree, 'reftable'), { recursive: true })
    await mkdir(join(folder, 'tree'))
    await writeFile(join(folder, 'tree/.git'), `gitdir: ${tree}\n`)
    await writeFile(join(tree, 'HEAD'), 'ref: refs/heads/.invalid\n')
    await writeFile(join(tree, 'commondir'), '../..\n')
    await writeFile(join(tree, 'reftable/own.ref'), reftable([['HEAD', { target: 'refs/heads/side' }]]))
    await writeFile(join(tree, 'reftable/tables.list'), 'own.ref\n')
    await write([['HEAD', { target: 'refs/heads/main' }], ['refs/heads/side', { commit: two }]])
    expect(await head.read(join(folder, 'tree'))).toEqual({ branch: 'side', head: two.slice(0, 12) })
  })

  it('of a reftable that is cut off or none tells what it can, and never fails', async () => {
    git('init', '-b', 'main')
    await mkdir(join(folder, '.git/reftable'))
    await writeFile(join(folder, '.git/HEAD'), 'ref: refs/heads/.invalid\n')
    await writeFile(join(folder, '.git/reftable/tables.list'), '../../HEAD\nnone.ref\nbad.ref\n')
    for (const bad of ['', 'REFT', 'REFT\x01\0\0\0'.padEnd(24, '\0') + 'r\x00\x00\xff\x05', 'x'.repeat(100)]) {
      await writeFile(join(folder, '.git/reftable/bad.ref'), bad, 'latin1')
      expect(await new environment.GitHead().read(folder)).toEqual({})
      expect(parseReftable(Buffer.from(bad, 'latin1')).size).toBe(0)
    }
  })

  it('a HEAD that is not one says nothing', async () => {
    await mkdir(join(folder, '.git'))
    await writeFile(join(folder, '.git', 'HEAD'), '\0\0garbage')
    expect(await new environment.GitHead().read(folder)).toEqual({})
  })
})

it.each([['UTC', '2026-06-15'], ['Pacific/Kiritimati', '2026-06-16'], ['America/New_York', '2026-06-15']])('the day in %s is %s, whatever the locale', (zone, day) => {
  expect(environment.dayOf(new Date('2026-06-15T20:00:00Z'), zone)).toBe(day)
})

it('a time zone that is none is refused when the plugin is loaded', async () => {
  await expect(app({ timeZone: 'Mars/Olympus' })).rejects.toThrow(/timeZone "Mars\/Olympus" is not a time zone; .* such as Europe\/Berlin/)
})

const spell = (text: string, cwd: string): string => text.replaceAll(cwd, '/home/you/project').replace(/\d{4}-\d\d-\d\d/, '2026-11-30').replace(/platform: \w+/, 'platform: linux')
const prepare = async (cwd: string): Promise<void> => {
  await mkdir(join(cwd, '.git', 'refs', 'heads'), { recursive: true })
  await writeFile(join(cwd, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  await writeFile(join(cwd, '.git', 'refs', 'heads', 'main'), `${'3f9a1c0b7d2e'.padEnd(40, '0')}\n`)
}
const chapter = { readme: new URL('../README.md', import.meta.url), spell }
growthKit('environment', { plugin: [environment as never, {}], needs: [BriefingService as never], prepare, chapter })
growthKit('environment', { plugin: [environment as never, { channel: 'after' }], needs: [BriefingService as never], prepare, chapter })
