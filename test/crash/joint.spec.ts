import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ChatBody, type Reply, type Script, said, toolResults } from '@headrace/model-server'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { type SessionCard, type SessionEvent, verify } from '@headrace/session'
import { afterEach, describe, expect, it } from 'vitest'
import { Lab, type Running } from '../../packages/headrace/tests/command.ts'
import { amount } from '../scale.ts'

const KILLS = amount(2, 10)
/** A kill at each of so many requests. Each life comes a step further, and what a kill cut off is done again. */
const APART = 2
const FIRST = amount(5, 2)

const MCP = fileURLToPath(new URL('../../plugins/mcp/tests/fixtures/server.mjs', import.meta.url))

/** One file with all of it: an MCP server, skills, rules for tools, tasks, subagents. */
const app = (url: string, folder: string): string => `
- name: headrace
  config:
    model: lab/m
    providers: { lab: { baseURL: ${url} } }
    tasks: true
    subagent: { user: false }
    skills: { user: false }
    approval: { allow: ['bash(cp left.txt sum.txt)', lab__echo], deny: [write] }
    mcp: { mcpServers: { lab: { command: ${JSON.stringify(process.execPath)}, args: ${JSON.stringify([MCP, folder])} } } }
`

const WORDS = ['left', 'right'] as const
const LIST = ['look', 'count', 'write']
const call = (name: string, args: object) => ({ name, arguments: args })
const list = (done: boolean) => call('tasks', { tasks: LIST.map((content) => ({ content, status: done ? 'completed' : 'pending' })) })

/**
 * What the model says next, by what its conversation has: a call whose outcome is unknown is made again, a subagent that was cut off is
 * gone on with.
 */
function next(body: ChatBody): Reply | string {
  const word = said(body, /(?:Count|Go on with) (left|right)/)?.[1]
  if (said(body, /^You are a subagent/, 'system')) {
    const read = toolResults(body, { prompt: /^(Count|Go on)/ }).some(({ name, text }) => name === 'read' && !/unknown/.test(text))
    return read ? `${word} has 3 lines.` : { text: `I read ${word}.`, toolCalls: [call('read', { path: `${word}.txt` })] }
  }
  const results = toolResults(body, { prompt: /^Do the job/ })
  const sound = (tool: string) => results.filter(({ name, text }) => name === tool && !/outcome is unknown|not started/.test(text))
  if (sound('skill').length === 0) return { toolCalls: [call('skill', { name: 'count' })] }
  if (sound('tasks').length === 0) return { toolCalls: [list(false)] }
  if (sound('lab__echo').length === 0) return { toolCalls: [call('lab__echo', { text: 'from a server' })] }
  const reports = results.filter(({ name }) => name === 'subagent')
  const open = WORDS.filter((side) => !reports.some(({ text }) => text.includes(`${side} has 3 lines.`)))
  if (open.length > 0) {
    return { toolCalls: open.map((side) => {
      const cut = reports.filter((report) => report.arguments.includes(side)).map(({ text }) => /The session (\S+) worked for it: it was cut off/.exec(text)?.[1])
      const session = cut.findLast((id) => id !== undefined)
      return call('subagent', session === undefined ? { prompt: `Count ${side}.`, title: `Count ${side}` } : { prompt: `Go on with ${side}.`, session })
    }) }
  }
  if (sound('bash').length === 0) return { toolCalls: [call('bash', { command: 'cp left.txt sum.txt' }), call('write', { path: 'right.txt', content: '' })] }
  if (!sound('tasks').some(({ text }) => text.includes('3 of 3'))) return { toolCalls: [list(true)] }
  return 'It is six.'
}

async function logOf(store: JsonlStore, id: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of store.load(id)) events.push(...batch)
  return events
}

describe('a job with an MCP server, skills, rules, tasks and subagents in one file', () => {
  let lab: Lab
  afterEach(() => lab.close())

  it(`is finished by --continue after ${KILLS} kills, and every log verifies`, async () => {
    lab = new Lab()
    const kills = new Set(Array.from({ length: KILLS }, (_, index) => FIRST + index * APART))
    let running: Running | undefined
    let asked = 0
    const script: Script = (body) => {
      if (!kills.has(++asked)) return next(body)
      running!.child.kill('SIGKILL')
      return { hang: true }
    }
    const server = await lab.serve(script)
    for (const word of WORDS) writeFileSync(join(lab.cwd, `${word}.txt`), 'a\nb\nc\n')
    mkdirSync(join(lab.cwd, '.agents/skills/count'), { recursive: true })
    writeFileSync(join(lab.cwd, '.agents/skills/count/SKILL.md'), '---\nname: count\ndescription: How to count.\n---\nLine by line.\n')
    writeFileSync(join(lab.cwd, 'app.yml'), app(server.url, lab.root))

    const codes: (number | NodeJS.Signals)[] = []
    let out = ''
    for (let life = 0; life <= KILLS && typeof codes.at(-1) !== 'number'; life++) {
      const args = ['run', ...(life === 0 ? ['Do the job.'] : ['--continue']), '--app', 'app.yml']
      // Only a process that is to be killed is one of its own.
      if (life < KILLS) running = lab.start(args)
      const ended = await (life < KILLS ? running!.ended : lab.run(args))
      codes.push(ended.code)
      out = `${ended.out}\n${ended.err}`
    }
    // 4 where the life that was not killed had the call that a rule denies.
    const left = expect.toBeOneOf([0, 4]) as number
    expect(codes, out).toEqual([...Array.from({ length: KILLS }, () => 'SIGKILL'), left])
    expect(out).toContain('It is six.')
    // What a rule allows was done, what one denies was not; nobody was asked.
    expect([lab.read('sum.txt'), lab.read('right.txt')]).toEqual(['a\nb\nc\n', 'a\nb\nc\n'])
    expect(server.refused).toEqual([])

    const store = new JsonlStore({ directory: lab.sessions, fsync: 'barrier' })
    const cards: SessionCard[] = []
    for await (const card of store.list()) cards.push(card)
    for (const { id, state, error } of cards) {
      expect([error, state], id).toEqual([undefined, 'idle'])
      expect(verify(await logOf(store, id)).difference, id).toBeUndefined()
    }
    const decided = (await Promise.all(cards.map(({ id }) => logOf(store, id)))).flat().flatMap(({ type, data }) => (type === 'approval/decided' ? [data.rule] : []))
    expect(new Set(decided)).toEqual(new Set(['approval/lab__echo', 'approval/bash(cp left.txt sum.txt)', 'approval/write']))
    const [parent, ...others] = cards.filter(({ open }) => !open?.under)
    expect(others).toEqual([])
    // Those that a kill left are gone on with: there is no third.
    expect(cards.filter(({ open }) => open?.under?.session === parent!.id)).toHaveLength(2)
  }, 240_000 + KILLS * 60_000)
})
