import type { SessionEvent, SessionStore } from '@headrace/session'
import { expect, it } from 'vitest'
import { append, list, opening, prompt, read } from './store-logs.ts'

/** Several who use a store at once. */
export function readingMeanwhile(store: () => SessionStore): void {
  it('keeps what two sessions write by turns apart, each in its order', async () => {
    const leases = [await store().create('a'), await store().create('b')] as const
    const written: SessionEvent[][] = [[], []]
    for (let seq = 0; seq < 60; seq++) {
      for (const [index, lease] of leases.entries()) written[index]!.push(...append(lease, seq, [seq === 0 ? opening(lease.id) : prompt(`${lease.id}${seq}`)]))
      if (seq % 10 === 0) await Promise.all(leases.map((lease) => lease.flush()))
    }
    for (const lease of leases) await lease.release()
    expect([await read(store(), 'a'), await read(store(), 'b')]).toEqual(written)
  })

  it('takes no harm from readers that stop half-way, or pause while one writes', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    for (let seq = 1; seq < 2000; seq++) append(lease, seq, [prompt('x'.repeat(400))])
    await lease.flush()
    for await (const [first] of store().load('a')) {
      expect(first!.seq).toBe(0)
      break
    }
    const seen: number[] = []
    let next = 2000
    for await (const batch of store().load('a')) {
      seen.push(...batch.map(({ seq }) => seq))
      // Not for ever: a reader may follow a log that grows.
      if (next < 2010) append(lease, next++, [prompt('written meanwhile')])
      await lease.flush()
    }
    expect(seen).toEqual(seen.map((_, index) => index))
    expect(seen.length).toBeGreaterThanOrEqual(2000)
    await lease.release()
  })
}

/** What a second store at the same place sees: nothing that was promised lives in the first one only. */
export function lasting(store: () => SessionStore, again: () => Promise<SessionStore>): void {
  it('shows what was appended and flushed to whoever opens the same place, while it is still leased', async () => {
    const lease = await store().create('a')
    const written = [...append(lease, 0, [opening('a')]), ...append(lease, 1, [prompt('one'), prompt('two')])]
    const digest = await store().putBlob('a', new Uint8Array([1, 2, 3]))
    await lease.flush()
    const other = await again()
    expect(await read(other, 'a')).toEqual(written)
    expect([...(await other.getBlob('a', digest))!]).toEqual([1, 2, 3])
    expect(await list(other)).toMatchObject([{ id: 'a', open: opening('a').data }])
    await lease.release()
  })

  it('refuses a second writer at the same place, and leases to it after the first (L18)', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    const other = await again()
    await expect(other.create('a')).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await expect(other.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    await expect(other.remove('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    await lease.release()
    const next = await other.lease('a')
    append(next, 1, [prompt('goes on')])
    await next.release()
    expect(await read(store(), 'a')).toHaveLength(2)
    await other.remove('a')
    await expect(read(store(), 'a')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })
}
