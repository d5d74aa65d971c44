import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { type SessionEvent, rebuild, unpaired, verify } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { amount, seed } from '../scale.ts'
import { type Seen, life, live } from './world.ts'

const RUNS = Number(process.env.HEADRACE_THEOREM_RUNS ?? amount(40, 300, 3_000))

describe('the theorem: every request rebuilds from the files alone', () => {
  let directory: string
  const sessions = new Map<string, Seen>()

  beforeAll(async () => { directory = await mkdtemp(join(tmpdir(), 'headrace-theorem-')) })
  afterAll(() => removeFolder(directory))

  const load = async (store: JsonlStore, id: string): Promise<SessionEvent[]> => {
    const events: SessionEvent[] = []
    for await (const batch of store.load(id)) events.push(...batch)
    return events
  }

  it('whatever happens to a session, what the model got is what its log gives back', async () => {
    let count = 0
    await fc.assert(fc.asyncProperty(life, async (story) => {
      const store = new JsonlStore({ directory, fsync: 'never' })
      const id = `s${count++}`
      const seen = await live(store, id, story)
      const events = await load(store, id)
      const dispatched = events.filter((event) => event.type === 'request/dispatch').map((event) => event.seq)
      // A request that was cancelled between its record and its sending is in the log and was not seen.
      expect(dispatched).toEqual(expect.arrayContaining([...seen.keys()]))
      for (const [seq, bytes] of seen) {
        const request = rebuild(events, seq)
        expect(JSON.stringify(request)).toBe(bytes)
        const { messages, segments: { prefix, before, after } } = request
        expect(unpaired(messages.slice(prefix + before, messages.length - after))).toBeUndefined()
        expect(bytes).not.toContain('MUTATED')
      }
      expect(verify(events).difference).toBeUndefined()
      expect(events.some((event) => event.type === 'request/header-delta' && 'prefix' in event.data.delta)).toBe(false)
      sessions.set(id, seen)
    }), { numRuns: RUNS, seed })
  }, 240_000 + RUNS * 10_000)

  it('one fresh process, given only the files, rebuilds every request byte-equal to what the adapter got', async () => {
    const script = fileURLToPath(new URL('rebuild-all.mjs', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script, directory], { maxBuffer: 1 << 29 })
    const rebuilt = new Map(stdout.split('\n').filter(Boolean).map((line) => {
      const [id, seq, bytes] = JSON.parse(line) as [string, number, string]
      return [`${id}#${seq}`, bytes]
    }))
    let compared = 0
    for (const [id, seen] of sessions) {
      for (const [seq, bytes] of seen) {
        expect(rebuilt.get(`${id}#${seq}`)).toBe(bytes)
        compared++
      }
    }
    expect(compared).toBeGreaterThan(RUNS)
  })
})
