import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ModelServer, turnOf } from '@headrace/model-server'
import { readLog } from '@headrace/plugin-store-jsonl'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import { type SessionEvent, importLog } from '@headrace/session'
import { Lab, lines } from './command.ts'
import { DIGEST, PNG, takesStore, withImage } from './stores.ts'

let lab: Lab
let server: ModelServer
beforeEach(async () => {
  lab = new Lab()
  server = await lab.serve((body) => `answer ${turnOf(body).number}`)
})
afterEach(() => lab.close())

it('export and import, through a pipe and through files, into SQLite and back, give the same bytes, blobs too; both sides verify', async () => {
  await withImage(lab, server)
  const { out } = await lab.run(['sessions', 'export', 's'])
  expect(lines(out).filter((line) => 'blob' in line)).toEqual([{ blob: DIGEST, bytes: PNG.toString('base64') }])
  expect(await lab.run(['sessions', 'import', '-', '--store', 'sqlite:there.db'], { input: out })).toMatchObject({ code: 0, out: 's\n', err: expect.stringMatching(/^imported session s: \d+ events; 1 request rebuilds byte for byte\n$/) })
  const there = await lab.run(['sessions', 'export', 's', '--store', 'sqlite:there.db'])
  expect(there.out).toBe(out)
  writeFileSync(join(lab.cwd, 'back.jsonl'), there.out)
  expect((await lab.run(['verify', 'back.jsonl'])).out).toMatch(/^ok: 1 request of/)
  expect((await lab.run(['sessions', 'import', 'back.jsonl', '--id', 'again', '--store', 'jsonl:folder'])).code).toBe(0)
  const back = await lab.run(['sessions', 'export', 'again', '--store', 'jsonl:folder'])
  expect(back.out).toBe(out.replace('"id":"s"', '"id":"again"'))
  expect(readFileSync(join(lab.cwd, 'folder/again.blobs', DIGEST))).toEqual(PNG)
  expect((await lab.run(['sessions', '--store', 'sqlite:there.db'])).out).toMatch(/^s +2/m)
  expect((await lab.run(['sessions', 'rm', 's', '--store', 'sqlite:there.db'])).code).toBe(0)
  expect((await lab.run(['sessions', '--json', '--store', 'sqlite:there.db'])).out).toBe('')
})

it('export --salvage keeps every sound event of a log in SQLite, on both sides of what is damaged', async () => {
  const file = join(lab.cwd, 'there.db')
  const store = new SqliteStore({ file, fsync: 'never' })
  const seqs: number[] = []
  const items = async function* (): AsyncGenerator<SessionEvent> {
    for await (const batch of readLog(fileURLToPath(new URL('../../../test/golden/logs/attempts.jsonl', import.meta.url)))) {
      seqs.push(...batch.map(({ seq }) => seq))
      yield* batch
    }
  }
  await importLog(store, items(), { id: 's' })
  await store.close()
  writeFileSync(file, readFileSync(file, 'latin1').replaceAll('"reason":"initial"', '"reason":"INITIAL"'), 'latin1')
  const { code, out, err } = await lab.run(['sessions', 'export', 's', '--salvage', '--store', 'sqlite:there.db'])
  const gap = lines(out).find((line) => 'gap' in line)!.gap as [number, number]
  expect([code, gap[1]]).toEqual([0, gap[0]])
  expect(lines(out).flatMap(({ seq }) => (typeof seq === 'number' ? [seq] : []))).toEqual(seqs.filter((seq) => seq !== gap[0]))
  expect(err).toContain(`left out:\nheadrace: event ${gap[0]}: its checksum does not match`)
})

it('run, explain and verify take --store too', () => takesStore(lab, server, 'sqlite:there.db'))
