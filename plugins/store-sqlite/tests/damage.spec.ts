import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HeadraceError } from '@headrace/message'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import { figure } from '../../../test/reliability/figures.ts'
import { describe, expect, it } from 'vitest'
import { amount } from '../../../test/scale.ts'
import { append, driver, list, openStore, opening, prompt, read, sql, temporaryFolder, write } from './logs.ts'

/** Two sessions of equal words, so that a row of one could pass for the other's. */
async function written(): Promise<SqliteStore> {
  const store = openStore()
  for (const id of ['a', 'b']) await write(store, id, [opening(id)], [prompt('one'), prompt('two')], [prompt('Fix it – please. 修复')])
  return store
}

describe('a row that is not what was written', () => {
  it.each([
    ['another text', `UPDATE events SET json = replace(json, 'two', 'too') WHERE session = 1 AND seq = 2`, 2, 'LOG_SUM'],
    ['another sum', 'UPDATE events SET sum = sum + 1 WHERE session = 1 AND seq = 2', 2, 'LOG_SUM'],
    ['the text of its neighbour', 'UPDATE events SET (json, sum) = (SELECT json, sum FROM events WHERE session = 1 AND seq = 1) WHERE session = 1 AND seq = 2', 2, 'LOG_SUM'],
    ['the row of another session', 'UPDATE events SET (json, sum) = (SELECT json, sum FROM events WHERE session = 2 AND seq = 2) WHERE session = 1 AND seq = 2', 2, 'LOG_SUM'],
    ['no row', 'DELETE FROM events WHERE session = 1 AND seq = 2', 2, 'LOG_SEQ'],
  ])('is refused with session, seq and file where it has %s, after the events before it were given', async (_, statement, seq, code) => {
    const store = await written()
    sql(store, statement)
    const seen: number[] = []
    const reading = async (): Promise<void> => {
      for await (const batch of store.load('a')) seen.push(...batch.map((event) => event.seq))
    }
    await expect(reading()).rejects.toMatchObject({ name: 'StoreError', code, message: expect.stringContaining(`session a: event ${seq} in ${store.file} cannot be read`) as unknown })
    expect(seen).toEqual([0, 1])
    expect(await read(store, 'b')).toHaveLength(4)
  })

  it.each([
    ['is missing', 'DELETE FROM events WHERE session = 1 AND seq = 3'],
    ['has another text', `UPDATE events SET json = replace(json, 'please', 'plaese') WHERE session = 1 AND seq = 3`],
    ['is one too many', 'UPDATE sessions SET next = 3 WHERE key = 1'],
  ])('is refused before anything is read or leased where the last event %s, and stands in the list with its error', async (_, statement) => {
    const store = await written()
    sql(store, statement)
    await expect(read(store)).rejects.toMatchObject({ name: 'StoreError', code: expect.stringMatching(/^LOG_S/) as unknown })
    await expect(store.lease('a')).rejects.toMatchObject({ name: 'StoreError', code: expect.stringMatching(/^LOG_S/) as unknown })
    const sessions = await list(store)
    expect(sessions.map(({ id, error }) => [id, error?.includes('session a: event')])).toEqual([['b', undefined], ['a', true]])
    sql(store, 'UPDATE sessions SET holder = NULL')
  })

  it('stands in the list with its error where a card has to be made of a damaged event, and others stand as they are', async () => {
    const store = await written()
    sql(store, `UPDATE events SET json = 'null' WHERE session = 1 AND seq = 0`, 'DELETE FROM cards')
    expect(await list(store)).toMatchObject([{ id: 'b', open: { id: 'b' } }, { id: 'a', error: expect.stringContaining('session a: event 0') as unknown }])
  })

  it('is refused where it is a core event that this version does not know, with that code', async () => {
    const store = openStore()
    const lease = await store.create('a')
    append(lease, 0, opening())
    append(lease, 1, { type: 'prompt/unheard', data: {}, required: true } as never)
    await lease.release()
    await expect(read(store)).rejects.toMatchObject({ code: 'LOG_UNKNOWN_REQUIRED' })
  })

  it('is not called damaged where the session was removed meanwhile', async () => {
    const store = openStore()
    await write(store, 'a', [opening()], ...Array.from({ length: 4 }, () => [prompt('x'.repeat(300_000))]))
    const reader = store.load('a')[Symbol.asyncIterator]()
    await reader.next()
    await store.remove('a')
    await write(store, 'a', [opening()], [prompt('another log')], [prompt('of that name')])
    await expect(reader.next()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('is refused where a blob has other bytes, and put right by the same bytes', async () => {
    const store = await written()
    const digest = await store.putBlob('a', Buffer.from('right'))
    sql(store, `UPDATE blobs SET bytes = x'00'`)
    await expect(store.getBlob('a', digest)).rejects.toMatchObject({ code: 'BLOB_DAMAGED' })
    await store.putBlob('a', Buffer.from('right'))
    expect(Buffer.from((await store.getBlob('a', digest))!).toString()).toBe('right')
  })
})

describe('a database of which one byte was changed', () => {
  it('is refused, or gives equal events, whichever byte', async () => {
    const store = await written()
    const events = JSON.stringify([await read(store, 'a'), await read(store, 'b')])
    await store.close()
    const whole = readFileSync(store.file)
    const folder = temporaryFolder()
    const wrong: string[] = []
    let refused = 0
    let flips = 0
    for (let at = 0; at < whole.length; at++) {
      // Most of a page is empty, and nothing there is read: every byte of the others, a few of those.
      if (whole[at] === 0 && at % 97 !== 0) continue
      if (at % amount(11, 1) !== 0) continue
      const bytes = Buffer.from(whole)
      bytes[at]! ^= 1 << (flips++ % 8)
      const file = join(folder, `${at}.sqlite`)
      writeFileSync(file, bytes)
      const damaged = new SqliteStore({ file, fsync: 'never' })
      try {
        const found = JSON.stringify([await read(damaged, 'a'), await read(damaged, 'b')])
        if (found !== events) wrong.push(`byte ${at}: other events`)
      } catch (error) {
        refused++
        if (!(error instanceof HeadraceError)) wrong.push(`byte ${at}: ${String(error)}`)
      }
      await damaged.close()
    }
    expect(wrong).toEqual([])
    // The events' own bytes at least.
    expect(refused).toBeGreaterThan(events.length / amount(11, 1) / 2)
    figure('damage', 'sqlite', { flips })
  })
})

describe('a file that is not a database of this version', () => {
  it('is refused where it is no database, or a part of one', async () => {
    const noise = join(temporaryFolder(), 'noise.sqlite')
    writeFileSync(noise, 'not a database, '.repeat(1000))
    await expect(openStore({ file: noise }).create('a')).rejects.toMatchObject({ code: 'STORE_DAMAGED', message: expect.stringContaining('.recover') as unknown })
    expect(readFileSync(noise, 'utf8')).toBe('not a database, '.repeat(1000))
    const store = await written()
    await store.close()
    const cut = join(temporaryFolder(), 'cut.sqlite')
    writeFileSync(cut, readFileSync(store.file).subarray(0, 3 * 4096 + 100))
    await expect(read(openStore({ file: cut }))).rejects.toMatchObject({ name: 'StoreError' })
  })

  it('is refused, and left as it is, where a newer version wrote it', async () => {
    const store = await written()
    await store.close()
    sql(store, 'PRAGMA user_version = 3')
    const before = readFileSync(store.file)
    await expect(openStore({ file: store.file }).open()).rejects.toMatchObject({ code: 'STORE_VERSION', message: expect.stringMatching(/version 3 .*up to 2; update/) as unknown })
    expect(readFileSync(store.file).equals(before)).toBe(true)
  })

  it('is refused, and left as it is, where it is a database of something else', async () => {
    const file = join(temporaryFolder(), 'other.sqlite')
    const other = driver(file, 5_000)
    other.exec('CREATE TABLE notes (text TEXT)')
    other.close()
    const before = readFileSync(file)
    await expect(openStore({ file }).open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it('is refused where it is a folder', async () => {
    const file = join(temporaryFolder(), 'folder.sqlite')
    mkdirSync(file)
    await expect(openStore({ file }).open()).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining(file) as unknown })
  })

  it('opens as a copy of the file, where no log stands beside it', async () => {
    const store = await written()
    const events = await read(store)
    await store.close()
    const copy = join(temporaryFolder(), 'copy.sqlite')
    copyFileSync(store.file, copy)
    expect(await read(openStore({ file: copy }))).toEqual(events)
  })
})
