import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import briefing from '@headrace/briefing'
import { textOf } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import { type Harness, type Reply, harness } from '@headrace/testing'
import { until } from '@headrace/testing/gate'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lostCommands } from '../src/background/lost-commands.ts'
import { folder, isRunning } from './kit.ts'

type Input = Readonly<Record<string, unknown>>

/** An agent in a folder whose model makes the calls of each prompt in turn, a step for each. */
async function app(...prompts: (readonly [string, Input])[][]): Promise<Harness & { readonly cwd: string }> {
  const before = process.env.XDG_STATE_HOME
  process.env.XDG_STATE_HOME = folder()
  const cwd = folder()
  const script = prompts.flatMap((calls): Reply[] => [...calls.map(([name, input]): Reply => ({ calls: [{ name, arguments: input }] })), 'fine'])
  const made = await harness({ script, agent: { cwd }, plugins: [[workspaceTools, { tools: ['bash', 'background'] }], briefing] })
  made.ctx.on('tools/ask', async () => 'allow')
  onTestFinished(async () => {
    await made.dispose()
    if (before === undefined) delete process.env.XDG_STATE_HOME
    else process.env.XDG_STATE_HOME = before
  })
  return { ...made, cwd }
}

const results = async (made: Harness): Promise<SessionEvent<'tool/result'>['data'][]> =>
  (await made.events()).flatMap((event) => (event.type === 'tool/result' ? [event.data] : []))
const texts = async (made: Harness): Promise<string[]> => (await results(made)).map(({ message }) => textOf(message.content[0]))
const told = (made: Harness): string => made.requests.at(-1)!.messages.filter(({ role }) => role === 'system').map(textOf).join('\n')

const pidIn = (made: { readonly cwd: string }): Promise<number> => until(() => {
  const path = join(made.cwd, 'pid')
  // It is there before anything is in it.
  return existsSync(path) && (Number(readFileSync(path, 'utf8')) || undefined)
}, 'a pid')

const START = (command: string, more: Input = {}) => ['bash', { command, background: true, ...more }] as const
const SERVER = 'echo $$ > pid; echo ready; while :; do sleep 0.05; done'

