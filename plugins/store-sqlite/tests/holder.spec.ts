import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import type { SqliteStore } from '@headrace/plugin-store-sqlite'
import { Child } from './child.ts'
import { append, openStore, opening, prompt, read, sql, write } from './logs.ts'

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

describe('L18 across processes', () => {
  it('refuses the second process and names the first, until that releases', async () => {
    const store = await storeWithLog()
    const child = new Child('hold', store.file, 'a')
    expect(await child.next()).toBe('leased')
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringMatching(new RegExp(`^pid ${child.process.pid} on ${hostname()} since 20`)) as unknown })
    await expect(store.remove('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    expect(await read(store)).toHaveLength(1)
    child.say('release')
    expect(await child.next()).toBe('released')
    await (await store.lease('a')).release()
  })

  it('refuses a second store of the same process', async () => {
    const store = await storeWithLog()
    const lease = await store.lease('a')
    await expect(openStore({ file: store.file }).lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringContaining(`this process (pid ${process.pid})`) as unknown })
    await lease.release()
  })

  it('lets two processes write two sessions of one database', async () => {
    const store = await storeWithLog()
    const child = new Child('append', store.file, 'b')
    await child.next()
    const lease = await store.lease('a')
    for (let seq = 1; seq < 300; seq++) {
      append(lease, seq, prompt(`${seq}`))
      if (seq % 10 === 0) await lease.flush()
    }
    await lease.release()
    await child.kill()
    expect(await read(store)).toHaveLength(300)
    const others = await read(store, 'b')
    expect(others.length).toBeGreaterThan(1)
  })

  it('is not held for ever by a process that was killed', async () => {
    const store = await storeWithLog()
    const child = new Child('hold', store.file, 'a')
    await child.next()
    await child.kill()
    const lease = await store.lease('a')
    append(lease, 1, prompt('goes on'))
    await lease.release()
    expect(await read(store)).toHaveLength(2)
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

  it('lets one win where several find a dead holder at once', async () => {
    const store = await storeWithLog()
    const children = Array.from({ length: 4 }, () => new Child('race', store.file, 'a'))
    for (const child of children) expect(await child.next()).toBe('ready')
    for (let round = 0; round < 20; round++) {
      leaveHolder(store, {})
      const at = Date.now() + 12
      for (const child of children) child.say(`${at}`)
      const answers = await Promise.all(children.map((child) => child.next()))
      expect(answers.toSorted()).toEqual(['SESSION_BUSY', 'SESSION_BUSY', 'SESSION_BUSY', 'leased'])
      for (const child of children) child.say('release')
      for (const child of children) expect(await child.next()).toBe('released')
    }
  }, 60_000)

  it('lets several processes make one new database at once', async () => {
    for (let round = 0; round < 3; round++) {
      const store = openStore()
      const children = ['a', 'b', 'c', 'd'].map((id) => new Child('hold', store.file, id))
      for (const child of children) expect(await child.next()).toBe('leased')
      for (const child of children) await child.kill()
    }
  }, 60_000)
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

describe('kill -9 between any two writes', () => {
  it('loses nothing that was acknowledged, and the log opens and goes on', async () => {
    const store = openStore()
    let acknowledged = -1
    for (let round = 0; round < 8; round++) {
      const child = new Child('append', store.file, 'a')
      const last = acknowledged
      let line = await child.next()
      setTimeout(() => child.process.kill('SIGKILL'), 20 + round * 17)
      for (; line !== undefined; line = await child.next()) acknowledged = Number(line)
      const events = await read(store)
      expect(acknowledged).toBeGreaterThan(last)
      expect(events.length).toBeGreaterThan(acknowledged)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
    }
    await (await store.lease('a')).release()
  }, 60_000)

  it('keeps an append that returned, without any flush, and its list whole', async () => {
    const store = openStore()
    const child = new Child('once', store.file, 'a')
    expect(await child.next()).toBe('appended')
    await child.kill()
    expect(await read(store)).toHaveLength(3)
  })
})
