import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { type EventDraft, MemoryStore, Session, type SessionStore } from '@headrace/session'
import { type Measure, timedAlone } from './measure.ts'

/** What is appended. */
export const DRAFT: EventDraft = {
  type: 'context/message',
  data: { owner: 'bench/inject', message: { role: 'system', content: [{ type: 'text', text: 'The build has finished: 214 tests pass, one is skipped. See build.log for what took so long.' }] } },
}

interface Variant {
  readonly key: string
  readonly title: string
  readonly store: SessionStore
  /** Appends before each wait for the disk; absent where nobody waits. */
  readonly flush?: number
  readonly appends: number
}

/** Appends per second, through the session into each store. */
export function appendMeasures(folder: string): readonly Measure[] {
  const barrier = new JsonlStore({ directory: folder, fsync: 'barrier' })
  const never = new JsonlStore({ directory: folder, fsync: 'never' })
  let session = 0
  const variants: readonly Variant[] = [
    { key: 'append-memory', title: 'appends in memory', store: new MemoryStore(), appends: 5_000 },
    { key: 'append-jsonl', title: "appends by store-jsonl, `fsync: 'never'`", store: never, appends: 5_000 },
    { key: 'append-flush', title: "appends by store-jsonl, `fsync: 'barrier'`, each waited for", store: barrier, appends: 100, flush: 1 },
    { key: 'append-group', title: "appends by store-jsonl, `fsync: 'barrier'`, waited for by the hundred", store: barrier, appends: 5_000, flush: 100 },
  ]
  return variants.map(({ key, title, store, flush = Infinity, appends }) => ({
    key, title, unit: '1/s' as const,
    async sample() {
      const open = await Session.create(store, { id: `append-${++session}` })
      const ms = await timedAlone(async () => {
        for (let index = 1; index <= appends; index++) {
          open.append(DRAFT)
          if (index % flush === 0) await open.flush()
        }
      })
      await open.close()
      await store.remove(open.id)
      return (appends * 1_000) / ms
    },
  }))
}
