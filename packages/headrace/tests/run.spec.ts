import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { said, steps, turnOf, unauthorized } from '@headrace/model-server'
import { Lab, at, lines } from './command.ts'

let lab: Lab
beforeEach(() => { lab = new Lab() })
afterEach(() => lab.close())

const WRITE = { toolCalls: [{ name: 'write', arguments: { path: 'new.txt', content: 'made\n' } }] }

it('the answer goes to stdout; reasoning, calls, results and a closing line to stderr', async () => {
  const server = await lab.serve(steps([
    { reasoning: 'I must look.', text: 'I look.', toolCalls: [{ name: 'read', arguments: { path: 'a.txt' } }], usage: { input: 1200, cached: 1000, output: 5 } },
    { text: 'It says alpha.', usage: { input: 1300, cached: 1200, output: 7 } },
  ]))
  const { code, out, err } = await lab.prompt(server, ['What', 'is in a.txt?'])
  expect({ code, out }).toEqual({ code: 0, out: 'I look.\nIt says alpha.\n' })
  const id = (await lab.events())[0]!.data as { id: string }
  expect(err).toBe(`I must look.\n→ read path="a.txt"\n← read: 1 alpha\n2 steps · 2,500 tokens in (2,200 cached), 12 out · session ${id.id}\n`)
  expect(said(server.requests[0]!.body, /.*/)?.[0]).toBe('What is in a.txt?')
})

it('a prompt is read from stdin for "-", and where none is given and stdin is piped', async () => {
  const server = await lab.serve((body) => `You said ${said(body, /.*/)?.[0]}.`)
  expect((await lab.prompt(server, ['-'], { input: 'one\n' })).out).toBe('You said one.\n')
  expect((await lab.prompt(server, [], { input: 'two\n' })).out).toBe('You said two.\n')
  expect(await lab.prompt(server, ['-'], { input: ' \n' })).toMatchObject({ code: 2, err: expect.stringContaining('stdin is empty') })
})

it('--json prints every event as it stands in the log, text and reasoning, and a result as the last line', async () => {
  const server = await lab.serve(steps([{ reasoning: 'Hm.', text: 'Hello \u009b31mthere.', chunkSize: 100 }]))
  const { code, out, err } = await lab.prompt(server, ['Hi', '--json'])
  const all = lines(out)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(all.filter((line) => 'seq' in line)).toEqual((await lab.events()).slice(1))
  expect(all.filter((line) => line.type === 'text' || line.type === 'reasoning')).toEqual([{ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: 'Hello \u009b31mthere.' }])
  expect(all.at(-1)).toMatchObject({ type: 'result', reason: 'done', finish: 'stop', text: 'Hello \u009b31mthere.', steps: 1, turns: 1 })
  expect(out).not.toContain('\u009b')
})

it('--session begins a session under that id, and goes on with it the next time', async () => {
  const server = await lab.serve((body) => `turn ${turnOf(body).number}`)
  expect((await lab.prompt(server, ['one', '--session', 'mine'])).out).toBe('turn 1\n')
  expect((await lab.prompt(server, ['two', '--session', 'mine'])).out).toBe('turn 2\n')
  expect(lab.files()).toEqual(['mine.jsonl'])
  expect(await lab.run(['run', '--session', '../x', 'hi', ...at(server)])).toMatchObject({ code: 1, err: expect.stringContaining('cannot be a session id') })
})

it('--continue takes the newest session of this folder, not one of another', async () => {
  const server = await lab.serve((body) => `turn ${turnOf(body).number}`)
  await lab.prompt(server, ['one', '--session', 'here'])
  await lab.prompt(server, ['one', '--session', 'there', '--cwd', lab.root])
  expect((await lab.prompt(server, ['two', '--continue'])).out).toBe('turn 2\n')
  expect((await lab.events('here')).filter(({ type }) => type === 'turn/end')).toHaveLength(2)
  const fresh = await lab.prompt(server, ['one', '--continue', '--cwd', `${lab.root}/state`])
  expect(fresh).toMatchObject({ code: 0, out: 'turn 1\n', err: expect.stringContaining('a new one begins') })
})

