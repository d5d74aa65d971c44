import { afterEach, beforeEach, expect, it } from 'vitest'
import { steps } from '@headrace/model-server'
import { until } from '@headrace/testing/gate'
import { Lab, at } from './command.ts'

let lab: Lab
beforeEach(() => { lab = new Lab() })
afterEach(() => lab.close())

it('Ctrl-C cancels the turn, keeps what was said, gives the session back, and ends with 130', async () => {
  const server = await lab.serve(() => ({ text: 'I begin', stallAfter: 1 }))
  const { child, ended, seen } = lab.start(['run', 'Hi', '--json', ...at(server)])
  await seen(/"I begin"/)
  child.kill('SIGINT')
  const { code, out, err } = await ended
  expect(code).toBe(130)
  expect(JSON.parse(out.trimEnd().split('\n').at(-1)!)).toMatchObject({ type: 'result', reason: 'cancelled', text: 'I begin' })
  expect(err).toContain('headrace: cancelling the turn; Ctrl-C once more leaves at once\n')
  const events = await lab.events()
  expect(events.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'cancelled' } })
  expect(events.find(({ type }) => type === 'assistant/message')?.data).toMatchObject({ interrupted: true })
  expect(lab.files().filter((name) => name.includes('.lock'))).toEqual([])
})

it('a second Ctrl-C leaves at once, though a command of the agent does not end; --continue says that its outcome is unknown, and goes on', async () => {
  const server = await lab.serve(steps([{ toolCalls: [{ name: 'bash', arguments: { command: 'trap "" TERM INT; echo up > up.txt; sleep 30; sleep 30' } }] }, 'Looked again.']))
  const { child, ended, seen } = lab.start(['run', 'Hi', '--yes', ...at(server)])
  await until(() => lab.read('up.txt') === 'up\n')
  child.kill('SIGINT')
  await seen(/Ctrl-C once more leaves at once/)
  child.kill('SIGINT')
  // With the grace that a cancel gives the command, the outcome below would be another one.
  expect((await ended).code).toBe(130)
  const { code, out, err } = await lab.prompt(server, ['--continue'])
  expect({ code, out }).toEqual({ code: 0, out: 'Looked again.\n' })
  expect(err).toContain('✗ bash was running when it was cut off: its outcome is unknown, and it is not run again\n')
  expect((await lab.events()).find(({ type }) => type === 'tool/result')?.data).toMatchObject({ outcome: 'unknown' })
})

it('SIGTERM cancels and leaves cleanly: the log is whole and its lease is back', async () => {
  const server = await lab.serve(() => ({ hang: true }))
  const { child, ended } = lab.start(['run', 'Hi', ...at(server)])
  await lab.asked(server)
  child.kill('SIGTERM')
  expect((await ended).code).toBe(130)
  expect((await lab.events()).at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'cancelled' } })
  expect(lab.files()).toHaveLength(1)
  expect(await lab.prompt(server, ['--continue'])).toMatchObject({ code: 0, err: expect.stringContaining('nothing is left open') })
})

it('a prompt that is queued behind a cancelled turn waits for --continue', async () => {
  const server = await lab.serve((_, { index }) => (index === 0 ? { hang: true } : 'answered'))
  const first = lab.start(['run', 'one', '--session', 's', ...at(server)])
  await lab.asked(server)
  first.child.kill('SIGKILL')
  await first.ended
  const hung = await lab.serve(() => ({ hang: true }))
  const second = lab.start(['run', 'two', '--session', 's', ...at(hung)])
  await lab.asked(hung)
  second.child.kill('SIGINT')
  expect((await second.ended).code).toBe(130)
  expect((await lab.prompt(server, ['--continue'])).out).toBe('answered\n')
})

it('whoever reads the answer may leave: the turn is cancelled, and nothing crashes', async () => {
  // What a program reads is an answer, so whether it still reads is seen with the next one.
  const server = await lab.serve(() => ({ text: 'word', toolCalls: [{ name: 'read', arguments: { path: 'a.txt' } }], delay: 20 }))
  const { child, ended, seen } = lab.start(['run', 'Hi', ...at(server)])
  await seen(/word/)
  child.stdout!.destroy()
  const { code, err } = await ended
  expect(code).toBe(130)
  expect(err).not.toMatch(/EPIPE|\n {4}at /)
  expect((await lab.events()).at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'cancelled' } })
})
