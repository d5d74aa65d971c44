import { appendFileSync, copyFileSync, existsSync, readFileSync, readdirSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { Follower } from '@headrace/testing/store-following'
import { until } from '@headrace/testing/gate'
import { FailingFiles } from './faulty-files.ts'
import { TestLog, append, opening, prompt, temporaryFolder } from './logs.ts'

/** What other programs do to a file that somebody writes. */
const DEEDS: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ['removed', (path) => rmSync(path), /was removed, or another file was put in its place/],
  ['removed with its folder', (path) => rmSync(join(path, '..'), { recursive: true }), /lost/],
  ['replaced by an equal copy, as sed -i and editors do', (path) => (copyFileSync(path, `${path}.new`), renameSync(`${path}.new`, path)), /another file was put in its place/],
  ['replaced by an older copy', (path) => (writeFileSync(`${path}.new`, readFileSync(path).subarray(0, 200)), renameSync(`${path}.new`, path)), /another file was put in its place/],
  ['moved away', (path) => renameSync(path, `${path}.moved`), /was removed/],
  ['emptied', (path) => truncateSync(path), /was cut off at/],
  ['cut off by a byte', (path) => truncateSync(path, readFileSync(path).length - 1), /was cut off at/],
  ['written to by somebody else', (path) => appendFileSync(path, 'x'), /somebody else wrote to it/],
]

describe('a log that is changed behind its writer', () => {
  it.each(DEEDS)('is noticed where it was %s: the lease is lost at the next flush, and nothing more is acknowledged', async (_, deed, words) => {
    const log = new TestLog()
    const lease = await log.store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    append(lease, 1, prompt('written before'))
    deed(log.path)
    append(lease, 2, prompt('written after'))
    await expect(lease.flush()).rejects.toMatchObject({ code: 'LEASE_LOST', message: expect.stringMatching(words) as unknown })
    expect(lease.lost.aborted).toBe(true)
    expect(() => append(lease, 3, prompt('more'))).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }))
    await expect(lease.flush()).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(existsSync(join(log.directory, 'a.lock'))).toBe(false)
  })

  it('is left as it is by a write that cannot be taken back there: the handle is cut, not the path', async () => {
    const directory = temporaryFolder()
    const files = new FailingFiles()
    const path = join(directory, 'a.jsonl')
    const lease = await new JsonlStore({ directory, fsync: 'barrier', files }).create('a')
    append(lease, 0, opening())
    renameSync(path, `${path}.moved`)
    writeFileSync(path, 'x'.repeat(10_000))
    files.space = 10
    expect(() => append(lease, 1, prompt('too much'))).toThrow('nothing of this append was kept')
    expect(readFileSync(path, 'utf8')).toBe('x'.repeat(10_000))
    await lease.release().catch(() => undefined)
  })
})

describe('a follower', () => {
  it('is not given a torn record, and is once it is whole', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')], [prompt('two')])
    const whole = log.bytes
    const cut = whole.lastIndexOf(0x0a, whole.length - 2) + 1
    log.bytes = whole.subarray(0, cut + 20)
    const follower = new Follower(log.store, 'a')
    await follower.until(({ events }) => events.length === 2)
    appendFileSync(log.path, whole.subarray(cut + 20))
    await follower.until(({ events }) => events.length === 3)
    expect(follower.resets).toBe(0)
  })

  it('goes on over a torn tail that the next writer cut off', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')])
    appendFileSync(log.path, '{"seq":2,"time":1,"type":"turn/st')
    const follower = new Follower(log.store, 'a')
    await follower.until(({ events }) => events.length === 2)
    const lease = await new JsonlStore({ directory: log.directory, fsync: 'never' }).lease('a')
    append(lease, 2, prompt('two'))
    await follower.until(({ events }) => events.length === 3)
    expect(follower.resets).toBe(0)
    await lease.release()
  })

  it('goes on where an equal file was put in its place, and starts over where another was', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')])
    const follower = new Follower(log.store, 'a')
    await follower.until(({ events }) => events.length === 2)
    const other = new TestLog()
    const events = await other.write([opening()], [prompt('another')], [prompt('and more')])
    writeFileSync(`${log.path}.new`, log.bytes)
    renameSync(`${log.path}.new`, log.path)
    const lease = await log.store.lease('a')
    append(lease, 2, prompt('two'))
    await lease.release()
    await follower.until(({ events }) => events.length === 3)
    expect(follower.resets).toBe(0)
    renameSync(other.path, log.path)
    await follower.until(({ resets, events }) => resets === 1 && events.length === 3)
    expect(follower.events).toEqual(events)
  })
})

