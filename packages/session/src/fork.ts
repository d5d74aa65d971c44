import { blobsOf } from './blobs.ts'
import type { SessionEvent } from './event.ts'
import { LogError } from './error.ts'
import { Batch, type SessionStore, checkSessionId } from './store.ts'
import { FORMAT } from './writer.ts'

/** Events copied in one append. */
const CHUNK = 500

/**
 * Copies a log up to an event, and the blobs that it names, under a `session/open` of its own that says where it came from. What the
 * cut left open is still open: resume the copy.
 *
 * @param at the last event that is copied; default: the newest
 * @throws LogError where there is no such event; SessionNotFoundError, SessionExistsError, StoreError
 */
export async function forkLog(store: SessionStore, parent: string, id: string, at?: number): Promise<void> {
  checkSessionId(id)
  const events: SessionEvent[] = []
  for await (const batch of store.load(parent)) {
    for (const event of batch) if (at === undefined || event.seq <= at) events.push(event)
  }
  const [open, ...rest] = events
  if (open?.type !== 'session/open' || (at !== undefined && events.length !== at + 1)) throw new LogError(`session ${parent} has no event ${at ?? 0} to fork at; its last is ${events.length - 1}`, at)
  const { under: _, ...data } = open.data
  const own: SessionEvent = { ...open, data: { ...data, ...FORMAT, id, parent, at: events.length - 1, root: open.data.root ?? parent } }
  const lease = await store.create(id)
  try {
    for (const digest of new Set(events.flatMap((event) => [...blobsOf(event)]))) {
      const bytes = await store.getBlob(parent, digest)
      if (bytes) await store.putBlob(id, bytes)
    }
    const copied = [own, ...rest]
    for (let start = 0; start < copied.length; start += CHUNK) lease.append(new Batch(copied.slice(start, start + CHUNK)))
    await lease.release()
  } catch (error) {
    await lease.release().catch(() => undefined)
    await store.remove(id).catch(() => undefined)
    throw error
  }
}
