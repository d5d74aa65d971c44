import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fstatSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { SqliteStore } from '@headrace/plugin-store-sqlite'
import { Follower } from '@headrace/testing/store-following'
import { StoreProcess } from '@headrace/testing/store-processes'
import { append, driver, list, openStore, opening, placeOf, prompt, read, temporaryFolder, write } from './logs.ts'
import { powerCut } from './power-cut.ts'

/** A store whose syncs fail where told to. */
function failing(): { readonly store: SqliteStore; readonly disk: { fails: boolean } } {
  const disk = { fails: false }
  const sync = async (): Promise<void> => {
    if (disk.fails) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
  }
  return { store: openStore({ fsync: 'barrier', sync }), disk }
}

/** Lets the database take so many more pages. */
async function limit(store: SqliteStore, more: number): Promise<void> {
  const { handle } = await (
    store as unknown as { database(): Promise<{ handle: { pragma(text: string, options?: object): unknown } }> }
  ).database()
  handle.pragma(`max_page_count = ${more === Infinity ? 4294967294 : (handle.pragma('page_count', { simple: true }) as number) + more}`)
}

describe('L17 on a disk that forgets what was not synced', () => {
  it('has everything that a flush acknowledged', async () => {
    const { store, cut } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    append(lease, 1, prompt('kept'), prompt('kept'))
    await lease.flush()
    append(lease, 3, prompt('not acknowledged'))
    expect(await read(cut())).toHaveLength(3)
    await lease.release()
  })

  it('has what was acknowledged and opens, however much of the rest had reached the disk', async () => {
    const { store, cut } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    append(lease, 1, prompt('x'), prompt('y'))
    let whole = 0
    for (let torn = 0; torn <= 20_000; torn += 611) {
      const beginning = (tail: Buffer): Buffer => tail.subarray(0, torn)
      const rest = (tail: Buffer): Buffer => Buffer.concat([Buffer.alloc(Math.min(torn, tail.length)), tail.subarray(torn)])
      for (const reached of [beginning, rest]) {
        const after = cut(reached)
        const resumed = await after.lease('a')
        const events = await read(after)
        expect([1, 3]).toContain(events.length)
        whole += events.length === 3 ? 1 : 0
        append(resumed, events.length, prompt('goes on'))
        await resumed.release()
        expect(await read(after)).toHaveLength(events.length + 1)
        await after.close()
      }
    }
    expect(whole).toBeGreaterThan(0)
    await lease.release()
  })

  it('does not take for durable what another process wrote and never synced', async () => {
    const { store, syncs, cut } = powerCut()
    await write(store, 'a', [opening()])
    const killed = openStore({ file: store.file, fsync: 'never' })
    const unsynced = await killed.lease('a')
    append(unsynced, 1, prompt('seen by the next process'))
    await unsynced.release()
    const before = syncs()
    const next = await store.lease('a')
    await next.flush()
    expect(syncs()).toBe(before + 1)
    expect(await read(cut())).toHaveLength(2)
    await next.release()
  })

  it('has a letter when post resolves, with its key, and gives it once, whatever of its taking was lost', async () => {
    const { store, cut } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    const draft = { kind: 'prompt', key: 'k', input: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } } as const
    const { letter } = await store.post('a', draft)
    const taking = { type: 'prompt/queued', data: { ...prompt('Hi').data, key: 'k', letter: letter! } } as const
    append(lease, 1, taking)
    // Nothing acknowledged that it was taken.
    const unknown = cut()
    const next = await unknown.lease('a')
    expect(await next.letters()).toMatchObject([{ id: letter }])
    expect(await unknown.post('a', draft)).toEqual({ letter, repeated: true })
    await next.release()
    await lease.flush()
    // Its removal, which nobody waits for, is lost.
    const after = cut()
    const last = await after.lease('a')
    expect(await last.letters()).toEqual([])
    expect(await after.letters('a')).toEqual([])
    expect(await after.post('a', draft)).toEqual({ letter, repeated: true, logged: 1 })
    await last.release()
    await lease.release()
  })

  it('gives a follower in another process nothing that a power cut takes back', async () => {
    const { store, cut } = powerCut()
    await write(store, 'a', [opening()])
    const writer = openStore({ file: store.file, fsync: 'never' })
    const lease = await writer.lease('a')
    const follower = new Follower(store, 'a')
    await follower.until(({ events }) => events.length === 1)
    append(lease, 1, prompt('nobody flushed this'))
    await follower.until(({ events }) => events.length === 2)
    expect(await read(cut())).toEqual(follower.events)
    await lease.release()
  })

  it('has a blob when putBlob resolves, and does not bring back what was removed', async () => {
    const { store, cut } = powerCut()
    await write(store, 'a', [opening()])
    await write(store, 'b', [opening('b')])
    const digest = await store.putBlob('a', Buffer.from('an image'))
    expect(Buffer.from((await cut().getBlob('a', digest))!).toString()).toBe('an image')
    await store.remove('b')
    expect((await list(cut())).map(({ id }) => id)).toEqual(['a'])
  })
})

