import { Batch, type SessionEvent, type SessionStore } from '@headrace/session'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { carding } from './store-carding.ts'
import { following } from './store-following.ts'
import { append, event, list, opening, prompt, read, ticked, write } from './store-logs.ts'
import { mailing } from './store-mailing.ts'
import { lasting, readingMeanwhile } from './store-sharing.ts'

/** A store to try, and what to do when a test is over. */
export interface StoreFixture {
  readonly store: SessionStore
  /** The same place through another store, as another process would open it. Default: the store itself. */
  again?(): Promise<SessionStore> | SessionStore
  /** Cleans up behind a test. */
  dispose?(): Promise<void> | void
}

const HOSTILE_IDS = ['../x', '..', '.', '', 'x'.repeat(300), 'CON', 'nul.txt', 'a/b', 'a\\b', 'a\0b', 'a b', 'a\n', '.hidden', 'ends.', 'é']
const DIGEST = 'a'.repeat(64)

/**
 * What every session store must do, as a vitest suite. Beyond it a store proves its own: torn tails, leases across processes, power cuts.
 *
 * ```ts
 * storeConformance('MemoryStore', () => ({ store: new MemoryStore() }))
 * ```
 *
 * The longest log has `events` events: 100,000 where nothing else is said.
 *
 * @param make gives an empty store for each test
 */
export function storeConformance(
  name: string,
  make: () => Promise<StoreFixture> | StoreFixture,
  { events = 100_000 }: { readonly events?: number } = {},
): void {
  describe(`${name} is a session store`, () => {
    let fixture: StoreFixture
    let store: SessionStore
    beforeEach(async () => {
      fixture = await make()
      store = fixture.store
    })
    afterEach(() => fixture.dispose?.())
    appending(() => store)
    readingMeanwhile(() => store)
    leasing(() => store)
    listing(() => store)
    keepingBlobs(() => store)
    refusingIds(() => store)
    takingMuch(() => store, events)
    const again = async (): Promise<SessionStore> => (await fixture.again?.()) ?? store
    lasting(() => store, again)
    following(() => store, again)
    mailing(() => store, again)
    carding(() => store, again)
  })
}

function appending(store: () => SessionStore): void {
  it('gives back what was appended, in order', async () => {
    const written = await write(store(), 'a', [[opening('a')], [prompt('one')], [prompt('two')]])
    expect(await read(store(), 'a')).toEqual(written)
    expect(written.map(({ seq }) => seq)).toEqual([0, 1, 2])
  })

  it('gives back a list that was one append, in order among the others', async () => {
    const written = await write(store(), 'a', [[opening('a')], [prompt('one'), prompt('two'), prompt('three')], [prompt('four')]])
    expect(await read(store(), 'a')).toEqual(written)
  })

  it('takes an empty list as nothing', async () => {
    const written = await write(store(), 'a', [[opening('a')], [], [prompt('one')]])
    expect(await read(store(), 'a')).toEqual(written)
  })

  it('keeps nothing of a list that cannot be written, and goes on after it', async () => {
    const lease = await store().create('a')
    const [first] = append(lease, 0, [opening('a')])
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    const batch = new Batch([event(1, prompt('lost')), { ...event(2, prompt('lost')), data: cycle } as unknown as SessionEvent])
    expect(() => lease.append(batch)).toThrow()
    const kept = [first, ...append(lease, 1, [prompt('kept')])]
    await lease.release()
    expect(await read(store(), 'a')).toEqual(kept)
  })

  it('keeps every character of a text, line ends of Unicode among them', async () => {
    const text = 'a\u2028b\u2029c\u0085d\re\nf\0g"h\\i\u{1F600}j\uFEFFk","sum":"00000000"}'
    const written = await write(store(), 'a', [[opening('a')], [prompt(text)], [prompt(text), prompt('')]])
    expect(await read(store(), 'a')).toEqual(written)
  })

  it('resolves a flush for everyone who waits', async () => {
    const lease = await store().create('a')
    const waits = [lease.flush()]
    for (let seq = 0; seq < 20; seq++) {
      append(lease, seq, [seq === 0 ? opening('a') : prompt(`${seq}`)])
      waits.push(lease.flush(), lease.flush())
    }
    await Promise.all(waits)
    await lease.flush()
    expect(await read(store(), 'a')).toHaveLength(20)
    await lease.release()
  })

  it('lets many read while one writes: each sees a beginning of the log', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.flush()
    const readers: Promise<readonly SessionEvent[]>[] = []
    for (let seq = 1; seq < 300; seq += 3) {
      append(lease, seq, [prompt('x'.repeat(seq * 7)), prompt('y'), prompt('z')])
      readers.push(read(store(), 'a'))
      if (seq % 30 === 1) await lease.flush()
    }
    for (const events of await Promise.all(readers)) {
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
      expect((events.length - 1) % 3).toBe(0)
    }
    await lease.release()
    expect(await read(store(), 'a')).toHaveLength(301)
  })
}