it('--continue without a prompt says that nothing was acknowledged yet, or that nothing is left open', async () => {
  const server = await lab.serve(() => 'done')
  expect(await lab.prompt(server, ['--continue'])).toMatchObject({ code: 1, err: expect.stringContaining('nothing was acknowledged yet') })
  await lab.prompt(server, ['one', '--session', 's'])
  expect(await lab.prompt(server, ['--continue'])).toMatchObject({ code: 0, out: '', err: 'headrace: nothing is left open in session s\n' })
  expect(await lab.run(['run', '--session', 'other', ...at(server)])).toMatchObject({ code: 1, err: expect.stringContaining('nothing was acknowledged yet') })
})

it('--continue finishes a turn whose process was killed, without asking for its prompt again', async () => {
  const server = await lab.serve((_, { index }) => (index === 0 ? { reasoning: 'I think', text: 'It was cut', stallAfter: 2 } : 'Whole.'))
  const first = lab.start(['run', 'Go on', ...at(server)])
  await first.seen(/I think/)
  first.child.kill('SIGKILL')
  await first.ended
  expect(await lab.prompt(server, ['--continue'])).toMatchObject({ code: 0, out: 'Whole.\n' })
  expect((await lab.run(['verify', 'last'])).out).toMatch(/^ok: 2 requests/)
})

it('a resumed session goes on with its own model; a model that is named beats it', async () => {
  const server = await lab.serve((body) => body.model)
  await lab.prompt(server, ['one'])
  const env = { HEADRACE_MODEL: 'another', HEADRACE_BASE_URL: server.url }
  expect((await lab.run(['run', 'two', '--continue'], { env })).out).toBe('scripted\n')
  expect((await lab.run(['run', 'three', '--continue', '--model', 'third'], { env })).out).toBe('third\n')
  expect(await lab.run(['run', 'four', '--continue'])).toMatchObject({ code: 2, err: expect.stringContaining('--base-url') })
})

it('headless, what asks is denied and the model is told; --yes allows it', async () => {
  const server = await lab.serve(steps([WRITE, 'ok']))
  const denied = await lab.prompt(server, ['Make a file'])
  expect(denied).toMatchObject({ code: 4, err: expect.stringContaining('✗ write: The call was denied') })
  expect(() => lab.read('new.txt')).toThrow()
  expect((await lab.prompt(server, ['Make a file', '--yes'])).err).toContain('← write: Created new.txt')
  expect(lab.read('new.txt')).toBe('made\n')
})

it('a base URL serves a model without a known provider under its whole name, and takes the place of a known one\'s', async () => {
  const server = await lab.serve((body) => body.model)
  const model = async (name: string, env = {}): Promise<unknown> => (await lab.run(['run', 'x', '--json', '--model', name, '--base-url', server.url], { env })).out.split('\n').at(-2)
  expect(JSON.parse(await model('org/qwen') as string)).toMatchObject({ text: 'org/qwen' })
  expect(JSON.parse(await model('deepseek/deepseek-flash') as string)).toMatchObject({ text: 'deepseek-flash' })
  expect(JSON.parse((await lab.run(['run', 'x', '--json'], { env: { HEADRACE_MODEL: 'qwen', HEADRACE_BASE_URL: server.url } })).out.split('\n').at(-2)!)).toMatchObject({ text: 'qwen' })
})

it('HEADRACE_BASE_URL does not send another provider\'s key astray', async () => {
  const server = await lab.serve(() => 'no')
  const env = { HEADRACE_MODEL: 'qwen', HEADRACE_BASE_URL: server.url }
  const { code, err } = await lab.run(['run', 'x', '--model', 'deepseek/deepseek-flash'], { env })
  expect({ code, requests: server.requests.length }).toEqual({ code: 1, requests: 0 })
  expect(err).toContain('headrace: there is no key for deepseek: set DEEPSEEK_API_KEY (or HEADRACE_API_KEY)\n')
})

