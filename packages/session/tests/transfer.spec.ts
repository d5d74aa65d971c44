import { describe, expect, it } from 'vitest'
import { sha256 } from '@headrace/message'
import { type ImportOptions, type LogItem, MemoryStore, Session, type SessionEvent, exportLog, forkLog, importLog, verify } from '@headrace/session'
import { LogBuilder, user } from './log-builder.ts'

const BYTES = [new Uint8Array([1, 2, 3]), new Uint8Array([4])] as const
const [FIRST, SECOND] = BYTES.map((bytes) => sha256(bytes)) as [string, string]
const image = (digest: string) => ({ type: 'image' as const, digest, mediaType: 'image/png' })

function log(): LogBuilder {
  const made = new LogBuilder({ seed: [{ role: 'user', content: [image(FIRST)] }] })
  made.prompt('one')
  made.toolStep('', 'a')
  made.lastStep('done')
  made.endTurn()
  made.add('prompt/queued', { input: { role: 'user', content: [image(FIRST), image(SECOND)] }, owner: 'user' })
  return made
}

/** A store with a session in it. */
async function filled(events: readonly SessionEvent[] = log().parsed): Promise<MemoryStore> {
  const store = new MemoryStore()
  const session = await importLog(store, listed([...BYTES.map((bytes) => ({ blob: sha256(bytes), bytes })), ...events]))
  expect(session).not.toHaveProperty('difference')
  return store
}

async function *listed(items: Iterable<LogItem>): AsyncIterable<LogItem> {
  yield* items
}

async function itemsOf(store: MemoryStore, id = 'demo'): Promise<LogItem[]> {
  const items: LogItem[] = []
  for await (const item of exportLog(store, id)) items.push(item)
  return items
}

async function idsOf(store: MemoryStore): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of store.list()) ids.push(id)
  return ids
}

const text = (items: readonly LogItem[]): string[] => items.map((item) => ('blob' in item ? `blob ${item.blob}` : JSON.stringify(item)))

describe('exportLog', () => {
  it('gives every event, and each blob once, in front of the first event that names it', async () => {
    const { events } = log()
    const items = await itemsOf(await filled())
    expect(text(items)).toEqual([`blob ${FIRST}`, ...events.slice(0, -1).map((event) => JSON.stringify(event)), `blob ${SECOND}`, JSON.stringify(events.at(-1))])
  })

  it('tells of a blob that its store does not have, and goes on', async () => {
    const store = new MemoryStore()
    await importLog(store, listed(log().parsed), { blobs: 'optional' })
    const missing: unknown[] = []
    for await (const _ of exportLog(store, 'demo', { onMissing: (digest, seq) => missing.push([digest, seq]) })) { /* all of it */ }
    expect(missing).toEqual([[FIRST, 0], [SECOND, log().events.length - 1]])
  })
})

