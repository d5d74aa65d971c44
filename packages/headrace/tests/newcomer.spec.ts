import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ModelServer, said, steps, toolResults } from '@headrace/model-server'
import type { SessionEvent } from '@headrace/session'
import { Terminal } from '../src/cli/show/terminal.ts'
import { Transcript } from '../src/cli/show/transcript.ts'
import { Lab, at, lines } from './command.ts'

let lab: Lab
beforeEach(() => { lab = new Lab() })
afterEach(() => lab.close())

const bash = (input: object): object => ({ name: 'bash', arguments: input })
const write = (name: string): object => ({ name: 'write', arguments: { path: name, content: 'x' } })
const calls = (...toolCalls: object[]): never => ({ toolCalls }) as never

function app(url: string, more = ''): void {
  writeFileSync(join(lab.cwd, 'app.yml'), `- name: headrace\n  config: { model: lab/m, providers: { lab: { baseURL: ${url} } }${more} }\n`)
}

describe('commands in the background, when the run ends', () => {
  /** A command that ends when there is a file `go`, with an answer behind it. */
  const started = (): Promise<ModelServer> => lab.serve(steps([
    calls(bash({ command: 'until [ -e go ]; do sleep 0.02; done', background: true, wake: 'end' })), 'I wait.', 'It is over.',
  ]))

  it('one with wake is waited for: its end starts the turn that was promised, and is told once', async () => {
    const server = await started()
    const running = lab.start(['run', 'Go', '--yes', ...at(server)])
    await running.seen(/… waits for b1 \(until \[ -e go \]; do sleep 0\.02; done\) in the background, to wake the agent; Ctrl-C ends it, and --no-wait does not wait\n/)
    writeFileSync(join(lab.cwd, 'go'), '')
    const { code, out, err } = await running.ended
    expect({ code, out }).toEqual({ code: 0, out: 'I wait.\nIt is over.\n' })
    expect(err).not.toContain('was ended')
    expect(JSON.stringify(server.requests.at(-1)!.body).match(/ended with exit code 0/g)).toHaveLength(1)
  })

  it('Ctrl-C ends the wait, and the command', async () => {
    const { child, ended, seen } = lab.start(['run', 'Go', '--yes', ...at(await started())])
    await seen(/… waits for b1/)
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 130, out: 'I wait.\n', err: expect.stringContaining('headrace: b1 was ended with this run: until [ -e go ]') as string })
  })

  it('with --json the wait is told on stderr', async () => {
    const { child, ended, seen } = lab.start(['run', 'Go', '--yes', '--json', ...at(await started())])
    await seen(/… waits for b1 /)
    child.kill('SIGINT')
    const { code, out, err } = await ended
    expect(code).toBe(130)
    expect(err).toContain('… waits for b1 (until')
    expect(out).not.toContain('… waits')
    expect(lines(out).at(-1)).toMatchObject({ type: 'result', reason: 'cancelled' })
  })

  it('with --no-wait one with wake ends with the run, which says so', async () => {
    const { code, out, err } = await lab.prompt(await started(), ['Go', '--yes', '--no-wait'])
    expect({ code, out }).toEqual({ code: 0, out: 'I wait.\n' })
    expect(err).toContain('headrace: b1 was ended with this run: until [ -e go ]')
    expect(err).not.toContain('waits for')
  })

  it('one without wake ends with the run, which says so', async () => {
    const server = await lab.serve(steps([calls(bash({ command: 'sleep 600', background: true })), 'Started.']))
    const { code, out, err } = await lab.prompt(server, ['Go', '--yes'])
    expect({ code, out }).toEqual({ code: 0, out: 'Started.\n' })
    expect(err).toContain('headrace: b1 was ended with this run: sleep 600\n')
    expect(err).not.toContain('waits for')
  })
})

it('explain --full shows the arguments of calls whole', async () => {
  const command = `echo ${'word '.repeat(80)}end`
  const server = await lab.serve(steps([calls(bash({ command })), 'Ran.']))
  await lab.prompt(server, ['Go', '--yes'])
  expect((await lab.run(['explain', 'last'])).out).not.toContain(command)
  expect((await lab.run(['explain', 'last', '--full'])).out).toContain(`→ bash command="${command}"`)
})

it('--app says once that the variables of the usual set are not used, unless the file reads them', async () => {
  const server = await lab.serve(() => 'ok')
  app(server.url)
  const env = { HEADRACE_MODEL: 'deepseek/x', HEADRACE_BASE_URL: 'http://127.0.0.1:9/v1' }
  const note = 'headrace: HEADRACE_MODEL and HEADRACE_BASE_URL are not used: with --app, models and where they are is said in app.yml\n'
  const { code, err } = await lab.run(['run', 'Hi', '--app', 'app.yml'], { env })
  expect(code).toBe(0)
  expect(err.split(note)).toHaveLength(2)
  writeFileSync(join(lab.cwd, 'app.yml'), `- name: headrace\n  config: { model: '\${HEADRACE_MODEL}', providers: { lab: { baseURL: ${server.url} } } }\n`)
  expect((await lab.run(['run', 'Hi', '--app', 'app.yml'], { env: { HEADRACE_MODEL: 'lab/m' } })).err).not.toContain('not used')
})