describe('a lease that cannot be given back', () => {
  it('does not keep its session from this process', async () => {
    const log = new TestLog()
    const lease = await log.store.create('a')
    append(lease, 0, opening())
    const path = join(log.directory, 'a.lock')
    const lock = (lease as unknown as { readonly start: { readonly lock: { release(): void } } }).start.lock
    const release = lock.release.bind(lock)
    let failures = 3
    lock.release = () => {
      if (failures-- > 0) throw new Error('EROFS: read-only file system')
      release()
    }
    await lease.release()
    expect(existsSync(path)).toBe(true)
    const next = await log.store.lease('a')
    await next.release()
    const again = await log.store.lease('a')
    await until(() => failures < 0)
    // What is given back late is not somebody else's.
    append(again, 1, prompt('held'))
    await again.flush()
    await again.release()
    expect(existsSync(path)).toBe(false)
  })
})

describe('cards', () => {
  it('are made anew where they are missing, damaged, or of another log', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')])
    const card = await log.store.card('a')
    expect(card).toMatchObject({ prompt: 'one', queued: 1 })
    const path = join(log.directory, '.cards', 'of', 'a')
    for (const text of ['', '{', 'null', '{"state":{}}', '{"state":{"asks":[],"queued":9,"at":"1.00000000"},"size":1,"modified":1}']) {
      writeFileSync(path, text)
      expect(await log.store.card('a')).toEqual(card)
    }
    rmSync(join(log.directory, '.cards'), { recursive: true })
    for await (const found of log.store.list({ cwd: '/home/someone/project' })) expect(found).toEqual(card)
    const other = new TestLog()
    await other.write([opening()], [prompt('another')], [prompt('more')])
    writeFileSync(log.path, other.bytes)
    expect(await log.store.card('a')).toMatchObject({ prompt: 'another', queued: 2 })
    utimesSync(log.path, 1, 1)
    expect(await log.store.card('a')).toMatchObject({ prompt: 'another', modified: 1_000 })
  })

  it('go on from where an older one was made, after a kill', async () => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')])
    await log.store.card('a')
    const kept = readFileSync(join(log.directory, '.cards', 'of', 'a'))
    const lease = await log.store.lease('a')
    append(lease, 2, prompt('two'))
    append(lease, 3, { type: 'turn/start', data: { turn: 1, woke: 'prompt', prompt: 1 } })
    await lease.release()
    writeFileSync(join(log.directory, '.cards', 'of', 'a'), kept)
    expect(await log.store.card('a')).toMatchObject({ prompt: 'one', queued: 1, state: 'parked', turn: { number: 1 } })
  })
})

describe('the mail of a session', () => {
  it('leaves nothing behind once it was taken', async () => {
    const log = new TestLog()
    const lease = await log.store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    await log.store.post('a', { kind: 'cancel', turn: 1, reason: 'enough' })
    const [letter] = await lease.letters()
    append(lease, 1, { type: 'letter/refused', data: { letter: letter!.id, reason: 'that turn has ended' } })
    await lease.release()
    expect(readdirSync(log.directory).sort()).toEqual(['.cards', 'a.jsonl'])
  })
})