describe('importLog', () => {
  it('gives the same events and blobs again, in another store', async () => {
    const items = await itemsOf(await filled())
    const other = new MemoryStore()
    const found = await importLog(other, listed(items))
    expect(found).toMatchObject({ id: 'demo', events: log().events.length, requests: 2 })
    expect(text(await itemsOf(other))).toEqual(text(items))
    expect(await other.getBlob('demo', SECOND)).toEqual(BYTES[1])
    const session = await Session.open(other, 'demo')
    expect(session.ledger.queue).toHaveLength(1)
  })

  it('takes another id, which its session/open then has; the requests rebuild as before', async () => {
    const store = await filled()
    await importLog(store, listed(await itemsOf(store)), { id: 'copy' })
    const events = (await itemsOf(store, 'copy')).filter((item): item is SessionEvent => !('blob' in item))
    expect(events[0]!.data).toEqual({ ...log().events[0]!.data, id: 'copy' })
    expect(verify(events)).not.toHaveProperty('difference')
    await (await Session.open(store, 'copy')).close()
  })

  it('keeps what a fork says of its parent', async () => {
    const store = await filled()
    await forkLog(store, 'demo', 'child', 5)
    const other = new MemoryStore()
    await importLog(other, listed(await itemsOf(store, 'child')), { blobs: 'optional' })
    expect((await itemsOf(other, 'child')).find((item) => !('blob' in item))).toMatchObject({ data: { id: 'child', parent: 'demo', at: 5 } })
  })

  it('refuses an id that is taken, and leaves that session as it is', async () => {
    const store = await filled()
    const before = text(await itemsOf(store))
    await expect(importLog(store, listed(before.map((line) => (line.startsWith('blob') ? { blob: FIRST, bytes: BYTES[0] } : JSON.parse(line) as SessionEvent))))).rejects.toThrow(expect.objectContaining({ code: 'SESSION_EXISTS' }))
    expect(text(await itemsOf(store))).toEqual(before)
  })

  const good = log().parsed
  const changed = (seq: number, change: (event: { data: Record<string, unknown> }) => void): SessionEvent[] =>
    structuredClone(good).map((event) => {
      if (event.seq === seq) change(event as never)
      return event
    })
  const userMessage = good.find(({ type }) => type === 'user/message')!.seq
  const answer = good.find(({ type }) => type === 'assistant/message')!.seq

  it.each<[string, readonly unknown[], RegExp, ImportOptions?]>([
    ['nothing', [], /there is no event to import/],
    ['a log that does not begin with session/open', good.slice(1), /begins with session\/open/],
    ['a gap', good.filter(({ seq }) => seq !== 4), /event 4 was expected here/],
    ['a message that is not what was sent', changed(userMessage, (event) => { event.data.message = user('other') }), /rebuilds as/],
    ['what is no event', [...good.slice(0, 3), 7], /a record that is not an object/],
    ['an event of the wrong shape', changed(answer, (event) => { event.data.message = 1 }), /message must be an object/],
    ['a lone surrogate', changed(1, (event) => { event.data.owner = '\ud800' }), /lone surrogate/],
    ['a newer format', changed(0, (event) => { event.data.version = 3 }), /version 3 of the format, made by a newer headrace/],
    ['the format before the first that was published', changed(0, (event) => { event.data.version = 1 }), /version 1 of the format, which was never published/],
    ['an id that is none', changed(0, (event) => { event.data.id = '../x' }), /cannot be a session id/],
    ['a chosen id that is none', good, /cannot be a session id/, { id: 'a/b' }],
    ['a blob that is not what its digest says', [{ blob: SECOND, bytes: BYTES[0] }, ...good], /are not the blob/],
    ['an event that names a blob which did not come', good, new RegExp(`event 0: .*${FIRST}`), { blobs: 'required' }],
  ])('refuses %s, and leaves nothing', async (_, items, message, options) => {
    const store = new MemoryStore()
    const blobs = options?.blobs ? [] : BYTES.map((bytes) => ({ blob: sha256(bytes), bytes }))
    await expect(importLog(store, listed([...blobs, ...items] as LogItem[]), options)).rejects.toThrow(message)
    expect(await idsOf(store)).toEqual([])
  })

  it('leaves nothing where its source fails, or it is aborted, after any item', async () => {
    const items = await itemsOf(await filled())
    for (let count = 0; count < items.length; count++) {
      const store = new MemoryStore()
      const failing = (async function *() {
        yield* items.slice(0, count)
        throw new Error('the pipe broke')
      })()
      await expect(importLog(store, failing)).rejects.toThrow('the pipe broke')
      const controller = new AbortController()
      const aborting = (async function *() {
        for (const [index, item] of items.entries()) {
          if (index === count) controller.abort(new Error('Ctrl-C'))
          yield item
        }
      })()
      await expect(importLog(store, aborting, { signal: controller.signal })).rejects.toThrow('Ctrl-C')
      expect(await idsOf(store)).toEqual([])
    }
  })

  it('leaves nothing where the store fails at the end', async () => {
    const store = new MemoryStore()
    const create = store.create.bind(store)
    store.create = async (id) => {
      const lease = await create(id)
      return { ...lease, flush: async () => { throw new Error('disk full') } }
    }
    await expect(importLog(store, listed(log().parsed), { blobs: 'optional' })).rejects.toThrow('disk full')
    expect(await idsOf(store)).toEqual([])
  })

  it('takes a log that was cut anywhere: what is open is mended when it is resumed', async () => {
    for (let count = 1; count <= good.length; count++) {
      const store = new MemoryStore()
      await importLog(store, listed(good.slice(0, count)), { blobs: 'optional' })
      const session = await Session.open(store, 'demo')
      await session.repair()
      await session.close()
    }
  })
})