describe('a flush', () => {
  it('shares one sync among all that wait, whatever their session, and one that comes during a sync waits for the next', async () => {
    const { store, syncs, cut } = powerCut()
    const leases = [await store.create('a'), await store.create('b')] as const
    for (const lease of leases) append(lease, 0, opening(lease.id))
    await leases[0].flush()
    const before = syncs()
    append(leases[0], 1, prompt('first'))
    const waits = [leases[0].flush()]
    for (let seq = 2; seq < 100; seq++) {
      append(leases[0], seq, prompt(`${seq}`))
      append(leases[1], seq - 1, prompt(`${seq}`))
      waits.push(leases[0].flush(), leases[1].flush())
    }
    await Promise.all(waits)
    expect(syncs() - before).toBe(2)
    const after = cut()
    expect([(await read(after)).length, (await read(after, 'b')).length]).toEqual([100, 99])
    for (const lease of leases) await lease.release()
  })

  it('syncs nothing where nothing is new, and never with fsync never', async () => {
    const { store, syncs } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    const before = syncs()
    await Promise.all([lease.flush(), lease.flush()])
    await lease.release()
    expect(syncs()).toBe(before)
    let never = 0
    await write(openStore({ fsync: 'never', sync: async () => void never++ }), 'a', [opening()])
    expect(never).toBe(0)
  })

  it('syncs the write-ahead log: the file beside the database', async () => {
    const inodes: number[] = []
    const store = openStore({ fsync: 'barrier', sync: async (fd) => void inodes.push(fstatSync(fd).ino) })
    const lease = await store.create('a')
    for (let seq = 0; seq < 300; seq++) append(lease, seq, seq === 0 ? opening() : prompt('x'.repeat(30_000))) // several checkpoints
    await lease.flush()
    expect(inodes).toEqual([statSync(`${store.file}-wal`).ino])
    await lease.release()
  })

  it('that fails ends every lease of the store for good: the logs are read-only rather than wrong', async () => {
    const { store, disk } = failing()
    const lease = await store.create('a')
    const other = await store.create('b')
    append(lease, 0, opening())
    append(other, 0, opening('b'))
    await lease.flush()
    disk.fails = true
    append(lease, 1, prompt('lost?'))
    const results = await Promise.allSettled([lease.flush(), lease.flush()])
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'STORE_FAILED', message: expect.stringMatching(/session a: .*sessions\.sqlite cannot be synced \(EIO/) as unknown } })
    disk.fails = false
    expect(() => append(lease, 2, prompt('later'))).toThrow('cannot be synced')
    expect(() => append(other, 1, prompt('later'))).toThrow(/session b: .*cannot be synced/)
    await expect(store.putBlob('a', Buffer.from('x'))).rejects.toThrow('cannot be synced')
    await expect(lease.flush()).rejects.toThrow('cannot be synced')
    expect(await read(store)).toHaveLength(2)
    await expect(lease.release()).rejects.toThrow('cannot be synced')
    await expect(other.release()).rejects.toThrow('cannot be synced')
    const next = await store.lease('a')
    append(next, 2, prompt('a new lease goes on'))
    await next.release()
    expect(await read(store)).toHaveLength(3)
  })
})