it('the key comes from the environment, and stands in no output and no log', async () => {
  const server = await lab.serve(() => 'ok', { apiKey: 'sk-secret-1234' })
  const { code, out, err } = await lab.prompt(server, ['Hi', '--json'], { env: { HEADRACE_API_KEY: 'sk-secret-1234' } })
  expect(code).toBe(0)
  expect(out + err + JSON.stringify(await lab.events())).not.toContain('sk-secret')
  expect(await lab.prompt(server, ['Hi', '--continue'], { env: { HEADRACE_API_KEY: 'sk-wrong-1234' } })).toMatchObject({ code: 1, err: expect.not.stringContaining('sk-wrong') })
})

it('an option that is not there is named without its value', async () => {
  for (const args of [['--api-key=sk-1234'], ['--api-key', 'sk-1234'], ['-ksk-1234'], ['--sk-1234=x']]) {
    const { code, out, err } = await lab.run(['run', 'x', ...args])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^headrace: there is no option -/)
    if (!args[0]!.startsWith('--sk')) expect(err).not.toContain('sk-1234')
  }
  expect((await lab.run(['run', 'x', '--api-key=sk-1234'])).err).toContain('HEADRACE_API_KEY, never from an argument')
})

it.each([
  [['run', 'x'], /^headrace: there is no model; give --model/],
  [['run', 'x', '--model', 'qwen'], /^headrace: the model "qwen" names no provider; write provider\/model/],
  [['run', 'x', '--model', 'qwen', '--base-url', 'localhost:8000'], /^headrace: the base URL must be an http/],
  [['run'], /^headrace: there is no prompt/],
  [['run', ''], /^headrace: the prompt is empty/],
  [['run', 'x', '--cwd', 'nowhere'], /^headrace: there is no folder nowhere/],
  [['run', 'x', '--continue', '--session', 'y'], /^headrace: --continue and --session/],
  [['dance'], /^headrace: unknown command 'dance'/],
])('%j is refused with one line and exit code 2, and leaves no session behind', async (args, line) => {
  const { code, out, err } = await lab.run(args)
  expect(err).toMatch(line)
  expect(err.trimEnd().split('\n')).toHaveLength(1)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(() => lab.files()).toThrow()
})

it('a turn that fails is one line and exit code 1', async () => {
  const server = await lab.serve(() => unauthorized())
  const { code, out, err } = await lab.prompt(server, ['Hi'])
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(/^headrace: endpoint answered 401.*\n1 step · session \S+\n$/)
})

it('a run that sent nothing says so, and counts no tokens', async () => {
  writeFileSync(join(lab.cwd, 'stop.mjs'), 'export const name = "stop"\nexport async function apply(ctx) { ctx.on("agent/prompt-submit", async () => ({ block: "Not today." })) }\n')
  writeFileSync(join(lab.cwd, 'app.yml'), '- name: headrace\n- name: ./stop.mjs\n')
  expect((await lab.run(['run', 'Hi', '--app', 'app.yml', '--model', 'deepseek/x'])).err).toMatch(/Not today\.\nnothing was sent · session \S+\n$/)
})

it('a session that another process writes is refused, with that process named', async () => {
  const server = await lab.serve(() => ({ hang: true }))
  const first = lab.start(['run', 'Hi', '--session', 's', ...at(server)])
  await lab.asked(server)
  const { code, err } = await lab.prompt(server, ['Hi', '--session', 's'])
  expect(code).toBe(1)
  expect(err).toMatch(new RegExp(`^headrace: session s is being written by pid ${first.child.pid} `))
  expect((await lab.prompt(server, ['Hi', '--session', 's', '--debug'])).err).toMatch(/SessionBusyError[^]*\n {4}at /)
})
