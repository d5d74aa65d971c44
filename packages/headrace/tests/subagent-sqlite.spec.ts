import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Script } from '@headrace/model-server'
import { textOf } from '@headrace/message'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import { type SessionEvent, verify } from '@headrace/session'
import { until } from '@headrace/testing/gate'
import { Lab } from './command.ts'

let lab: Lab
beforeEach(() => void (lab = new Lab()))
afterEach(() => lab.close())

/** One model for both: the agent gives a subagent a task, and goes on with it where a result names its session. */
const script: Script = (body) => {
  const text = JSON.stringify(body)
  const left = /The session ([\w-]+) worked for it/.exec(text)?.[1]
  if (text.includes('You are a subagent')) {
    if (text.includes('Finish.')) return 'All is done.'
    return { text: 'I look first.', toolCalls: [{ name: 'bash', arguments: { command: 'echo up > up.txt; sleep 600' } }] }
  }
  if (text.includes('All is done.')) return 'The end.'
  return { toolCalls: [{ name: 'subagent', arguments: left === undefined ? { prompt: 'Look.' } : { prompt: 'Finish.', session: left } }] }
}

it('a subagent on store-sqlite runs, is killed with its agent, and is continued by it; both logs verify', async () => {
  const server = await lab.serve(script)
  const file = join(lab.root, 'sessions.sqlite')
  writeFileSync(join(lab.cwd, 'cordis.yml'), `- name: '@headrace/plugin-store-sqlite'
  config: { file: ${file} }
- name: headrace
  config: { model: endpoint/scripted, baseURL: '${server.url}', store: false, subagent: true }
`)
  const first = lab.start(['run', 'Go.', '--yes', '--app', 'cordis.yml'])
  await until(() => existsSync(join(lab.cwd, 'up.txt')), 'the subagent to work')
  first.child.kill('SIGKILL')
  await first.ended
  const again = await lab.start(['run', '--continue', '--yes', '--app', 'cordis.yml']).ended
  expect(again, again.err).toMatchObject({ code: 0, out: expect.stringContaining('The end.') as string })

  const store = new SqliteStore({ file, fsync: 'never' })
  const logs = new Map<string, SessionEvent[]>()
  for await (const { id } of store.list()) {
    const events: SessionEvent[] = []
    for await (const batch of store.load(id)) events.push(...batch)
    expect(verify(events).difference, id).toBeUndefined()
    logs.set(id, events)
  }
  await store.close()
  const parents = [...logs.keys()].filter((id) => under(logs.get(id)!) === undefined)
  const children = [...logs.keys()].filter((id) => under(logs.get(id)!) !== undefined)
  expect([parents.length, children.map((id) => under(logs.get(id)!))]).toEqual([1, parents])
  const results = logs.get(parents[0]!)!.filter((event) => event.type === 'tool/result').map(({ data }) => data)
  expect(results).toMatchObject([
    { outcome: 'unknown', details: { kind: 'subagent', session: children[0], reason: 'lost', steps: 1 } },
    { outcome: 'done', details: { kind: 'subagent', session: children[0], reason: 'done' } },
  ])
  expect(results.map(({ message: { content: [block] } }) => textOf(block))).toEqual([
    expect.stringContaining('It said last:\n\nI look first.'), `All is done.\n\n[subagent session ${children[0]}]`,
  ])
})

function under([open]: readonly SessionEvent[]): string | undefined {
  return open?.type === 'session/open' ? open.data.under?.session : undefined
}
