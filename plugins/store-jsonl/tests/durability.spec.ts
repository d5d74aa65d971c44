import fs, { existsSync, mkdirSync, readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { JsonlStore, nodeFiles } from '@headrace/plugin-store-jsonl'
import { Follower } from '@headrace/testing/store-following'
import { FailingFiles, PowerCutFiles } from './faulty-files.ts'
import { append, opening, prompt, read, temporaryFolder } from './logs.ts'

function powerCut(): { readonly files: PowerCutFiles; readonly store: JsonlStore } {
  const root = temporaryFolder()
  const files = new PowerCutFiles(root)
  return { files, store: new JsonlStore({ directory: join(root, 'state', 'sessions'), fsync: 'barrier', files }) }
}

function failing(): { readonly files: FailingFiles; readonly store: JsonlStore; readonly path: string } {
  const directory = temporaryFolder()
  const files = new FailingFiles()
  return { files, store: new JsonlStore({ directory, fsync: 'barrier', files }), path: join(directory, 'a.jsonl') }
}

describe('L17 on a disk that forgets what was not synced', () => {
  it('has everything that a flush acknowledged, in a new folder and a new file too', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    append(lease, 1, prompt('kept'), prompt('kept'))
    await lease.flush()
    append(lease, 3, prompt('not acknowledged'))
    files.cut()
    expect(await read(store)).toHaveLength(3)
  })

  it('has what was acknowledged and opens, however much of the rest had reached the disk', async () => {
    for (let torn = 0; torn < 400; torn += 7) {
      const { files, store } = powerCut()
      const lease = await store.create('a')
      append(lease, 0, opening())
      await lease.flush()
      append(lease, 1, prompt('x'), prompt('y'))
      files.cut(torn)
      const resumed = await store.lease('a')
      const events = await read(store)
      expect([1, 3]).toContain(events.length)
      append(resumed, events.length, prompt('goes on'))
      await resumed.release()
      expect(await read(store)).toHaveLength(events.length + 1)
    }
  })

  it('does not take for durable what an earlier process wrote and never synced', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.release()
    const killed = new JsonlStore({ directory: store.directory, fsync: 'never', files })
    const unsynced = await killed.lease('a')
    append(unsynced, 1, prompt('seen by the next process'))
    await unsynced.release()
    const next = await store.lease('a')
    expect(await read(store)).toHaveLength(2)
    await next.flush()
    files.cut()
    expect(await read(store)).toHaveLength(2)
  })

  it('has the repair of a torn tail when a lease is given', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    append(lease, 1, prompt('torn'))
    files.cut(20)
    expect((await store.lease('a')).repaired).toMatchObject({ bytes: 20 })
    files.cut()
    expect(readFileSync(join(store.directory, 'a.jsonl'), 'utf8')).toMatch(/"}\n$/)
  })

  it('has a blob when putBlob resolves', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    await lease.flush()
    const digest = await store.putBlob('a', Buffer.from('an image'))
    files.cut()
    expect(Buffer.from((await store.getBlob('a', digest))!).toString()).toBe('an image')
    await store.putBlob('a', Buffer.from('an image'))
    expect(readdirSync(join(store.directory, 'a.blobs'))).toEqual([digest])
  })

  it('has a letter when post resolves, with its key, and gives it once, whatever of its taking was lost', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    const draft = { kind: 'prompt', key: 'k', input: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } } as const
    const { letter } = await store.post('a', draft)
    files.cut()
    expect(await store.letters('a')).toMatchObject([{ id: letter }])
    const next = await store.lease('a')
    append(next, 1, { type: 'prompt/queued', data: { ...prompt('Hi').data, key: 'k', letter } } as never)
    files.cut()
    // Nothing acknowledged that it was taken.
    const after = await store.lease('a')
    expect(await after.letters()).toMatchObject([{ id: letter }])
    expect(await store.post('a', draft)).toEqual({ letter, repeated: true })
    append(after, 1, { type: 'prompt/queued', data: { ...prompt('Hi').data, key: 'k', letter } } as never)
    await after.flush()
    files.cut()
    const last = await store.lease('a')
    expect(await last.letters()).toEqual([])
    expect(await store.post('a', draft)).toEqual({ letter, repeated: true, logged: 1 })
  })

  it('gives a follower in another process nothing that a power cut takes back', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    const other = new JsonlStore({ directory: store.directory, fsync: 'barrier', files })
    const follower = new Follower(other, 'a')
    await follower.until(({ events }) => events.length === 1)
    append(lease, 1, prompt('nobody flushed this yet'))
    await follower.until(({ events }) => events.length === 2)
    files.cut()
    expect(await read(store)).toEqual(follower.events)
  })

  it('does not bring back what was removed', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.release()
    await store.remove('a')
    files.cut()
    await expect(read(store)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })
})