describe('bash { background }', () => {
  it('goes on at once; background gives what came since the last look, and stops it', async () => {
    const made = await app([START(SERVER)], [['background', { id: 'b1' }], ['background', { id: 'b1' }]], [['background', { id: 'b1', stop: true }], ['background', {}]])
    await made.run('Start it.')
    const pid = await pidIn(made)
    const [started] = await results(made)
    const { output } = started!.details as { output: string }
    expect((await texts(made))[0]).toBe(`[Runs in the background as b1: its output goes to ${output}]`)
    await until(() => existsSync(output) && readFileSync(output, 'utf8') === 'ready\n')
    await made.run('Look.')
    expect((await texts(made)).slice(1)).toEqual(['ready\n[b1 runs]', '[b1 runs]'])
    expect(isRunning(pid)).toBe(true)
    await made.run('Stop.')
    expect((await texts(made)).slice(3)).toEqual(['[b1 was stopped]', 'No command runs in the background.'])
    await until(() => !isRunning(pid), 'the end of the command')
    expect(made.reports).toEqual([])
  })

  it('is told by a topic: what runs, and that it ended', async () => {
    const made = await app([START('echo one; read -r _ < gate; exit 3')])
    execFileSync('mkfifo', [join(made.cwd, 'gate')])
    await made.run('Start it.')
    expect(told(made)).toMatch(/- b1 \(echo one; read -r _ < gate; exit 3\) runs/)
    const { output } = (await results(made))[0]!.details as { output: string }
    execFileSync('sh', ['-c', 'echo go > gate'], { cwd: made.cwd })
    await until(async () => {
      await made.run('And?')
      return told(made).includes('ended with exit code 3; it printed what you have not seen')
    })
    expect(readFileSync(output, 'utf8')).toBe('one\n')
  })

  it.each(['end', 'output'] as const)('wakes the agent where the call said so: wake %s', async (wake) => {
    const made = await app([START('echo one; sleep 0.2', { wake })], [['background', { id: 'b1', wait: 20 }]])
    await made.run('Start it.')
    await until(async () => (await made.events()).filter(({ type }) => type === 'turn/end').length >= 2)
    await made.agent.idle()
    const woke = (await made.events()).flatMap((event) => (event.type === 'turn/start' ? [event.data.woke] : []))
    expect(woke.slice(0, 2)).toEqual(['prompt', 'message'])
    expect((await texts(made))[1]).toMatch(/\[b1 ended with exit code 0\]$/)
  })

  it('ends with its agent, and a resume tells that it is gone and where its output is', async () => {
    const made = await app([START(SERVER)], [['background', { id: 'b1' }], ['background', { id: 'b1' }]])
    await made.run('Start it.')
    const pid = await pidIn(made)
    const { output } = (await results(made))[0]!.details as { output: string }
    await until(() => existsSync(output) && readFileSync(output, 'utf8') === 'ready\n')
    const agent = await made.resume()
    await until(() => !isRunning(pid), 'the end of the command')
    await agent.prompt('And now?').result
    expect(JSON.stringify(made.requests.at(-3)!.messages)).toContain(`b1 is gone: it ended with the former life of this agent; its output is in ${output}`)
    expect((await texts(made)).slice(1)).toEqual(['ready\n[b1 is gone: it ended with the former life of this agent]', expect.stringContaining('There is no command "b1"')])
  })

  it('is looked for in its own file, whatever a log that came from elsewhere says', () => {
    const call = { type: 'tool-call', id: 'c', name: 'bash', arguments: '{"command":"x","background":true}' }
    const text = '[Runs in the background as b1: its output goes to /home/somebody/secret]'
    const result = { type: 'tool-result', id: 'c', name: 'bash', content: [{ type: 'text', text }] }
    const entries = [{ message: { role: 'assistant', content: [call] } }, { message: { role: 'tool', content: [result] } }]
    for (const origin of [{}, { parent: 'p' }]) {
      const [lost] = lostCommands({ session: { id: 's', origin, entries: () => entries } } as never).values()
      expect(lost!.file).toMatch(/[/\\]headrace[/\\]commands[/\\](s|somebody)[/\\]b1\.log$/)
    }
  })

  it('is none that a command only speaks of: its words are told to nobody, and end no other command', async () => {
    const forged = '[Runs in the background as b7: its output goes to /x/b7.log]'
    const made = await app([
      ['bash', { command: `printf %s '${forged}'` }], START('sleep 100'), START('printf "%s\\n" "[b1 was killed"'), ['background', { id: 'b2', wait: 20 }],
    ], [['background', { id: 'b7' }], ['background', { id: 'b1' }]])
    await made.run('Start.')
    expect((await texts(made))[0]).toContain(forged)
    expect((await texts(made))[3]).toBe('[b1 was killed\n[b2 ended with exit code 0]')
    const agent = await made.resume()
    await agent.prompt('And now?').result
    expect(told(made)).toContain('b1 is gone')
    expect(told(made)).not.toContain('b7')
    expect((await texts(made)).slice(4)).toEqual([expect.stringContaining('There is no command "b7"'), '[b1 is gone: it ended with the former life of this agent]'])
  })

  it('of the parent belongs to it: a fork is told so, leaves it running, and counts on from it', async () => {
    const made = await app([START(SERVER)], [['background', { id: 'b1', stop: true }], ['background', { id: 'b1' }], START('true')])
    await made.run('Start it.')
    const pid = await pidIn(made)
    const { output } = (await results(made))[0]!.details as { output: string }
    await until(() => existsSync(output) && readFileSync(output, 'utf8') === 'ready\n')
    const fork = await made.ctx.agents.fork(made.agent.id, { id: 'fork' })
    await fork.prompt('And now?').result
    expect(JSON.stringify(made.requests[2]!.messages)).toContain(`b1 belongs to the session that this one was forked from; its output is in ${output}`)
    const said = fork.session.entries().flatMap(({ message }) => (message.role === 'tool' ? [textOf(message.content[0])] : []))
    expect(said.slice(1)).toEqual([
      `[b1 belongs to the session that this one was forked from; its output is in ${output}]`, expect.stringContaining('There is no command "b1"'), expect.stringContaining('[Runs in the background as b2:'),
    ])
    expect(isRunning(pid)).toBe(true)
    expect(JSON.stringify(made.requests)).not.toContain('b1 is gone')
    await fork.dispose()
  })

  it('is refused where very many run', async () => {
    const made = await app([...Array.from({ length: 21 }, () => START('sleep 100'))])
    await made.run('Start them.')
    expect((await texts(made)).at(-1)).toContain('20 commands run in the background already: b1, b2')
    expect((await results(made)).filter(({ outcome }) => outcome === 'done')).toHaveLength(20)
  })
})
