import { describe, expect, it } from 'vitest'
import { storeConformance } from '@headrace/testing/store-conformance'
import { Batch, MemoryStore, isSessionId } from '@headrace/session'
import { LogBuilder } from './log-builder.ts'

storeConformance('MemoryStore', () => ({ store: new MemoryStore() }))

describe('MemoryStore', () => {
  it('counts bytes, as a file would', async () => {
    const store = new MemoryStore()
    const lease = await store.create('demo')
    const log = new LogBuilder()
    log.queue('Grüße, 🌍')
    lease.append(new Batch(log.events))
    for await (const { size } of store.list()) expect(size).toBe(Buffer.byteLength(log.lines.join('\n')) + 1)
  })

  it('gives events that nobody else holds', async () => {
    const store = new MemoryStore()
    const lease = await store.create('demo')
    lease.append(new Batch(new LogBuilder().events))
    const read = async () => { for await (const batch of store.load('demo')) return batch[0]! }
    expect(await read()).not.toBe(await read())
  })

  it('takes a batch as large as a fork may write', async () => {
    const store = new MemoryStore()
    const lease = await store.create('demo')
    const log = new LogBuilder()
    lease.append(new Batch(Array.from({ length: 200_000 }, (_, seq) => ({ ...log.events[0]!, seq }))))
    for await (const batch of store.load('demo')) expect(batch.length).toBe(200_000)
  })
})

describe('isSessionId', () => {
  it.each(['a', 'A-1_b.c', '-x', 'x'.repeat(128), 'console', 'com10x'])('takes %j', (id) => expect(isSessionId(id)).toBe(true))
  it.each(['', '.', '..', '.x', 'x.', 'a/b', 'a\\b', 'a b', 'ü', 'x'.repeat(129), 'con', 'NUL.txt', 'lpt1', 'a\n', 3, undefined, null])('refuses %j', (id) => expect(isSessionId(id)).toBe(false))
})
