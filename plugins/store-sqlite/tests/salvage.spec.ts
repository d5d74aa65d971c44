import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import type { SessionEvent } from '@headrace/session'
import { describe, expect, it } from 'vitest'
import { amount } from '../../../test/scale.ts'
import { openStore, opening, prompt, read, sql, temporaryFolder, write } from './logs.ts'

const LENGTH = 60

/** Two logs, written in turns, whose events fill pages. */
async function written(): Promise<{ readonly store: SqliteStore; readonly events: readonly SessionEvent[] }> {
  const store = openStore()
  const appends = Array.from({ length: LENGTH - 1 }, (_, index) => [prompt(`${index} `.repeat(150))])
  await write(store, 'a', [opening()], ...appends)
  await write(store, 'b', [opening('b')], ...appends)
  return { store, events: await read(store) }
}

async function salvaged(store: SqliteStore, id = 'a'): Promise<{ readonly events: readonly SessionEvent[]; readonly lost: readonly number[] }> {
  const events: SessionEvent[] = []
  const lost: number[] = []
  const order: number[] = []
  for await (const item of store.salvage(id)) {
    if ('lost' in item) {
      const [from, to] = item.lost.missing
      for (let seq = from; seq <= to; seq++) lost.push(seq)
      order.push(from)
      expect(item.lost.why).not.toBe('')
    } else {
      events.push(item)
      order.push(item.seq)
    }
  }
  expect(order).toEqual([...order].sort((a, b) => a - b))
  return { events, lost }
}

describe('salvage', () => {
  it.each<readonly [string, string, readonly number[]]>([
    ['rows with another text', `UPDATE events SET json = replace(json, ' ', '_') WHERE session = 1 AND seq IN (3, 4, 31)`, [3, 4, 31]],
    ['rows that are gone, the first and the last too', 'DELETE FROM events WHERE session = 1 AND seq IN (0, 7, 8, 9, 59)', [0, 7, 8, 9, 59]],
    ['a row of another session', 'UPDATE events SET (json, sum) = (SELECT json, sum FROM events WHERE session = 2 AND seq = 5) WHERE session = 1 AND seq = 5', [5]],
    ['an end that the session does not know', 'UPDATE sessions SET next = 20 WHERE key = 1', []],
    ['nothing wrong', 'SELECT 1', []],
  ])('gives every sound event where there are %s', async (_, statement, gone) => {
    const { store, events } = await written()
    sql(store, statement)
    const found = await salvaged(store)
    expect(found.lost).toEqual(gone)
    expect(found.events).toEqual(events.filter(({ seq }) => !gone.includes(seq)))
    await expect(salvaged(store, 'none')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('gives what SQLite still gives where a page is damaged, whichever, also one of the index', async () => {
    const { store, events } = await written()
    await store.close()
    const whole = readFileSync(store.file)
    const folder = temporaryFolder()
    let [opened, rescued] = [0, 0]
    for (let page = 1; page * 4096 < whole.length; page += amount(3, 1)) {
      const bytes = Buffer.from(whole)
      bytes.fill(0xa5, page * 4096, (page + 1) * 4096)
      const file = join(folder, `${page}.sqlite`)
      writeFileSync(file, bytes)
      const damaged = new SqliteStore({ file, fsync: 'never' })
      try {
        const found = await salvaged(damaged)
        opened++
        const lost = new Set(found.lost)
        expect(found.events, `page ${page}`).toEqual(events.filter(({ seq }) => !lost.has(seq)))
        // A page has a few of them.
        if (found.events.length > LENGTH - 12) rescued++
      } catch (error) {
        // Of the tables' own pages nothing can be asked.
        expect(error).toMatchObject({ name: 'StoreError' })
      }
      await damaged.close()
    }
    expect(opened).toBeGreaterThan(5)
    expect(rescued / opened).toBeGreaterThan(0.8)
  })
})
