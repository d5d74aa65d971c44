import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ModelServer, said, steps, toolResults } from '@headrace/model-server'
import { Lab, at, lines } from './command.ts'

let lab: Lab
let server: ModelServer
beforeEach(async () => {
  lab = new Lab()
  server = await lab.serve(steps([
    { toolCalls: [{ name: 'read', arguments: { path: 'a.txt' } }], usage: { input: 900, cached: 0, output: 5 } },
    { text: 'It says alpha.', usage: { input: 1000, cached: 896, output: 7 } },
  ]))
})
afterEach(() => lab.close())

/** Rewrites lines of a log; sums are taken away, so that only a proof can tell. */
function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, 'utf8').replace(/,"sum":"[0-9a-f]{8}"/g, '')))
}

it('sessions lists id, time, size, state, folder and first prompt, newest first, under heads', async () => {
  expect(await lab.run(['sessions'])).toMatchObject({ code: 0, out: '', err: expect.stringContaining('no session yet') })
  await lab.prompt(server, ['First\nprompt', '--session', 'old'])
  await lab.prompt(server, ['Second', '--session', 'new', '--cwd', lab.root])
  const { code, out } = await lab.run(['sessions'])
  const rows = out.trimEnd().split('\n')
  expect({ code, rows: rows.length }).toEqual({ code: 0, rows: 3 })
  expect(rows[0]).toMatch(/^session {2}changed +size +state {2}folder +first prompt$/)
  expect(rows[1]).toMatch(/^new {6}\d{4}-\d\d-\d\d \d\d:\d\d {2}\d+\.\d kB +done {3}\S+ +Second$/)
  expect(rows[2]).toMatch(new RegExp(`^old .* done {3}${lab.cwd} {2}First prompt$`))
  expect(lines((await lab.run(['sessions', '--json'])).out)).toMatchObject([{ id: 'new', cwd: lab.root, prompt: 'Second', state: 'done', queued: 0 }, { id: 'old', prompt: 'First\nprompt', size: expect.any(Number), modified: expect.any(Number) }])
})

it('sessions says what is open, what is queued, and how the last turn ended otherwise', async () => {
  const hung = await lab.serve(() => ({ hang: true }))
  const killed = lab.start(['run', 'one', '--session', 's', ...at(hung)])
  await lab.asked(hung)
  killed.child.kill('SIGKILL')
  await killed.ended
  expect(lines((await lab.run(['sessions', '--json'])).out)).toMatchObject([{ state: 'open', queued: 0 }])
  const second = lab.start(['run', 'two', '--session', 's', ...at(hung)])
  await lab.asked(hung, 2)
  second.child.kill('SIGINT')
  await second.ended
  expect((await lab.run(['sessions'])).out).toMatch(/ cancelled, 1 queued {2}.* one$/m)
})

it('a subagent\'s session is marked as one, explain of its agent names it, and last passes over it', async () => {
  const other = await lab.serve((body) => {
    const usage = { input: 100, cached: 0, output: 10 }
    if (said(body, /^You are a subagent/, 'system')) return { text: 'One line.', usage }
    return toolResults(body).length > 0 ? { text: 'Done.', usage }
      : { toolCalls: [{ name: 'subagent', arguments: { prompt: 'Count.', title: 'A count' } }], usage }
  })
  writeFileSync(join(lab.cwd, 'app.yml'), `- name: headrace\n  config: { model: lab/m, providers: { lab: { baseURL: ${other.url} } }, subagent: true }\n`)
  const ran = lines((await lab.run(['run', 'Go', '--app', 'app.yml', '--session', 'mine', '--json'])).out)
  expect(ran.at(-1)).toMatchObject({ reason: 'done', text: 'Done.', usage: { input: 300, output: 30 } })
  const all = lines((await lab.run(['sessions', '--json'])).out) as { readonly id: string; readonly under?: string }[]
  const child = all.find(({ under }) => under !== undefined)!
  expect(child).toMatchObject({ under: 'mine', kind: 'subagent', title: 'A count', state: 'done', call: { index: 0 } })
  expect((await lab.run(['sessions'])).out).toContain('(subagent of mine) A count')
  expect((await lab.run(['explain', 'last'])).out).toMatch(new RegExp(`^session mine [^]*\nsessions of calls\n  ${child.id}  subagent  call 1 of event `))
  expect((await lab.run(['explain', child.id])).out).toContain('subagent/prompt')
})

it('sessions shows a log that cannot be read with its error, and the others too', async () => {
  await lab.prompt(server, ['Hi', '--session', 'good'])
  await lab.prompt(server, ['Hi', '--session', 'bad'])
  writeFileSync(lab.logFile('bad'), 'rubbish\n')
  const { code, out } = await lab.run(['sessions'])
  expect(code).toBe(0)
  expect(out).toMatch(/^bad .*! session bad: line 1 at byte 0/m)
  expect(out).toMatch(/^good .*Hi$/m)
})

