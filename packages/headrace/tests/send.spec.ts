import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ModelServer, said, turnOf } from '@headrace/model-server'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import type { SessionEvent } from '@headrace/session'
import { until } from '@headrace/testing/gate'
import { Lab, at, lines } from './command.ts'

let lab: Lab
beforeEach(() => { lab = new Lab() })
afterEach(() => lab.close())

const base = ({ url }: ModelServer): string[] => ['--base-url', url]

const typed = async (type: SessionEvent['type'], id = 's'): Promise<readonly SessionEvent[]> => (await lab.events(id)).filter((event) => event.type === type)

it('runs the session where nobody does, and shows it as run does', async () => {
  const server = await lab.serve((body) => `turn ${turnOf(body).number}`)
  await lab.prompt(server, ['one', '--session', 's'])
  const { code, out, err } = await lab.run(['send', 'last', 'And', 'two?', ...base(server)])
  expect({ code, out }).toEqual({ code: 0, out: 'turn 2\n' })
  expect(err).toMatch(/^session s, continued\n1 step( · [^\n]*)? · session s\n$/)
  expect(await typed('prompt/queued')).toMatchObject([{}, { data: { owner: 'user', letter: expect.any(String) } }])
  expect((await lab.run(['verify', 's'])).out).toMatch(/^ok: 2 requests/)
})

it('--json prints what was sent, each event of the turn, and a result; a key that was sent before sends nothing again', async () => {
  const server = await lab.serve((body) => `turn ${turnOf(body).number}`)
  await lab.prompt(server, ['one', '--session', 's'])
  const first = lines((await lab.run(['send', 's', 'two', '--key', 'k', '--json', ...base(server)])).out)
  expect(first[0]).toEqual({ type: 'sent', session: 's', letter: expect.any(String) })
  expect(first.at(-1)).toMatchObject({ type: 'result', session: 's', reason: 'done', text: 'turn 2', turns: 1 })
  expect(first.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', text: 'turn 2' }])
  expect(first.filter((line) => 'seq' in line).map(({ type }) => type)).toEqual(expect.arrayContaining(['turn/start', 'assistant/message', 'turn/end']))
  const again = lines((await lab.run(['send', 's', 'two', '--key', 'k', '--json', ...base(server)])).out)
  expect(again).toMatchObject([{ type: 'sent', repeated: true }, { type: 'result', reason: 'done', text: 'turn 2' }])
  expect(server.requests).toHaveLength(2)
})

it('--no-wait leaves it, and says that nobody runs the session; run --continue takes it', async () => {
  const server = await lab.serve((body) => `turn ${turnOf(body).number}`)
  await lab.prompt(server, ['one', '--session', 's'])
  expect(await lab.run(['send', 's', 'two', '--no-wait'])).toEqual({
    code: 0, out: '', err: 'headrace: sent to session s; nobody runs it: headrace run --session s --continue does\n',
  })
  expect(server.requests).toHaveLength(1)
  expect((await lab.prompt(server, ['--continue'])).out).toBe('turn 2\n')
  expect(await new JsonlStore({ directory: lab.sessions, fsync: 'never' }).letters('s')).toEqual([])
})

it('what another process runs is steered there, once, and its answer is printed here', async () => {
  const server = await lab.serve((body, { index }) => (index === 0
    ? { text: 'I look.', toolCalls: [{ name: 'bash', arguments: { command: 'until test -e go; do read -t 0.05 -r < /dev/zero; done; echo gone' } }] }
    : `You said ${said(body, /left|right/)?.[0]}.`))
  const first = lab.start(['run', 'Go.', '--session', 's', '--yes', ...at(server)])
  await lab.asked(server)
  const other = lab.start(['send', 's', 'Turn left.', '--steer'])
  await until(async () => (await typed('prompt/queued')).length === 2)
  expect((await lab.run(['send', 's', 'x', '--no-wait', '--json'])).out).toContain('"holder":"pid ')
  await lab.run(['send', 's', 'y', '--no-wait'])
  writeFileSync(join(lab.cwd, 'go'), '')
  expect(await other.ended).toMatchObject({ code: 0, out: 'You said left.\n', err: expect.stringMatching(/^session s, run by pid /) })
  expect(await first.ended).toMatchObject({ code: 0 })
  const steers = (await typed('prompt/queued')).filter(({ data }) => (data as { steer?: true }).steer)
  expect(steers).toHaveLength(1)
  expect(await typed('turn/end')).toHaveLength(3)
})

it('Ctrl-C cancels the turn where this command runs it; where another does, that one goes on', async () => {
  const server = await lab.serve((_, { index }) => (index === 1 ? { reasoning: 'I think', text: 'cut', stallAfter: 2 } : 'done'))
  await lab.prompt(server, ['one', '--session', 's'])
  const first = lab.start(['send', 's', 'two', ...base(server)])
  await first.seen(/I think/)
  const other = lab.start(['send', 's', 'three', '--key', 'k'])
  await other.seen(/run by pid /)
  await until(async () => (await typed('prompt/queued')).length === 3)
  other.child.kill('SIGINT')
  expect(await other.ended).toMatchObject({ code: 130, out: '', err: expect.stringContaining('it goes on where it runs') })
  first.child.kill('SIGINT')
  expect(await first.ended).toMatchObject({ code: 130, err: expect.stringContaining('cancelled with Ctrl-C') })
  expect((await typed('turn/end')).map(({ data }) => (data as { reason: string }).reason).slice(0, 2)).toEqual(['done', 'cancelled'])
  expect(await lab.prompt(server, ['--continue'])).toMatchObject({ code: 0 })
  expect(await typed('turn/end')).toHaveLength(3)
})

it('--app runs the session in an app of a file, which may have the desk itself', async () => {
  const server = await lab.serve((body) => `turn ${turnOf(body).number}`)
  for (const [index, more] of [[], ["- name: '@headrace/desk'"]].entries()) {
    writeFileSync(join(lab.cwd, 'cordis.yml'), [
      "- name: '@headrace/agent'", ...more, "- name: '@headrace/plugin-store-jsonl'", '  config: { directory: ./logs }',
      "- name: '@headrace/plugin-models'", `  config: { providers: { own: { baseURL: '${server.url}' } } }`, '',
    ].join('\n'))
    if (index === 0) expect(await lab.run(['run', 'one', '--app', 'cordis.yml', '--session', 's', '--model', 'own/scripted'])).toMatchObject({ code: 0 })
    expect(await lab.run(['send', 's', 'more', '--app', 'cordis.yml'])).toMatchObject({ code: 0, out: `turn ${index + 2}\n` })
  }
})

it('without a prompt, without a session: it says what to type', async () => {
  const server = await lab.serve(() => 'ok')
  expect(await lab.run(['send', 'last', 'Hi'])).toMatchObject({ code: 1, err: expect.stringContaining('there is no session of') })
  await lab.prompt(server, ['one', '--session', 's'])
  expect(await lab.run(['send', 's'])).toMatchObject({ code: 2, err: expect.stringContaining('there is no prompt') })
  expect(await lab.run(['send', 'nobody', 'Hi', ...base(server)])).toMatchObject({ code: 1, err: expect.stringContaining('there is no session "nobody"') })
})