describe('a flush', () => {
  it('shares one sync among all that wait, and one that comes during a sync waits for the next', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    const before = files.syncs
    append(lease, 1, prompt('first'))
    const first = lease.flush()
    const waits = []
    for (let seq = 2; seq < 100; seq++) {
      append(lease, seq, prompt(`${seq}`))
      waits.push(lease.flush())
    }
    await first
    await Promise.all(waits)
    expect(files.syncs - before).toBe(2)
    files.cut()
    expect(await read(store)).toHaveLength(100)
  })

  it('syncs nothing where nothing is new, and never with fsync never', async () => {
    const { files, store } = powerCut()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    const before = [files.syncs, files.directorySyncs]
    await Promise.all([lease.flush(), lease.flush()])
    await lease.release()
    expect([files.syncs, files.directorySyncs]).toEqual(before)

    const never = await new JsonlStore({ directory: store.directory, fsync: 'never', files }).create('b')
    append(never, 0, opening('b'))
    await never.release()
    expect([files.syncs, files.directorySyncs]).toEqual(before)
  })

  it('that fails ends the lease for good: the log is read-only rather than wrong', async () => {
    const { files, store, path } = failing()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    files.failSync = true
    append(lease, 1, prompt('lost?'))
    const results = await Promise.allSettled([lease.flush(), lease.flush()])
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'STORE_FAILED', message: expect.stringMatching(/session a: .*a\.jsonl cannot be synced \(EIO/) as unknown } })
    files.failSync = false
    expect(() => append(lease, 2, prompt('later'))).toThrow('cannot be synced')
    await expect(lease.flush()).rejects.toThrow('cannot be synced')
    await expect(lease.release()).rejects.toThrow('cannot be synced')
    expect(existsSync(`${path.replace('.jsonl', '.lock')}`)).toBe(false)
    const next = await store.lease('a')
    append(next, 2, prompt('a new lease goes on'))
    await next.release()
  })
})