it('sessions rm removes a session; one that is not there is an error', async () => {
  await lab.prompt(server, ['Hi', '--session', 's'])
  expect((await lab.run(['sessions', 'rm', 's'])).code).toBe(0)
  expect(lab.files()).toEqual([])
  expect(await lab.run(['sessions', 'rm', 's'])).toMatchObject({ code: 1, err: 'headrace: there is no session "s"\n' })
})

it('sessions export --salvage prints what can be read of a damaged log, and says what is lost', async () => {
  await lab.prompt(server, ['Hi', '--session', 's'])
  const whole = await lab.run(['sessions', 'export', 's'])
  expect(lines(whole.out)).toEqual(await lab.events('s'))
  const rows = readFileSync(lab.logFile('s'), 'utf8').split('\n')
  writeFileSync(lab.logFile('s'), [...rows.slice(0, 3), 'rubbish', ...rows.slice(4)].join('\n'))
  expect(await lab.run(['sessions', 'export', 's'])).toMatchObject({ code: 1, err: expect.stringContaining('line 4') })
  const { code, out, err } = await lab.run(['sessions', 'export', 's', '--salvage'])
  expect(code).toBe(0)
  expect(err).toMatch(/^headrace: salvaged \d+ events; left out:\nheadrace: line 4 at byte \d+: .*\nheadrace: line 5 at byte \d+: .*missing in front of it\n$/)
  // Also what stands behind the damage.
  const kept = lines(out) as { seq?: number; gap?: [number, number] }[]
  const [from, to] = kept.find(({ gap }) => gap)!.gap!
  expect(kept.filter(({ gap }) => !gap)).toEqual(lines(whole.out).filter(({ seq }) => (seq as number) < from || (seq as number) > to))
  expect(await lab.run(['sessions', 'import', '-', '--id', 'first'], { input: out })).toMatchObject({ code: 0, err: expect.stringContaining(`event ${from} was not salvaged; what comes behind it is left out`) })
})

it('explain shows a request in its parts, each with owner, role and size, and what was sent before', async () => {
  await lab.prompt(server, ['What is in a.txt?', '--session', 's'])
  const { code, out } = await lab.run(['explain', 'last'])
  expect(code).toBe(0)
  expect(out).toMatch(/^session s {2}\S+\/work\nrequest 1\.2\.1 \(event \d+\): .* tokens; rebuilds byte for byte\n {2}it ended ok, stop: 1,000 tokens in \(896 cached\), 7 out\n/)
  expect(out).toMatch(/\nconfig\n {2}model {2}app {2}"endpoint\/scripted"\n/)
  expect(out).toMatch(/\nsystem\n {2}1 {2}headrace\/instructions +\d+ B +~\d+ +You are a coding agent\. /)
  expect(out).toMatch(/\ntools\n {2}background +workspace-tools\/background .*\n {2}bash +workspace-tools\/bash +\d+ B +~\d+ +Runs a shell command/)
  expect(out).toMatch(/\nprefix {2}-\n\nbefore {2}-\n\nhistory\n {2}1 {2}system +environment\/environment +\d+ B +~\d+ +The environment you work in: .*\n {2}2 {2}user +user +\d+ B +~\d+ +What is in a\.txt\?\n {2}3 {2}assistant {2}model +\d+ B +~\d+ +→ read path="a\.txt"\n {2}4 {2}tool +tool +\d+ B +~\d+ +← read: 1 alpha\n\nafter {2}-\n/)
  expect(out).toMatch(/\nheader: as in request 1\.1\.1\ncached: [\d,]+ of [\d,]+ bytes \(\d+ %\) stand as in request 1\.1\.1, new from message 3 on; the provider read 896 of 1,000 tokens from its cache\n$/)
})

it('explain finds a request by turn.step, by a step of the last turn and by #seq, and says what there is', async () => {
  await lab.prompt(server, ['one', '--session', 's'])
  await lab.prompt(server, ['two', '--session', 's'])
  const name = async (step: string): Promise<unknown> => JSON.parse((await lab.run(['explain', 's', step, '--json'])).out).name
  expect(await name('1.1')).toBe('1.1.1')
  expect(await name('1.2.1')).toBe('1.2.1')
  expect(await name('1')).toBe('2.1.1')
  const { seq } = JSON.parse((await lab.run(['explain', 's', '1.2', '--json'])).out) as { seq: number }
  expect(await name(`#${seq}`)).toBe('1.2.1')
  expect(await lab.run(['explain', 's', '3.1'])).toMatchObject({ code: 1, err: 'headrace: there is no request 3.1; there is 1.1.1, 1.2.1, 2.1.1, 2.2.1\n' })
  expect(await lab.run(['explain', 's', '#0'])).toMatchObject({ code: 1, err: expect.stringContaining('event 0 is a session/open') })
  expect((await lab.run(['explain', 's', 'x.y'])).code).toBe(2)
  expect(await lab.run(['explain', 'other'])).toMatchObject({ code: 1, err: 'headrace: there is no session "other"\n' })
})

