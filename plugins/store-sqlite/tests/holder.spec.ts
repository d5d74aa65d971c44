import { hostname } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SqliteStore } from '@headrace/plugin-store-sqlite'
import { StoreProcess, storeProcesses } from '@headrace/testing/store-processes'
import { append, driver, openStore, placeOf, opening, prompt, read, sql, write } from './logs.ts'

async function storeWithLog(): Promise<SqliteStore> {
  const store = openStore()
  await write(store, 'a', [opening()])
  return store
}

/** Makes the session held as a process that is gone would have left it. */
function leaveHolder(store: SqliteStore, holder: object): void {
  const gone = { token: crypto.randomUUID(), pid: 1, host: hostname(), start: 'another boot/1', since: '2026-01-01T00:00:00.000Z', ...holder }
  sql(store, `UPDATE sessions SET holder = '${JSON.stringify(gone)}'`)
}

storeProcesses('SqliteStore', () => {
  const store = openStore()
  return { store, place: placeOf(store), leaveHolder: (_id, holder = {}) => leaveHolder(store, holder) }
})

describe('who holds a session', () => {
  it('refuses a second store of the same process', async () => {
    const store = await storeWithLog()
    const lease = await store.lease('a')
    await expect(openStore({ file: store.file }).lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringContaining(`this process (pid ${process.pid})`) as unknown })
    await lease.release()
  })

  it('lets two processes write two sessions of one database', async () => {
    const store = await storeWithLog()
    const child = new StoreProcess(placeOf(store), 'append', 'b')
    await child.next()
    const lease = await store.lease('a')
    for (let seq = 1; seq < 300; seq++) {
      append(lease, seq, prompt(`${seq}`))
      if (seq % 10 === 0) await lease.flush()
    }
    await lease.release()
    // On a busy machine it may not have had its turn yet.
    await child.next()
    await child.kill()
    expect(await read(store)).toHaveLength(300)
    const others = await read(store, 'b')
    expect(others.length).toBeGreaterThan(1)
  })

  it('refuses at once and names the holder, where that is stopped in the midst of a write that nobody can wait for', async () => {
    const store = openStore({ busyTimeout: 50 })
    await write(store, 'a', [opening()])
    const lease = await store.lease('a')
    const other = driver(store.file, 0)
    onTestFinished(() => other.close())
    other.exec('BEGIN IMMEDIATE')
    const busy = { code: 'SESSION_BUSY', holder: expect.stringContaining(`pid ${process.pid}`) as unknown }
    await expect(store.lease('a')).rejects.toMatchObject(busy)
    await expect(store.remove('a')).rejects.toMatchObject(busy)
    expect((await store.card('a')).holder).toContain(`pid ${process.pid}`)
    await expect(store.create('b')).rejects.toThrow(/^session b: cannot create it in .*: another process was writing to it for all of 50 ms; .* \(database is locked\)$/)
    other.exec('COMMIT')
    append(lease, 1, prompt('goes on'))
    await lease.release()
  })

  it('takes a pid that another process has by now for dead, and what is no holder for none', async () => {
    const store = await storeWithLog()
    leaveHolder(store, { pid: process.pid })
    await (await store.lease('a')).release()
    for (const text of ['', 'null', '{"pid":', '{"pid":1,"token":"x"}']) {
      sql(store, `UPDATE sessions SET holder = '${text}'`)
      await (await store.lease('a')).release()
    }
  })

  it('never takes over from another machine, and says how to', async () => {
    const store = await storeWithLog()
    leaveHolder(store, { host: 'elsewhere.example' })
    const refused = await store.lease('a').catch((error: unknown) => (error as Error).message) as string
    expect(refused).toMatch(/pid 1 on elsewhere\.example since .* another machine/)
    const [, wayOut] = /sqlite3 \S+ "(.*?)"/.exec(refused)!
    sql(store, wayOut!)
    await (await store.lease('a')).release()
  })
})

describe('a lease that was lost', () => {
  it('writes nothing more, not even the append that finds out, and says to whom', async () => {
    const store = await storeWithLog()
    const lease = await store.lease('a')
    append(lease, 1, prompt('before'))
    leaveHolder(store, { pid: process.ppid, start: '' })
    expect(() => append(lease, 2, prompt('after'))).toThrow(expect.objectContaining({ code: 'LEASE_LOST', message: expect.stringContaining(`pid ${process.ppid}`) as unknown }))
    expect(lease.lost.aborted).toBe(true)
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await read(store)).toHaveLength(2)
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
  })

  it('is noticed by a flush too, and where the session was removed', async () => {
    const store = await storeWithLog()
    const lease = await store.lease('a')
    sql(store, 'DELETE FROM sessions')
    await expect(lease.flush()).rejects.toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('was removed') as unknown })
    expect(lease.lost.aborted).toBe(true)
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })
})