it('plugins prices a tool and a topic of one key each by itself, and says that a cordis.yml is there', async () => {
  const plain = await lab.run(['plugins'])
  expect(plain).toMatchObject({ code: 0, err: '' })
  expect(plain.out).toMatch(/tools background ~\d+/)
  expect(plain.out).toMatch(/topics background$|topics background[;,]/m)
  writeFileSync(join(lab.cwd, 'cordis.yml'), '- name: headrace\n')
  expect((await lab.run(['plugins'])).err).toBe('headrace: this is the usual set; there is a cordis.yml here: headrace plugins --app cordis.yml shows its app\n')
})

describe('denied calls', () => {
  const RULE = ', approval: { deny: [\'bash(rm *)\'] }'

  it('the last line tells a rule from nobody being there, and advises --yes only where it helps', async () => {
    const server = await lab.serve(steps([calls(bash({ command: 'rm a.txt' })), 'No.']))
    app(server.url, RULE)
    const ruled = await lab.run(['run', 'Go', '--app', 'app.yml', '--yes'])
    expect(ruled).toMatchObject({ code: 4, err: expect.stringContaining('headrace: 1 call was denied by a rule or a plugin\n') as string })
    const alone = await lab.serve(steps([calls(write('x')), 'No.']))
    expect((await lab.prompt(alone, ['Go'])).err).toContain('headrace: 1 call was denied: nobody was there to allow it (--yes allows what would be asked)\n')
    const both = await lab.serve(steps([calls(bash({ command: 'rm a.txt' }), write('x')), 'No.']))
    app(both.url, RULE)
    expect((await lab.run(['run', 'Go', '--app', 'app.yml'])).err).toContain('headrace: 2 calls were denied: 1 by a rule or a plugin; for 1 nobody was there to allow it (--yes allows what would be asked)\n')
  })

  it('one of a subagent is shown, with its session', async () => {
    const server = await lab.serve((body) => {
      const isDone = toolResults(body).length > 0
      if (said(body, /^You are a subagent/, 'system')) return isDone ? 'Could not.' : calls(write('x'))
      return isDone ? 'Done.' : calls({ name: 'subagent', arguments: { prompt: 'Write.', title: 'Writing' } })
    })
    app(server.url, ', subagent: true')
    const { code, err } = await lab.run(['run', 'Go', '--app', 'app.yml', '--session', 'mine'])
    const all = lines((await lab.run(['sessions', '--json'])).out) as { readonly id: string; readonly under?: string }[]
    const child = all.find(({ under }) => under !== undefined)!.id
    expect(err).toContain(`✗ write in the session ${child}: The call was denied: `)
    expect(err).toContain('headrace: 1 call was denied: nobody was there to allow it')
    expect(code).toBe(4)
  })
})

it('calls of one answer have numbers, and so have their results; a call alone has none', async () => {
  const read = (path: string): object => ({ name: 'read', arguments: { path } })
  const server = await lab.serve(steps([calls(read('a.txt'), read('none')), calls(read('a.txt')), 'ok']))
  const { err } = await lab.prompt(server, ['Go'])
  expect(err).toContain('→ [1] read path="a.txt"\n→ [2] read path="none"\n')
  expect(err).toContain('← [1] read: 1 alpha\n')
  expect(err).toMatch(/✗ \[2\] read: /)
  expect(err).toContain('→ read path="a.txt"\n← read: 1 alpha\n')
})

it('a session whose provider is not there is refused before anything is written, with the hint to give --app', async () => {
  const server = await lab.serve(() => 'ok')
  app(server.url)
  await lab.run(['run', 'Hi', '--app', 'app.yml', '--session', 's'])
  const before = await lab.events('s')
  for (const which of [['--continue'], ['--session', 's']]) {
    const { code, err } = await lab.run(['run', 'Again', ...which])
    expect({ code, err }).toEqual({ code: 2, err: 'headrace: the session\'s model lab/m is of the provider "lab", which the usual set does not have; give the app that has it with --app, or another model with --model\n' })
  }
  expect(await lab.events('s')).toEqual(before)
  expect((await lab.run(['verify', 's', '--wire'])).out).toContain('give the app that has it with --app')
  expect((await lab.run(['verify', 's', '--wire', '--app', 'app.yml'])).out).toContain('1 equal')
})

it('a request that failed is told before the wait for the next one, and once', () => {
  const err = new PassThrough()
  const transcript = new Transcript(new Terminal(new PassThrough(), err, {}))
  const events = [
    { type: 'request/end', data: { error: { message: 'connect ECONNREFUSED' } } }, { type: 'retry/again', data: { delay: 1_200 } }, { type: 'request/dispatch', data: {} },
  ]
  for (const event of events) transcript.event(event as unknown as SessionEvent)
  expect(String(err.read())).toBe('✗ the request failed: connect ECONNREFUSED\n… it goes out again in 1 s\n')
})
