import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import { MemoryStore, Session, type SessionStore } from '@headrace/session'
import { DRAFT } from './appends.ts'
import type { Measure } from './measure.ts'

const APPENDS = 400

/** How long one append takes that is waited for until it is acknowledged, in each store and under each policy. */
export function latencyMeasures(folder: string): readonly Measure[] {
  const stores: readonly (readonly [key: string, title: string, SessionStore])[] = [
    ['memory', 'the memory store', new MemoryStore()],
    ...(['never', 'barrier'] as const).flatMap((fsync): (readonly [string, string, SessionStore])[] => {
      const directory = join(folder, `latency-${fsync}`)
      mkdirSync(directory)
      return [
        [`jsonl-${fsync}`, `store-jsonl, \`fsync: '${fsync}'\``, new JsonlStore({ directory, fsync })],
        [`sqlite-${fsync}`, `store-sqlite, \`fsync: '${fsync}'\``, new SqliteStore({ file: join(directory, 'sessions.sqlite'), fsync })],
      ]
    }),
  ]
  return stores.flatMap(([key, title, store]) => percentiles(key, title, store))
}

/** Two measures of one run: what the second gives was taken with the first. */
function percentiles(key: string, title: string, store: SessionStore): readonly Measure[] {
  let sorted: readonly number[] = []
  let run = 0
  return [
    {
      key: `latency-${key}-p50`, title: `${title}: half of the appends within`, unit: 'µs',
      async sample() {
        sorted = await latencies(store, `latency-${++run}`)
        return at(sorted, 0.5)
      },
    },
    { key: `latency-${key}-p99`, title: `${title}: 99 of 100 within`, unit: 'µs', sample: () => Promise.resolve(at(sorted, 0.99)) },
  ]
}

function at(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!
}

/** Microseconds, in order of size. */
async function latencies(store: SessionStore, id: string): Promise<readonly number[]> {
  const session = await Session.create(store, { id })
  const taken: number[] = []
  for (let index = 0; index < APPENDS; index++) {
    const start = performance.now()
    session.append(DRAFT)
    await session.flush()
    taken.push((performance.now() - start) * 1_000)
  }
  await session.close()
  await store.remove(id)
  return taken.sort((a, b) => a - b)
}
