import { execFileSync } from 'node:child_process'
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BriefingService } from '@headrace/briefing'
import { textOf } from '@headrace/message'
import { type Harness, harness } from '@headrace/testing'
import { growthKit } from '@headrace/testing/growth-kit'
import { nodeGitFiles } from '../src/git.ts'
import * as environment from '../src/index.ts'

let folder: string
beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'headrace-environment-')) })
afterEach(async () => {
  vi.useRealTimers()
  await rm(folder, { recursive: true, force: true })
})

const git = (...args: string[]): void => void execFileSync('git', args, { cwd: folder, stdio: 'ignore', env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' } })
const app = (config: object = {}): Promise<Harness> => harness({ plugins: [BriefingService, [environment, config]] as never, agent: { cwd: folder } })
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
    const head = new environment.GitHead({
      stamp: (path) => { calls.push('stamp'); return nodeGitFiles.stamp(path) },
      read: (path) => { calls.push('read'); return nodeGitFiles.read(path) },
    })
    await head.read(folder)
    calls.length = 0
    await head.read(folder)
    expect(calls.filter((call) => call === 'read')).toEqual([])
    expect(calls.length).toBeLessThanOrEqual(5)
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

const spell = (text: string, cwd: string): string => text.replaceAll(cwd, '/home/you/project').replace(/\d{4}-\d\d-\d\d/, '2026-11-30').replace(/platform: \w+/, 'platform: linux')
const prepare = async (cwd: string): Promise<void> => {
  await mkdir(join(cwd, '.git', 'refs', 'heads'), { recursive: true })
  await writeFile(join(cwd, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  await writeFile(join(cwd, '.git', 'refs', 'heads', 'main'), `${'3f9a1c0b7d2e'.padEnd(40, '0')}\n`)
}
const chapter = { readme: new URL('../README.md', import.meta.url), spell }
growthKit('environment', { plugin: [environment as never, {}], needs: [BriefingService as never], prepare, chapter })
growthKit('environment', { plugin: [environment as never, { channel: 'after' }], needs: [BriefingService as never], prepare, chapter })