it('explain says why the header stands there again after a resume, and that nothing drifted', async () => {
  await lab.prompt(server, ['one', '--session', 's'])
  await lab.prompt(server, ['two', '--session', 's'])
  const { out } = await lab.run(['explain', 's', '2.1'])
  expect(out).toMatch(/\nheader: event \d+, resume: another process took the session up, and says anew what it sends\n {2}nothing drifted\n/)
  await lab.run(['run', 'three', '--session', 's', '--model', 'other', '--base-url', server.url])
  expect((await lab.run(['explain', 's', '3.1'])).out).toMatch(/, resume: .*\n {2}changed {2}config {2}model {2}app\ncached: .*; that went to another model/)
})

it('explain --full prints whole texts', async () => {
  const long = `${'word '.repeat(40)}end`
  await lab.prompt(server, [long])
  expect((await lab.run(['explain', 'last'])).out).not.toContain(long)
  expect((await lab.run(['explain', 'last', '--full'])).out).toContain(`\n      ${long}\n`)
})

it('last is this folder\'s newest session, and never another folder\'s: it would be read, or taken back, for it', async () => {
  await lab.prompt(server, ['here', '--session', 'here'])
  await lab.prompt(server, ['there', '--session', 'there', '--cwd', lab.root])
  expect((await lab.run(['explain', 'last'])).out).toMatch(/^session here /)
  const kept = await lab.events('there')
  for (const args of [['explain', 'last'], ['verify', 'last'], ['sessions', 'export', 'last'], ['sessions', 'rewind', 'last']]) {
    expect(await lab.run(args, { cwd: lab.sessions })).toEqual({ code: 1, out: '', err: `headrace: there is no session of ${lab.sessions}; name one (headrace sessions lists them), or begin one with: headrace run "<prompt>"\n` })
  }
  expect(await lab.events('there')).toEqual(kept)
})

it('verify rebuilds every request and says so in one line, with the session; --digest adds the last chain', async () => {
  await lab.prompt(server, ['Hi', '--session', 's'])
  const events = await lab.events()
  const ok = `ok: 2 requests of ${events.length} events rebuild byte for byte (session s)\n`
  expect(await lab.run(['verify', 'last'])).toEqual({ code: 0, out: ok, err: '' })
  const end = events.findLast(({ type }) => type === 'step/end')!.data as { digest: string }
  expect((await lab.run(['verify', 'last', '--digest'])).out).toBe(`${ok}${end.digest}\n`)
  const copy = join(lab.cwd, 'copy.jsonl')
  writeFileSync(copy, readFileSync(lab.logFile()))
  expect((await lab.run(['verify', 'copy.jsonl'])).out).toMatch(/^ok: 2 requests of \d+ events rebuild byte for byte \(copy\.jsonl\)\n$/)
  expect((await lab.run(['verify', lab.logFile()])).out).toMatch(/^ok: 2 requests/)
})

it('verify tells the first difference, and exits with 1', async () => {
  await lab.prompt(server, ['Hide the gold', '--session', 's'])
  rewrite(lab.logFile(), (text) => text.replaceAll('Hide the gold', 'Find the gold'))
  const dispatch = (await lab.events()).find(({ type }) => type === 'request/dispatch')!
  const { code, out } = await lab.run(['verify', 'last'])
  expect(code).toBe(1)
  expect(out).toMatch(new RegExp(`^differs: session s: event ${dispatch.seq}: the history rebuilds as [0-9a-f]{64}, but [0-9a-f]{64} was recorded; .*\n$`))
  expect(JSON.parse((await lab.run(['verify', 'last', '--json'])).out)).toMatchObject({ difference: { seq: dispatch.seq } })
  expect((await lab.run(['explain', 'last'])).out).toContain('DOES NOT REBUILD as recorded')
})

it('verify refuses a damaged log with the place of the damage, and exits with 1', async () => {
  await lab.prompt(server, ['Hi'])
  writeFileSync(lab.logFile(), readFileSync(lab.logFile(), 'utf8').replace('"Hi"', '"Ho"'))
  expect(await lab.run(['verify', 'last'])).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^headrace: session \S+: line 2 at byte \d+ of .* checksum does not match/) })
  expect(await lab.run(['verify', './nowhere.jsonl'])).toMatchObject({ code: 1, err: 'headrace: there is no file ./nowhere.jsonl\n' })
})

it('a reader that leaves early is no error', async () => {
  await lab.prompt(server, ['-'], { input: 'long '.repeat(100_000) })
  const { child, ended, seen } = lab.start(['explain', 'last', '--full'])
  await seen(/session/)
  child.stdout!.destroy()
  expect(await ended).toMatchObject({ code: 0, err: '' })
})

it('--help tells of every command and option, --version the version', async () => {
  expect((await lab.run(['--help'])).out).toMatch(/run .*\n[^]*sessions .*\n[^]*explain .*\n[^]*verify /)
  const { code, out } = await lab.run(['run', '--help'])
  expect(code).toBe(0)
  for (const word of ['--cwd', '--model', '--base-url', '--session', '--continue', '--yes', '--json', '--debug', 'HEADRACE_API_KEY', 'Exit codes']) expect(out).toContain(word)
  expect(out).not.toMatch(/--(api-)?key/)
  expect((await lab.run(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
})
