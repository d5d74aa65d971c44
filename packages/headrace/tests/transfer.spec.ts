import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type ModelServer, said, turnOf } from '@headrace/model-server'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { Session, type SessionEvent, verify } from '@headrace/session'
import { Lab, lines } from './command.ts'

// Each starts several processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 })

let lab: Lab
let server: ModelServer
beforeEach(async () => {
  lab = new Lab()
  server = await lab.serve((body) => `answer ${turnOf(body).number}`)
})
afterEach(() => lab.close())

const PNG = Buffer.from([1, 2, 250, 10])
const DIGEST = createHash('sha256').update(PNG).digest('hex')

/** A session with an image that waits in its queue. */
async function withImage(): Promise<void> {
  await lab.prompt(server, ['Hi', '--session', 's'])
  const store = new JsonlStore({ directory: lab.sessions, fsync: 'never' })
  await store.putBlob('s', PNG)
  const session = await Session.open(store, 's')
  session.append({ type: 'prompt/queued', data: { input: { role: 'user', content: [{ type: 'image', digest: DIGEST, mediaType: 'image/png' }] }, owner: 'user' } })
  await session.close()
}

it('export and import, through a pipe and through files, into SQLite and back, give the same bytes, blobs too; both sides verify', async () => {
  await withImage()
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

it('a log\'s own file is imported with the blobs that lie beside it', async () => {
  await withImage()
  expect((await lab.run(['sessions', 'import', join(lab.sessions, 's.jsonl'), '--id', 'copy'])).code).toBe(0)
  expect(readFileSync(join(lab.sessions, 'copy.blobs', DIGEST))).toEqual(PNG)
  expect(await lab.prompt(server, ['--session', 'copy'])).toMatchObject({ code: 0, err: expect.stringContaining('session copy, continued') })
})

it('import refuses an id that is taken, and a log without its blobs, and says the way out', async () => {
  await withImage()
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

it.each(['sqlite:there.db', 'jsonl:there'])('run, explain and verify take --store %s too', async (store) => {
  await lab.prompt(server, ['Hi', '--session', 's', '--store', store])
  await lab.prompt(server, ['Go on', '--continue', '--store', store])
  expect(existsSync(lab.sessions)).toBe(false)
  expect((await lab.run(['explain', 'last', '--store', store])).out).toMatch(/^session s /)
  expect((await lab.run(['verify', 'last', '--store', store])).out).toMatch(/^ok: 2 requests of/)
  expect(await lab.run(['run', 'Hi', '--app', 'cordis.yml', '--store', store])).toMatchObject({ code: 2, err: expect.stringContaining('leave --store out') })
})

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