function leasing(store: () => SessionStore): void {
  it('refuses to create a session that exists', async () => {
    await write(store(), 'a', [[opening('a')]])
    await expect(store().create('a')).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    expect(await read(store(), 'a')).toHaveLength(1)
  })

  it('knows no session that was not created', async () => {
    await expect(store().lease('none')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(read(store(), 'none')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(store().remove('none')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(store().putBlob('none', new Uint8Array(1))).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(store().getBlob('none', DIGEST)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('refuses a second lease and names the holder (L18)', async () => {
    const lease = await store().create('a')
    const busy = { code: 'SESSION_BUSY', holder: expect.stringContaining(`${process.pid}`) as unknown }
    await expect(store().lease('a')).rejects.toMatchObject(busy)
    await expect(store().remove('a')).rejects.toMatchObject(busy)
    append(lease, 0, [opening('a')])
    await lease.release()
    expect(await read(store(), 'a')).toHaveLength(1)
  })

  it('gives one lease where several ask at once', async () => {
    await write(store(), 'a', [[opening('a')]])
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => store().lease('a')))
    const leases = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(leases).toHaveLength(1)
    await leases[0]!.release()
  })

  it('leases again what was released, and goes on where the log ends', async () => {
    await write(store(), 'a', [[opening('a')]])
    const lease = await store().lease('a')
    expect([lease.repaired, lease.lost.aborted]).toEqual([undefined, false])
    append(lease, 1, [prompt('later')])
    await lease.release()
    await lease.release()
    expect((await read(store(), 'a')).map(({ seq }) => seq)).toEqual([0, 1])
  })

  it('takes nothing through a lease that was given back', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.release()
    expect(() => lease.append(new Batch([event(1, prompt('late'))]))).toThrow()
    expect(await read(store(), 'a')).toHaveLength(1)
  })

  it('opens a log that nothing was appended to', async () => {
    await (await store().create('a')).release()
    expect(await read(store(), 'a')).toEqual([])
    const lease = await store().lease('a')
    append(lease, 0, [opening('a')])
    await lease.release()
    expect(await read(store(), 'a')).toHaveLength(1)
  })
}

/** Milliseconds that the clock of a file system may show only the half of. */
const GRAIN = 2_000

function listing(store: () => SessionStore): void {
  it('lists the newest change first, each with its opening', async () => {
    const began = Date.now()
    for (const id of ['b', 'a', 'c']) {
      await write(store(), id, [[opening(id)]])
      await ticked()
    }
    const lease = await store().lease('b')
    append(lease, 1, [prompt('newest')])
    await lease.release()
    const sessions = await list(store())
    expect(sessions.map(({ id }) => id)).toEqual(['b', 'c', 'a'])
    expect(sessions.map(({ open }) => open)).toEqual(['b', 'c', 'a'].map((id) => opening(id).data))
    for (const { modified, size } of sessions)
      expect([modified >= began - GRAIN, modified <= Date.now() + GRAIN, size > 0]).toEqual([true, true, true])
  })

  it('lists a session that is being written, and one without an event', async () => {
    const lease = await store().create('a')
    expect(await list(store())).toMatchObject([{ id: 'a' }])
    append(lease, 0, [opening('a')])
    await lease.flush()
    expect(await list(store())).toMatchObject([{ id: 'a', open: opening('a').data }])
    await lease.release()
  })

  it('forgets what was removed, blobs too, and takes its id again', async () => {
    await write(store(), 'a', [[opening('a')], [prompt('old')]])
    const digest = await store().putBlob('a', new Uint8Array([1, 2, 3]))
    await store().remove('a')
    expect(await list(store())).toEqual([])
    await expect(read(store(), 'a')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await write(store(), 'a', [[opening('a')]])
    expect(await read(store(), 'a')).toHaveLength(1)
    expect(await store().getBlob('a', digest)).toBeUndefined()
  })
}

function keepingBlobs(store: () => SessionStore): void {
  it('keeps bytes under their SHA-256, once', async () => {
    await write(store(), 'a', [[opening('a')]])
    const bytes = new Uint8Array([0, 255, 10, 13, 128])
    const digest = await store().putBlob('a', bytes)
    expect(digest).toBe('896a425d1fade64e368ccca61003182138e59b7050bca9a7ec8f4ca99646f9fb')
    expect(await Promise.all([store().putBlob('a', bytes), store().putBlob('a', bytes)])).toEqual([digest, digest])
    bytes.fill(0)
    expect([...(await store().getBlob('a', digest))!]).toEqual([0, 255, 10, 13, 128])
  })

  it('has no blob of another session, nor one that was not put', async () => {
    await write(store(), 'a', [[opening('a')]])
    await write(store(), 'b', [[opening('b')]])
    const digest = await store().putBlob('a', new Uint8Array())
    expect([...(await store().getBlob('a', digest))!]).toEqual([])
    expect(await store().getBlob('b', digest)).toBeUndefined()
    for (const unknown of [DIGEST, '', '../a.jsonl', 'A'.repeat(64)]) expect(await store().getBlob('a', unknown)).toBeUndefined()
  })
}

function refusingIds(store: () => SessionStore): void {
  it.each(HOSTILE_IDS.map((id) => [JSON.stringify(id).slice(0, 24), id]))('refuses the id %s everywhere', async (_, id) => {
    const refused = { code: 'SESSION_ID_INVALID' }
    await expect(store().create(id)).rejects.toMatchObject(refused)
    await expect(store().lease(id)).rejects.toMatchObject(refused)
    await expect(read(store(), id)).rejects.toMatchObject(refused)
    await expect(store().remove(id)).rejects.toMatchObject(refused)
    await expect(store().putBlob(id, new Uint8Array(1))).rejects.toMatchObject(refused)
    await expect(store().getBlob(id, DIGEST)).rejects.toMatchObject(refused)
    expect(await list(store())).toEqual([])
  })

  it('takes ids of 128 characters, and those that differ only behind a dot', async () => {
    const ids = ['x'.repeat(128), 'a', 'a.lock', 'a.jsonl', 'a.blobs', '-', '_']
    for (const id of ids) await write(store(), id, [[opening(id)]])
    expect((await list(store())).map(({ id }) => id).sort()).toEqual([...ids].sort())
    for (const id of ids) expect(await read(store(), id)).toMatchObject([{ data: { id } }])
  })
}

function takingMuch(store: () => SessionStore, events: number): void {
  it('keeps events of 5 MB', async () => {
    const written = await write(store(), 'a', [[opening('a')], [prompt('é'.repeat(2_500_000))], [prompt('x'.repeat(5_000_000)), prompt('y')]])
    const events = await read(store(), 'a')
    expect(events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3])
    expect(JSON.stringify(events) === JSON.stringify(written)).toBe(true)
  })

  it('keeps a blob of 5 MB', async () => {
    await write(store(), 'a', [[opening('a')]])
    const bytes = Uint8Array.from({ length: 5_000_000 }, (_, index) => index % 251)
    expect(Buffer.compare((await store().getBlob('a', await store().putBlob('a', bytes)))!, bytes)).toBe(0)
  })

  it(`keeps ${events.toLocaleString('en')} events`, async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    for (let seq = 1; seq < events; seq++) append(lease, seq, [{ type: 'step/start', data: { turn: 1, step: seq } }])
    await lease.release()
    let next = 0
    for await (const batch of store().load('a')) for (const { seq } of batch) if (seq === next) next++
    expect(next).toBe(events)
  })
}
