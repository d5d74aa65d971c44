import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { ToolRun } from '@headrace/agent'
import { textOf } from '@headrace/message'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import { harness } from '@headrace/testing'
import { describe, expect, it } from 'vitest'
import { inFolder } from '../src/file.ts'
import { Workspace } from '../src/workspace.ts'
import { bench, folder, put } from './kit.ts'

/** What the loop gives as the reason where a tool takes longer than it may. */
const timeIsUp = new Error('the tool did not finish within 100 ms')

/** Ends a call's time when its signal has been asked so many times: in the middle of a file that never ends. */
function endAfter(run: ToolRun, asks: number): void {
  let asked = 0
  Object.defineProperty(run, 'signal', { value: { get aborted() { return ++asked > asks }, reason: timeIsUp } })
}

describe('a search whose time is up', () => {
  it('grep gives what it found, and says why it ended and where it was', async () => {
    const { cwd, text, run } = bench()
    put(cwd, { 'a.txt': 'found\n', 'b.txt': 'some line\n'.repeat(1_000) })
    truncateSync(join(cwd, 'b.txt'), 200_000_000_000)
    endAfter(run, 40)
    expect(await text('grep', { pattern: 'found|absent' })).toMatch(/^a\.txt:1:found\n\[Ended in b\.txt:1001 before all was searched: the time was up; narrow the path or the glob\.\]$/)
  })

  it('glob and list give what they found too', async () => {
    const { cwd, text, controller } = bench()
    put(cwd, { 'a.txt': '', 'b.txt': '' })
    controller.abort(timeIsUp)
    expect(await text('glob', { pattern: '*.txt' })).toMatch(/\[Ended before all folders were searched: the time was up/)
    expect(await text('list', {})).toMatch(/\[Ended: the time was up; there are 2 more entries\.\]/)
  })

  it('read gives the lines it has, and names the line that does not end', async () => {
    const { cwd, text, call, run } = bench()
    put(cwd, { 'a.txt': 'one\n'.repeat(4_000) })
    truncateSync(join(cwd, 'a.txt'), 200_000_000_000)
    endAfter(run, 40)
    expect(await text('read', { path: 'a.txt' })).toMatch(/^1\tone\n[^]*\n4000\tone\n\[Ended in line 4001, of which \d+ characters had been read: the time was up\./)
    expect(await call('read', { path: 'a.txt', offset: 9_000 })).toMatchObject({ error: true, content: expect.stringContaining('the time was up') })
  })
})

it('a search that the loop ends for its time is done, and says why: its word for that is known here', async () => {
  const cwd = folder()
  put(cwd, { 'a.txt': 'some line\n'.repeat(1_000) })
  truncateSync(join(cwd, 'a.txt'), 200_000_000_000)
  const script = [{ calls: [{ name: 'grep', arguments: { pattern: 'absent' } }] }, 'ok']
  const made = await harness({ plugins: [[workspaceTools, {}]], agent: { cwd }, settings: { toolTimeout: 50 }, script })
  await made.run('Search.')
  const [result] = (await made.events()).flatMap((event) => (event.type === 'tool/result' ? [event.data] : []))
  expect([result!.outcome, textOf(result!.message.content[0])]).toEqual(['done', expect.stringContaining('the time was up')])
  await made.dispose()
})

describe('names with brackets', () => {
  it.each(['app/[slug]/page.tsx', 'app/[slug]/*.tsx', 'app/[slug]/**', '**/[slug]/page.tsx', 'app/[[]slug]/page.tsx', 'app/\\[slug\\]/page.tsx'])('are found by glob and grep: %s', async (pattern) => {
    const { cwd, text } = bench()
    put(cwd, { 'app/[slug]/page.tsx': 'here', 'app/other/page.ts': 'here' })
    expect(await text('glob', { pattern })).toBe('app/[slug]/page.tsx')
    expect(await text('grep', { pattern: 'here', glob: pattern })).toBe('app/[slug]/page.tsx:1:here')
  })

  it('and brackets still name one character of several', async () => {
    const { cwd, text } = bench()
    put(cwd, { 'a1.ts': '', 'a2.ts': '', 'b1.ts': '', '[...all].ts': '', '[[...all]].ts': '' })
    expect(await text('glob', { pattern: 'a[12].ts' })).toBe('a1.ts\na2.ts')
    expect(await text('glob', { pattern: '[...all].ts' })).toBe('[...all].ts')
    expect(await text('glob', { pattern: '[[...all]].ts' })).toBe('[[...all]].ts')
  })
})

it.each(['utf16le', 'utf16be', 'utf16le without a mark', 'utf16be without a mark'])('grep searches %s', async (kind) => {
  const { cwd, text } = bench()
  const bytes = Buffer.from(`${kind.includes('without') ? '' : '\ufeff'}first line\r\nthe second line\r\n`, 'utf16le')
  put(cwd, { 'a.txt': kind.startsWith('utf16be') ? bytes.swap16() : bytes })
  expect(await text('grep', { pattern: '^the second' })).toBe('a.txt:2:the second line')
})

describe('a folder that is swapped for a link', () => {
  it('shows no name from outside, whatever the moment', async () => {
    const { cwd, outside, call } = bench()
    put(cwd, { 'sub/deep/inside.txt': 'inside' })
    put(outside, { 'deep/secret.txt': 'secret' })
    let isOver = false
    const swapping = (async () => {
      for (let at = 0; !isOver; at++) {
        renameSync(join(cwd, 'sub'), join(cwd, 'kept'))
        symlinkSync(outside, join(cwd, 'sub'))
        for (let turn = 0; turn < at % 7; turn++) await setImmediate()
        rmSync(join(cwd, 'sub'))
        renameSync(join(cwd, 'kept'), join(cwd, 'sub'))
        for (let turn = 0; turn < at % 5; turn++) await setImmediate()
      }
    })()
    const shown: string[] = []
    for (let at = 0; at < 100; at++) {
      const calls = [call('list', { path: 'sub/deep' }), call('glob', { pattern: 'sub/**' }), call('glob', { pattern: '**/*.txt' }), call('grep', { pattern: 's' })]
      for (const { value } of await Promise.allSettled(calls).then((all) => all.filter((one) => one.status === 'fulfilled'))) shown.push(JSON.stringify(value))
    }
    isOver = true
    await swapping
    expect(shown.filter((text) => text.includes('secret'))).toEqual([])
  })

  it('is refused once it leads outside, and read where it was opened', async () => {
    const root = folder()
    mkdirSync(join(root, 'in/sub'), { recursive: true })
    mkdirSync(join(root, 'out'))
    const workspace = await Workspace.open(join(root, 'in'), [])
    const place = await workspace.find('sub')
    expect(await inFolder(workspace, place, async () => 'read')).toBe('read')
    rmSync(join(root, 'in/sub'), { recursive: true })
    symlinkSync(join(root, 'out'), join(root, 'in/sub'))
    await expect(inFolder(workspace, place, async () => 'read')).rejects.toThrow()
  })
})
