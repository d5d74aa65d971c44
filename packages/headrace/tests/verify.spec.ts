import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Lab } from './command.ts'

const golden = fileURLToPath(new URL('../../../test/golden/logs/', import.meta.url))
let lab: Lab
beforeEach(() => void (lab = new Lab()))
afterEach(() => lab.close())
const verify = (file: string): ReturnType<Lab['run']> => lab.run(['verify', file])

it.each([
  ['an empty file', ''],
  ['NULs', '\0'.repeat(300)],
  ['a torn first line', '{"seq":0,"time":17960'],
  ['HTML on one line', '<!doctype html><title>502</title>'],
])('verify says of %s that it is no log, and what it left out', async (_, bytes) => {
  writeFileSync(join(lab.cwd, 'x.jsonl'), bytes)
  const { code, out, err } = await verify('./x.jsonl')
  expect([code, out]).toEqual([1, 'differs: ./x.jsonl: event 0: there is no event: nothing was acknowledged, or this is no log\n'])
  expect(err).toBe(bytes === '' ? '' : `headrace: left out: ${bytes.length} bytes from byte 0 on, which are no whole line: what was never acknowledged, or no log\n`)
})

it('verify says how many bytes of a torn tail it left out', async () => {
  const file = join(lab.cwd, 'x.jsonl')
  cpSync(join(golden, 'tools.jsonl'), file)
  const { length } = readFileSync(file)
  appendFileSync(file, `{"seq":99,"data":{"a":"${'x'.repeat(150)}`)
  expect(await verify('./x.jsonl')).toMatchObject({ code: 0, out: expect.stringMatching(/^ok: 2 requests/), err: `headrace: left out: 173 bytes from byte ${length} on, which are no whole line: what was never acknowledged, or no log\n` })
  expect(JSON.parse((await lab.run(['verify', './x.jsonl', '--json'])).out)).toMatchObject({ leftOut: { offset: length, bytes: 173 } })
})

it('verify looks at blobs: one that is gone, one that was changed', async () => {
  for (const name of ['blobs.jsonl', 'blobs.blobs']) cpSync(join(golden, name), join(lab.cwd, name), { recursive: true })
  expect(await verify('./blobs.jsonl')).toEqual({ code: 0, out: 'ok: 1 request of 14 events rebuilds byte for byte, 3 blobs are there (./blobs.jsonl)\n', err: '' })
  const [digest] = /[0-9a-f]{64}/.exec(readFileSync(join(lab.cwd, 'blobs.jsonl'), 'utf8'))!
  const blob = join(lab.cwd, 'blobs.blobs', digest)
  writeFileSync(blob, 'another image')
  expect(await verify('./blobs.jsonl')).toMatchObject({ code: 1, out: `differs: ./blobs.jsonl: event 1: it names the blob ${digest}, whose bytes have another digest\n` })
  rmSync(blob)
  expect(await verify('./blobs.jsonl')).toMatchObject({ code: 1, out: `differs: ./blobs.jsonl: event 1: it names the blob ${digest}, which is not there\n` })
})

it('verify of an export looks at the blobs that stand in it: one that was changed, one that was left out', async () => {
  for (const name of ['blobs.jsonl', 'blobs.blobs']) cpSync(join(golden, name), join(lab.cwd, name), { recursive: true })
  const { out } = await lab.run(['sessions', 'export', './blobs.jsonl'])
  const bytes = /(?<="bytes":")[^"]+/.exec(out)![0]
  const at = join(lab.cwd, 'export.jsonl')
  writeFileSync(at, out)
  expect(await verify('./export.jsonl')).toEqual({ code: 0, out: 'ok: 1 request of 14 events rebuilds byte for byte, 3 blobs are there (./export.jsonl)\n', err: '' })
  writeFileSync(at, out.replace(bytes, 'YW5vdGhlcg=='))
  expect(await verify('./export.jsonl')).toMatchObject({ code: 1, out: expect.stringMatching(/whose bytes have another digest\n$/) })
  writeFileSync(at, out.replace(/^\{"blob".*\n/m, ''))
  expect(await verify('./export.jsonl')).toMatchObject({ code: 1, out: expect.stringMatching(/which is not there\n$/) })
})

it('verify tells a log that was made by a newer headrace as that, and one of another session, other coordinates, other line ends', async () => {
  const refused = (name: string): string => fileURLToPath(new URL(`../../../test/golden/refused/${name}.jsonl`, import.meta.url))
  for (const name of ['version-3', 'another-block', 'required-field']) {
    const { code, err } = await verify(refused(name))
    expect([name, code, /made by a newer headrace/.test(err), /damage|salvage/.test(err)]).toEqual([name, 1, true, false])
  }
  expect(await verify(refused('line-of-another-log'))).toMatchObject({ code: 1, err: expect.stringMatching(/line 3 .*of another log/) })
  expect(await verify(refused('coordinates'))).toMatchObject({ code: 1, out: expect.stringContaining('it says turn 7, and stands in turn 1') })
  writeFileSync(join(lab.cwd, 'x.jsonl'), readFileSync(join(golden, 'tools.jsonl'), 'utf8').replaceAll('\n', '\r\n'))
  expect(await verify('./x.jsonl')).toMatchObject({ code: 1, err: expect.stringMatching(/line ends; .*--salvage/) })
  const salvaged = await lab.run(['sessions', 'export', './x.jsonl', '--salvage'])
  expect(salvaged).toMatchObject({ code: 0, err: expect.stringMatching(/^headrace: salvaged 27 events; left out: nothing\n/) })
  writeFileSync(join(lab.cwd, 'y.jsonl'), salvaged.out)
  expect(await verify('./y.jsonl')).toMatchObject({ code: 0, out: expect.stringMatching(/^ok: 2 requests of 27 events/) })
})
