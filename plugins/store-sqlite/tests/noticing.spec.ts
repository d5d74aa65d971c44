import { copyFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Follower } from '@headrace/testing/store-following'
import { until } from '@headrace/testing/gate'
import { append, driver, openStore, opening, prompt, read, sql, write } from './logs.ts'

/** What other programs do to a database that somebody writes. */
const DEEDS: readonly (readonly [string, (file: string) => void])[] = [
  ['removed', (file) => rmSync(file)],
  ['removed with its folder', (file) => rmSync(join(file, '..'), { recursive: true })],
  ['removed with what stands beside it', (file) => ['', '-wal', '-shm'].forEach((end) => rmSync(file + end))],
  ['replaced by a copy', (file) => (copyFileSync(file, `${file}.new`), renameSync(`${file}.new`, file))],
  ['moved away', (file) => renameSync(file, `${file}.moved`)],
  ['robbed of its write-ahead log', (file) => rmSync(`${file}-wal`)],
  ['emptied', (file) => truncateSync(file)],
  ['cut off, log and all', (file) => (truncateSync(`${file}-wal`), truncateSync(file, 4096))],
]

describe('a database that is changed behind its writer', () => {
  it.each(DEEDS)('is noticed where it was %s: the lease is lost at the next flush, and nothing more is acknowledged', async (_, deed) => {
    const store = openStore()
    // Something in the database, and not only in its log.
    await write(store, 'b', [opening('b')], ...Array.from({ length: 40 }, () => [prompt('x'.repeat(40_000))]))
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    deed(store.file)
    try {
      append(lease, 1, prompt('written after'))
    } catch { /* noticed by SQLite itself */ }
    await expect(lease.flush()).rejects.toMatchObject({ name: 'StoreError' })
    expect(() => append(lease, 2, prompt('more'))).toThrow()
    await expect(lease.flush()).rejects.toMatchObject({ name: 'StoreError' })
    await lease.release().catch(() => undefined)
  })

  it('is begun anew where it was removed, by the next who writes, whoever still has the old one', async () => {
    const store = openStore()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    for (const end of ['', '-wal', '-shm']) rmSync(store.file + end)
    await write(store, 'b', [opening('b')])
    await expect(lease.flush()).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await lease.release().catch(() => undefined)
    await expect(read(store, 'a')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await read(openStore({ file: store.file }), 'b')).toHaveLength(1)
  })

  it('is no cause for alarm where SQLite itself made a file shorter', async () => {
    const store = openStore()
    const lease = await store.create('a')
    append(lease, 0, opening())
    for (let seq = 1; seq < 30; seq++) append(lease, seq, prompt('x'.repeat(40_000)))
    await lease.flush()
    const other = driver(store.file, 5_000)
    other.pragma('wal_checkpoint(TRUNCATE)')
    other.close()
    expect(statSync(`${store.file}-wal`).size).toBe(0)
    append(lease, 30, prompt('goes on'))
    await lease.release()
    expect(await read(store, 'a')).toHaveLength(31)
  })
})

describe('a lease that cannot be given back', () => {
  it('does not keep its session from this process, and is given back once the database can be written', async () => {
    const store = openStore({ busyTimeout: 1 })
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    const other = driver(store.file, 5_000)
    other.exec('BEGIN IMMEDIATE')
    await lease.release()
    other.exec('ROLLBACK')
    const held = (): unknown => other.prepare<[], { holder: unknown }>('SELECT holder FROM sessions').get()!.holder
    await until(() => held() === null)
    other.close()
    const next = await store.lease('a')
    await next.release()
  })

  it('is no obstacle here meanwhile', async () => {
    const store = openStore({ busyTimeout: 1 })
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    const other = driver(store.file, 5_000)
    other.exec('BEGIN IMMEDIATE')
    await lease.release()
    other.exec('ROLLBACK')
    other.close()
    await (await store.lease('a')).release()
  })
})

describe('a follower', () => {
  it('is not misled by a row of another session, or of another place', async () => {
    const store = openStore()
    await write(store, 'a', [opening()], [prompt('one')], [prompt('two')])
    const follower = new Follower(store, 'a')
    await follower.until(({ events }) => events.length === 3)
    const { cursor } = follower
    await follower.stop()
    sql(store, `UPDATE events SET json = replace(json, 'one', 'eno') WHERE seq = 1`)
    const late = new Follower(store, 'a')
    await late.done
    expect(late.error).toMatchObject({ code: 'LOG_SUM' })
    sql(store, `UPDATE events SET sum = 0 WHERE seq = 2`)
    const other = new Follower(store, 'a', cursor)
    await other.until(({ resets }) => resets === 1)
  })
})
