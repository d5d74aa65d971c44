import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyJson } from '@headrace/message'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import { MemoryStore, Session, type SessionEvent, type SessionStore, verify } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { draftsOf, randomOf } from './drafts.mjs'

const CHILD = fileURLToPath(new URL('append-child.mjs', import.meta.url))
const RUNS = Number(process.env.HEADRACE_THEOREM_RUNS ?? 200) / 40

let directory: string
beforeAll(() => void (directory = mkdtempSync(join(tmpdir(), 'headrace-appends-'))))
afterAll(() => removeFolder(directory))

async function load(store: SessionStore, id: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of store.load(id)) events.push(...batch)
  return events
}

const stores: readonly (readonly [string, () => SessionStore & { close?(): Promise<void> }])[] = [
  ['memory', () => new MemoryStore()],
  ['jsonl', () => new JsonlStore({ directory, fsync: 'never' })],
  ['sqlite', () => new SqliteStore({ file: join(directory, 'all.sqlite'), fsync: 'never' })],
]

describe.each(stores)('what append takes, a reader takes, in the store %s', (kind, open) => {
  it('whatever it is', async () => {
    const store = open()
    let [taken, refused] = [0, 0]
    for (let seed = 1; seed <= RUNS; seed++) {
      const session = await Session.create(store, { id: `p${seed}` })
      const next = draftsOf(randomOf(seed), copyJson)
      for (let turn = 0; turn < 150; turn++) {
        try {
          taken += session.append(next()).length
        } catch {
          refused++
        }
      }
      const events = [...session.events()]
      await session.close()
      const read = await load(store, `p${seed}`)
      expect(JSON.stringify(read)).toBe(JSON.stringify(events))
      expect(verify(read)).toMatchObject({ events: events.length })
      expect(verify(read).difference).toBeUndefined()
      const again = await Session.open(store, `p${seed}`, { strict: true })
      again.append({ type: 'session/title', data: { title: 'It goes on', owner: 'app' } })
      await again.close()
    }
    await store.close?.()
    expect(Math.min(taken, refused)).toBeGreaterThan(RUNS * 20)
  })

  // Memory goes with its process.
  if (kind !== 'memory') it('also after a kill', async () => {
    for (let seed = 1; seed <= Math.ceil(RUNS / 3); seed++) {
      const said = await new Promise<string>((resolve) => execFile(process.execPath, [CHILD, `${seed}`, kind, directory], (_, stdout) => resolve(stdout)))
      const store = open()
      expect(Number(said)).toBeGreaterThan(20)
      expect(await load(store, `s${seed}`)).toHaveLength(Number(said))
      await (await Session.open(store, `s${seed}`)).close()
      await store.close?.()
    }
  })
})