describe('a full disk', () => {
  it.each([0, 1, 100])('keeps nothing of an append that finds room for %i bytes, and takes the next one', async (space) => {
    const { files, store, path } = failing()
    const lease = await store.create('a')
    append(lease, 0, opening())
    const before = readFileSync(path)
    files.space = space
    expect(() => append(lease, 1, prompt('too much'), prompt('x'.repeat(1000)))).toThrow(/session a: .*a\.jsonl cannot be written \(ENOSPC.*nothing of this append was kept/)
    expect(readFileSync(path).equals(before)).toBe(true)
    files.space = Infinity
    append(lease, 1, prompt('fits'))
    await lease.release()
    expect(await read(store)).toHaveLength(2)
  })

  it('that cannot be cut back ends the lease, and the next one repairs', async () => {
    const { files, store } = failing()
    const lease = await store.create('a')
    append(lease, 0, opening())
    await lease.flush()
    Object.assign(files, { space: 30, failTruncate: true })
    expect(() => append(lease, 1, prompt('too much'))).toThrow('nor cut back')
    files.space = Infinity
    expect(() => append(lease, 1, prompt('later'))).toThrow('nor cut back')
    await expect(lease.flush()).rejects.toThrow('nor cut back')
    await lease.release().catch(() => undefined)
    files.failTruncate = false
    const next = await store.lease('a')
    expect(next.repaired).toMatchObject({ bytes: 30 })
    append(next, 1, prompt('goes on'))
    await next.release()
    expect(await read(store)).toHaveLength(2)
  })

  it('leaves no half of a blob', async () => {
    const { files, store } = failing()
    await (await store.create('a')).release()
    files.space = 10
    await expect(store.putBlob('a', new Uint8Array(100))).rejects.toThrow('ENOSPC')
    expect(readdirSync(join(store.directory, 'a.blobs'))).toEqual([])
  })

  it('takes writes that are short', async () => {
    const { files, store } = failing()
    files.largestWrite = 7
    const lease = await store.create('a')
    append(lease, 0, opening())
    append(lease, 1, prompt('é'.repeat(50)), prompt('two'))
    await lease.release()
    expect(await read(store)).toHaveLength(3)
  })
})

describe('the files of a log', () => {
  it('are removed with a letter that comes meanwhile, into a folder that was seen empty', async () => {
    const path = join(temporaryFolder(), 'a.mail')
    mkdirSync(path)
    const { rmSync } = fs
    const removing = vi.spyOn(fs, 'rmSync').mockImplementationOnce(() => {
      throw Object.assign(new Error(`ENOTEMPTY: directory not empty, rmdir '${path}'`), { code: 'ENOTEMPTY' })
    }).mockImplementation(rmSync)
    onTestFinished(() => removing.mockRestore())
    nodeFiles.remove(path)
    expect(existsSync(path)).toBe(false)
  })

  it('are readable by their owner only', async () => {
    const directory = join(temporaryFolder(), 'new')
    const store = new JsonlStore({ directory, fsync: 'never' })
    const lease = await store.create('a')
    const digest = await store.putBlob('a', Buffer.from('x'))
    const modes = ['.', 'a.jsonl', 'a.lock', 'a.blobs', `a.blobs/${digest}`].map((name) => (statSync(join(directory, name)).mode & 0o777).toString(8))
    expect(modes).toEqual(['700', '600', '600', '700', '600'])
    await lease.release()
    expect(readdirSync(directory).sort()).toEqual(['a.blobs', 'a.jsonl'])
  })

  it('stand in their folder, whatever a log says that it stands under', async () => {
    const root = temporaryFolder()
    const store = new JsonlStore({ directory: join(root, 'deep', 'sessions'), fsync: 'never' })
    const places = ['../../../../out', '/..', '..', '.', '', 'a/b', '\0', 'x'.repeat(300)]
    for (const [index, session] of places.entries()) {
      const lease = await store.create(`s${index}`)
      append(lease, 0, { type: 'session/open', data: { ...opening().data, id: `s${index}`, cwd: session, under: { session, call: { assistant: 1, index: 0 } } } })
      await lease.release()
    }
    for (const [index, session] of places.entries()) {
      for (const filter of [{ under: session }, { cwd: session }]) {
        const ids: string[] = []
        for await (const { id } of store.list(filter)) ids.push(id)
        expect(ids).toEqual([`s${index}`])
      }
      await store.remove(`s${index}`)
    }
    expect([readdirSync(root), readdirSync(join(root, 'deep')), readdirSync(store.directory)]).toEqual([['deep'], ['sessions'], ['.cards']])
  })

  it('cannot be mistaken: a blob whose bytes were changed is refused, and put right by the same bytes', async () => {
    const directory = temporaryFolder()
    const store = new JsonlStore({ directory, fsync: 'never' })
    await (await store.create('a')).release()
    const digest = await store.putBlob('a', Buffer.from('right'))
    truncateSync(join(directory, 'a.blobs', digest), 2)
    await expect(store.getBlob('a', digest)).rejects.toMatchObject({ code: 'BLOB_DAMAGED' })
    await store.putBlob('a', Buffer.from('right'))
    expect(Buffer.from((await store.getBlob('a', digest))!).toString()).toBe('right')
  })

  it('are listed with their error where they cannot be read, and others are passed over', async () => {
    const directory = temporaryFolder()
    const store = new JsonlStore({ directory, fsync: 'never' })
    await (await store.create('a')).release()
    mkdirSync(join(directory, 'b.jsonl'))
    for (const name of ['notes.txt', '.hidden.jsonl', 'con.jsonl', 'c.jsonl.bak', 'a.lock.jsonl~']) writeFileSync(join(directory, name), 'x')
    const sessions = []
    for await (const session of store.list()) sessions.push(session)
    expect(sessions.map(({ id }) => id).toSorted()).toEqual(['a', 'b'])
    expect(sessions.find(({ id }) => id === 'b')?.error).toContain('EISDIR')
  })
})
