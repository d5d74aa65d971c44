import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, readFileSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '@headrace/testing/gate'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { type StorePlace, StoreProcess, storeProcesses } from '@headrace/testing/store-processes'
import { append, opening, prompt, temporaryFolder } from './logs.ts'

/** The store's place, for a process of its own. */
function placeOf({ directory }: JsonlStore): StorePlace {
  return { module: new URL('../lib/index.js', import.meta.url).href, name: 'JsonlStore', options: { directory, fsync: 'barrier' } }
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

storeProcesses('JsonlStore', () => {
  const store = new JsonlStore({ directory: temporaryFolder(), fsync: 'never' })
  return { store, place: placeOf(store), leaveHolder: (id, holder = {}) => void leaveLock(store, holder, `${id}.lock`) }
})

describe('a lock file', () => {
  it('takes a holder for dead whose parent has not looked at its end yet', async () => {
    const store = await storeWithLog()
    const parent = spawn('sh', ['-c', 'exec 3<&0; "$@" <&3 & exec sleep 60', 'sh', process.execPath, ...StoreProcess.args(placeOf(store), 'hold', 'a')], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    await once(parent.stdout, 'data')
    const { pid } = JSON.parse(readFileSync(join(store.directory, 'a.lock'), 'utf8')) as { pid: number }
    process.kill(pid, 'SIGKILL')
    await until(async () => { await (await store.lease('a')).release(); return true })
    expect(process.kill(pid, 0)).toBe(true)
  })

  it('takes a lock file that a power cut emptied for dead', async () => {
    const store = await storeWithLog()
    for (const text of ['', '\0\0\0', '{"pid":', '{"pid":1,"token":"../../x"}', 'null']) {
      writeFileSync(join(store.directory, 'a.lock'), text)
      await (await store.lease('a')).release()
    }
    expect(readdirSync(store.directory)).toEqual(['.cards', 'a.jsonl'])
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
    expect(readdirSync(store.directory)).toEqual(['.cards', 'a.jsonl'])
  })

  it('waits for nobody who takes over right now: that one is named', async () => {
    const store = await storeWithLog()
    const dead = leaveLock(store, {})
    const { token } = JSON.parse(readFileSync(dead, 'utf8')) as { token: string }
    const child = new StoreProcess(placeOf(store), 'hold', 'b')
    expect(await child.next()).toBe('leased')
    linkSync(join(store.directory, 'b.lock'), `${dead}.after-${token}`)
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringContaining(`pid ${child.process.pid}`) as unknown })
  })
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
