import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, readFileSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { append, opening, prompt, read, temporaryFolder } from './logs.ts'

const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url))

/** A process of its own on the built store; `next()` gives its next line. */
class Child {
  readonly process: ChildProcess
  private readonly lines: AsyncIterator<string>

  constructor(...args: readonly string[]) {
    this.process = spawn(process.execPath, [CHILD, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.lines = createInterface(this.process.stdout!)[Symbol.asyncIterator]()
    onTestFinished(() => void this.process.kill('SIGKILL'))
  }

  async next(): Promise<string | undefined> {
    const { value, done } = await this.lines.next()
    return done ? undefined : value
  }

  say(line: string): void {
    this.process.stdin!.write(`${line}\n`)
  }

  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('close', resolve))
    this.process.kill('SIGKILL')
    await ended
  }
}

async function storeWithLog(): Promise<JsonlStore> {
  const store = new JsonlStore({ directory: temporaryFolder(), fsync: 'never' })
  const lease = await store.create('a')
  append(lease, 0, opening())
  await lease.release()
  return store
}

/** Writes a lock file as a process that is gone would have left it. */
function leaveLock(store: JsonlStore, holder: object, name = 'a.lock'): string {
  const path = join(store.directory, name)
  writeFileSync(path, JSON.stringify({ token: crypto.randomUUID(), pid: 1, host: hostname(), start: 'another boot/1', since: '2026-01-01T00:00:00.000Z', ...holder }))
  return path
}

describe('L18 across processes', () => {
  it('refuses the second process and names the first, until that releases', async () => {
    const store = await storeWithLog()
    const child = new Child('hold', store.directory, 'a')
    expect(await child.next()).toBe('leased')
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringMatching(new RegExp(`^pid ${child.process.pid} on ${hostname()} since 20`)) as unknown })
    await expect(store.remove('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    expect(await read(store)).toHaveLength(1)
    child.say('release')
    expect(await child.next()).toBe('released')
    await (await store.lease('a')).release()
  })

  it('is not locked for ever by a holder that was killed', async () => {
    const store = await storeWithLog()
    const child = new Child('hold', store.directory, 'a')
    await child.next()
    await child.kill()
    const lease = await store.lease('a')
    append(lease, 1, prompt('goes on'))
    await lease.release()
    expect(readdirSync(store.directory)).toEqual(['a.jsonl'])
  })

  it('takes a holder for dead whose parent has not looked at its end yet', async () => {
    const store = await storeWithLog()
    const parent = spawn('sh', ['-c', 'exec 3<&0; "$@" <&3 & exec sleep 60', 'sh', process.execPath, CHILD, 'hold', store.directory, 'a'], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    await once(parent.stdout, 'data')
    const { pid } = JSON.parse(readFileSync(join(store.directory, 'a.lock'), 'utf8')) as { pid: number }
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(async () => (await store.lease('a')).release())
    expect(process.kill(pid, 0)).toBe(true)
  })

  it('takes a pid that another process has by now for dead', async () => {
    const store = await storeWithLog()
    leaveLock(store, { pid: process.pid })
    await (await store.lease('a')).release()
  })

  it('takes a lock file that a power cut emptied for dead', async () => {
    const store = await storeWithLog()
    for (const text of ['', '\0\0\0', '{"pid":', '{"pid":1,"token":"../../x"}', 'null']) {
      writeFileSync(join(store.directory, 'a.lock'), text)
      await (await store.lease('a')).release()
    }
    expect(readdirSync(store.directory)).toEqual(['a.jsonl'])
  })

  it('never breaks the lock of another machine, and says how to', async () => {
    const store = await storeWithLog()
    const path = leaveLock(store, { host: 'elsewhere.example' })
    await expect(store.lease('a')).rejects.toThrow(new RegExp(`pid 1 on elsewhere.example since .* another machine.*delete ${path}`))
    expect(existsSync(path)).toBe(true)
  })

  it('goes on where one died while it took over a dead one', async () => {
    const store = await storeWithLog()
    const token = (path: string): string => (JSON.parse(readFileSync(path, 'utf8')) as { token: string }).token
    const first = leaveLock(store, {})
    const second = leaveLock(store, {}, `a.lock.after-${token(first)}`)
    leaveLock(store, {}, `a.lock.after-${token(second)}`)
    await (await store.lease('a')).release()
    expect(readdirSync(store.directory)).toEqual(['a.jsonl'])
  })

  it('waits for nobody who takes over right now: that one is named', async () => {
    const store = await storeWithLog()
    const dead = leaveLock(store, {})
    const { token } = JSON.parse(readFileSync(dead, 'utf8')) as { token: string }
    const child = new Child('hold', store.directory, 'b')
    expect(await child.next()).toBe('leased')
    linkSync(join(store.directory, 'b.lock'), `${dead}.after-${token}`)
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringContaining(`pid ${child.process.pid}`) as unknown })
  })

  it('lets one win where several find a dead holder at once', async () => {
    const store = await storeWithLog()
    const children = Array.from({ length: 4 }, () => new Child('race', store.directory, 'a'))
    for (const child of children) expect(await child.next()).toBe('ready')
    for (let round = 0; round < 60; round++) {
      leaveLock(store, {})
      const at = Date.now() + 12
      for (const child of children) child.say(`${at}`)
      const answers = await Promise.all(children.map((child) => child.next()))
      expect(answers.toSorted()).toEqual(['SESSION_BUSY', 'SESSION_BUSY', 'SESSION_BUSY', 'leased'])
      for (const child of children) child.say('release')
      for (const child of children) expect(await child.next()).toBe('released')
    }
    expect(readdirSync(store.directory)).toEqual(['a.jsonl'])
  }, 60_000)
})

describe('a lease that was lost', () => {
  it('takes nothing more, says so, and leaves the lock to its new holder', async () => {
    const store = await storeWithLog()
    const lease = await store.lease('a')
    append(lease, 1, prompt('before'))
    const path = join(store.directory, 'a.lock')
    unlinkSync(path)
    leaveLock(store, { pid: process.ppid, start: '' })
    await expect(lease.flush()).rejects.toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining(`pid ${process.ppid}`) as unknown })
    expect(lease.lost.aborted).toBe(true)
    expect(() => append(lease, 2, prompt('after'))).toThrow('its lease was lost')
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(existsSync(path)).toBe(true)
  })
})

describe('kill -9 between any two writes', () => {
  it('loses nothing that was acknowledged, and the log opens and goes on', async () => {
    const store = new JsonlStore({ directory: temporaryFolder(), fsync: 'barrier' })
    let acknowledged = -1
    for (let round = 0; round < 8; round++) {
      const child = new Child('append', store.directory, 'a')
      const last = acknowledged
      let line = await child.next()
      setTimeout(() => child.process.kill('SIGKILL'), 20 + round * 17)
      for (; line !== undefined; line = await child.next()) acknowledged = Number(line)
      const events = await read(store)
      expect(acknowledged).toBeGreaterThan(last)
      expect(events.length).toBeGreaterThan(acknowledged)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
    }
    const lease = await store.lease('a')
    await lease.release()
  }, 60_000)
})
