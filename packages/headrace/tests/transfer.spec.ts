import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ModelServer, said, turnOf } from '@headrace/model-server'
import { type SessionEvent, verify } from '@headrace/session'
import { Lab } from './command.ts'
import { DIGEST, PNG, takesStore, withImage } from './stores.ts'

let lab: Lab
let server: ModelServer
beforeEach(async () => {
  lab = new Lab()
  server = await lab.serve((body) => `answer ${turnOf(body).number}`)
})
afterEach(() => lab.close())

it('a log\'s own file is imported with the blobs that lie beside it', async () => {
  await withImage(lab, server)
  expect((await lab.run(['sessions', 'import', join(lab.sessions, 's.jsonl'), '--id', 'copy'])).code).toBe(0)
  expect(readFileSync(join(lab.sessions, 'copy.blobs', DIGEST))).toEqual(PNG)
  expect(await lab.prompt(server, ['--session', 'copy'])).toMatchObject({ code: 0, err: expect.stringContaining('session copy, continued') })
})

it('import refuses an id that is taken, and a log without its blobs, and says the way out', async () => {
  await withImage(lab, server)
  const { out } = await lab.run(['sessions', 'export', 's'])
  expect(await lab.run(['sessions', 'import', '-'], { input: out })).toEqual({ code: 1, out: '', err: 'headrace: there is a session "s" already; import it under another with --id, or remove that one first: headrace sessions rm\n' })
  const bare = out.split('\n').filter((line) => !line.startsWith('{"blob"')).join('\n')
  const refused = await lab.run(['sessions', 'import', '-', '--id', 'bare'], { input: bare })
  expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/^headrace: nothing was imported: event \d+: it names the blob [0-9a-f]{64}, which did not come with the log; .*: --without-blobs\n$/) })
  expect(lab.files()).not.toContain('bare.jsonl')
  expect((await lab.run(['sessions', 'import', '-', '--id', 'bare', '--without-blobs'], { input: bare })).code).toBe(0)
  expect(await lab.run(['sessions', 'export', 'bare'])).toMatchObject({ code: 0, out: bare.replace('"id":"s"', '"id":"bare"'), err: expect.stringContaining(`names the blob ${DIGEST}, which is not there`) })
})

it.each<[string, (text: string) => string, string]>([
  ['a changed byte', (text) => text.replace('answer 1', 'answer 2'), 'rebuilds as'],
  ['a cut', (text) => text.slice(0, -20), 'the last one, may be cut off'],
  ['another file', () => '# Notes\n', 'stdin: line 1: '],
  ['nothing', () => '', 'there is no event to import'],
  ['a lone surrogate', (text) => text.replace('"owner":"user"', '"owner":"\\ud83d"'), 'surrogate'],
])('import leaves nothing of %s', async (_, change, message) => {
  await lab.prompt(server, ['Hi', '--session', 's'])
  const { out } = await lab.run(['sessions', 'export', 's'])
  expect(await lab.run(['sessions', 'import', '-', '--id', 'other'], { input: change(out) })).toMatchObject({ code: 1, err: expect.stringContaining(message) })
  expect(lab.files()).toEqual(['s.jsonl'])
})

it('import interrupted by Ctrl-C leaves nothing', async () => {
  await lab.prompt(server, ['Hi', '--session', 's'])
  const { out } = await lab.run(['sessions', 'export', 's'])
  const { child, ended } = lab.start(['sessions', 'import', '-', '--id', 'other'], { pipe: true })
  child.stdin!.write(out.slice(0, out.length - 30))
  await expect.poll(() => existsSync(lab.logFile('other'))).toBe(true)
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 130, err: expect.stringContaining('nothing was imported') })
  expect(lab.files()).toEqual(['s.jsonl'])
})

it('what is salvaged of a damaged log is imported, and goes on', async () => {
  for (const prompt of ['one', 'two']) await lab.prompt(server, [prompt, '--session', 's'])
  const rows = readFileSync(lab.logFile('s'), 'utf8').split('\n')
  writeFileSync(lab.logFile('s'), [...rows.slice(0, -4), 'rubbish', ...rows.slice(-3)].join('\n'))
  const { out } = await lab.run(['sessions', 'export', 's', '--salvage'])
  expect((await lab.run(['sessions', 'import', '-', '--id', 'mended'], { input: out })).code).toBe(0)
  expect(await lab.prompt(server, ['three', '--session', 'mended'])).toMatchObject({ code: 0 })
  expect((await lab.run(['verify', 'mended'])).out).toMatch(/^ok: /)
})

it('run, explain and verify take --store too', () => takesStore(lab, server, 'jsonl:there'))

it('--store says what it may be, and that there is no such store to read', async () => {
  expect(await lab.run(['sessions', '--store', 'mysql:x'])).toMatchObject({ code: 2, err: 'headrace: --store must be sqlite:<file> or jsonl:<folder>\n' })
  expect(await lab.run(['sessions', 'export', 's', '--store', 'sqlite:none.db'])).toMatchObject({ code: 1, err: 'headrace: there is no store sqlite:none.db\n' })
  expect(readdirSync(lab.cwd)).toEqual(['a.txt'])
  mkdirSync(join(lab.cwd, 'empty'))
  expect(await lab.run(['sessions', 'import', 'none.jsonl', '--store', 'jsonl:empty'])).toMatchObject({ code: 1, err: 'headrace: there is no file none.jsonl\n' })
})

it('sessions rewind takes a session back; the next prompt goes on from there, on what the provider has cached', async () => {
  for (const prompt of ['one', 'two', 'three']) await lab.prompt(server, [prompt, '--session', 's'])
  expect(await lab.run(['sessions', 'rewind', 'last'])).toEqual({ code: 0, out: '', err: 'session s is back where turn 3 began; 2 turns stand\n' })
  expect(await lab.run(['sessions', 'rewind', 's', '--to', '2'])).toMatchObject({ code: 0, err: 'session s is back where turn 2 began; 1 turn stands\n' })
  await lab.prompt(server, ['four', '--session', 's'])
  const body = JSON.stringify(server.requests.at(-1)!.body)
  expect([body.includes('answer 1'), body.includes('"two"'), said(server.requests.at(-1)!.body, /^four$/)?.[0]]).toEqual([true, false, 'four'])
  const events = await lab.events('s') as SessionEvent[]
  expect(verify(events)).toMatchObject({ requests: 4 })
  expect(verify(events)).not.toHaveProperty('difference')
  expect((await lab.run(['explain', 's', '3.1'])).out).toContain('three')
  expect(await lab.run(['sessions', 'rewind', 's', '--turns', '9'])).toMatchObject({ code: 1, err: 'headrace: 9 turns cannot be taken back: 2 stand\n' })
  expect(await lab.run(['sessions', 'rewind', 's', '--turns', '0'])).toMatchObject({ code: 2 })
  expect(await lab.run(['sessions', 'rewind', 's', '--turns', '1', '--to', '1'])).toMatchObject({ code: 2 })
})