describe('a full disk', () => {
  it('keeps nothing of an append that does not fit, nor of a blob, and takes the next one', async () => {
    const store = openStore()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await limit(store, 3)
    expect(() => append(lease, 1, prompt('x'), prompt('x'.repeat(100_000)))).toThrow(expect.objectContaining({ code: 'STORE_WRITE', message: expect.stringMatching(/session a: .*sessions\.sqlite cannot be written \(.*full.*nothing of this append was kept/) as unknown }))
    await expect(store.putBlob('a', new Uint8Array(100_000))).rejects.toThrow('full')
    expect(await read(store)).toHaveLength(1)
    append(lease, 1, prompt('fits'))
    await limit(store, Infinity)
    append(lease, 2, prompt('x'.repeat(100_000)))
    await lease.release()
    expect(await read(store)).toHaveLength(3)
  })

  it('at the file: an error that SQLite cannot undo by itself ends the lease, and what was there is there', async () => {
    const file = join(temporaryFolder(), 'sessions.sqlite')
    // No file may become longer than that: a real write fails half-way.
    const child = spawn('bash', ['-c', 'ulimit -f 300 && exec "$@"', 'bash', process.execPath, ...StoreProcess.args(placeOf({ file }), 'fill', 'a')], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
    const { kept, first, second } = JSON.parse(output) as {
      kept: number
      first: { code: string; message: string }
      second: { code: string }
    }
    expect(first.code).toMatch(/^STORE_/)
    expect(first.message).toContain('cannot be written')
    expect(second.code).toMatch(/^STORE_/)
    const store = openStore({ file })
    const lease = await store.lease('a')
    expect(await read(store)).toHaveLength(kept)
    append(lease, kept, prompt('goes on'))
    await lease.release()
  })

  it('does not keep a session from the next lease, where its release could not be written', async () => {
    const store = openStore()
    const lease = await store.create('a')
    append(lease, 0, opening())
    const { statements } = await (store as unknown as { database(): Promise<{ statements: { letGo: object } }> }).database()
    const { letGo } = statements
    Object.assign(statements, { letGo: { run: () => { throw new Error('database or disk is full') } } })
    await lease.release()
    Object.assign(statements, { letGo })
    await (await store.lease('a')).release()
  })
})

describe('the database', () => {
  it('is readable by its owner only, in a folder of its own', async () => {
    const folder = join(temporaryFolder(), 'new', 'folder')
    const store = openStore({ file: join(folder, 'sessions.sqlite') })
    const lease = await store.create('a')
    append(lease, 0, opening())
    const modes = [folder, ...['', '-wal', '-shm'].map((end) => store.file + end)].map((path) => (statSync(path).mode & 0o777).toString(8))
    expect(modes).toEqual(['700', '600', '600', '600'])
    await lease.release()
  })

  it('gives the space of a removed session back', async () => {
    const store = openStore()
    await write(store, 'small', [opening('small')])
    await write(store, 'a', [opening()], ...Array.from({ length: 200 }, () => [prompt('x'.repeat(50_000))]))
    await store.putBlob('a', new Uint8Array(5_000_000))
    await store.remove('a')
    await store.close()
    expect(statSync(store.file).size).toBeLessThan(200_000)
  })

  it('waits for another process that writes, no longer than told', async () => {
    const patient = openStore()
    await write(patient, 'a', [opening()])
    const impatient = openStore({ file: patient.file, busyTimeout: 1 })
    const lease = await impatient.lease('a')
    const other = driver(patient.file, 5_000)
    other.exec('BEGIN IMMEDIATE')
    expect(() => append(lease, 1, prompt('refused'))).toThrow(expect.objectContaining({ code: 'STORE_WRITE', message: expect.stringContaining('locked') as unknown }))
    expect(await read(patient)).toHaveLength(1)
    other.exec('ROLLBACK')
    other.close()
    append(lease, 1, prompt('taken'))
    await lease.release()
    expect(await read(patient)).toHaveLength(2)
  })

  it('cannot be opened where its folder cannot be made, and says so; once that is put right, it can', async () => {
    const place = join(temporaryFolder(), 'taken')
    writeFileSync(place, 'a file')
    const store = openStore({ file: join(place, 'sessions.sqlite') })
    await expect(store.create('a')).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining(place) as unknown })
    rmSync(place)
    await write(store, 'a', [opening()])
    expect(await read(store)).toHaveLength(1)
  })
})
