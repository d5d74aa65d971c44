import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'
import { until } from '@headrace/testing/gate'
import { callsOf, textOf } from '@headrace/message'
import { JsonlStore, readLog } from '@headrace/plugin-store-jsonl'
import { FORMAT, type SessionEvent, checkEvent, unpaired, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'

/** The rows of "Log and resume": small inputs that broke other systems. Locks across processes are tested by L18, kills by test/crash. */

let directory: string
beforeEach(async () => { directory = await mkdtemp(join(tmpdir(), 'headrace-log-')) })
afterEach(() => removeFolder(directory))

const file = (): string => join(directory, 'test.jsonl')
const store = (): JsonlStore => new JsonlStore({ directory, fsync: 'never' })
const app = (options: HarnessOptions = {}): Promise<Harness> => harness({ store: store(), ...options })

/** A session of two turns, ended; its file as bytes. */
async function recorded(): Promise<Buffer> {
  const h = await app({ script: ['one', 'two'] })
  await h.run('a')
  await h.run('b')
  await h.dispose()
  return readFile(file())
}

let others = 0
/** Resumes what stands in the file, in an app of its own. */
async function reopened(options: HarnessOptions = {}): Promise<Harness> {
  const h = await harness({ store: store(), agent: { id: `other-${others++}` }, ...options })
  await h.ctx.agents.resume('test')
  return h
}

const historyOf = (h: Harness): readonly string[] => h.ctx.agents.get('test')!.session.deriveMessages().map(textOf)

async function read(path = file()): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of readLog(path)) events.push(...batch)
  return events
}

describe('an end that is torn', () => {
  it.each([
    ['half a record without a line end', Buffer.from('{"a":1')], ['half a UTF-8 character', Buffer.from([...Buffer.from('{"seq":99,"time":1,"type":"x","data":{"t":"'), 0xf0, 0x9f])],
    ['NUL bytes, as after a power cut', Buffer.alloc(300)],
  ])('%s: dropped and reported; the next append is not glued to it', async (_what, tail) => {
    const whole = await recorded()
    await writeFile(file(), Buffer.concat([whole, tail]))
    const lease = await store().lease('test')
    expect(lease.repaired).toMatchObject({ offset: whole.length, bytes: tail.length })
    await lease.release()
    const h = await reopened()
    expect(historyOf(h)).toEqual(['a', 'one', 'b', 'two'])
    await h.ctx.agents.get('test')!.prompt('c').result
    await h.dispose()
    expect(verify(await read()).difference).toBeUndefined()
    expect((await readFile(file())).subarray(0, whole.length)).toEqual(whole)
  })

  it('a header only, an empty file, no final newline: opened, or said that nothing was acknowledged', async () => {
    const whole = (await recorded()).toString()
    await writeFile(file(), whole.slice(0, whole.indexOf('\n') + 1))
    const h = await reopened()
    expect(historyOf(h)).toEqual([])
    await h.dispose()
    await writeFile(file(), whole.slice(0, -1))
    const again = await reopened()
    expect(historyOf(again)).toHaveLength(4)
    await again.dispose()
    await writeFile(file(), '')
    await expect(reopened()).rejects.toThrow(/nothing was acknowledged/)
  })
})

it.each<[string, (lines: readonly string[]) => string]>([
  ['a bad line', (lines) => [...lines.slice(0, 3), '{"seq":3,', ...lines.slice(4)].join('\n')],
  ['two records on one line', (lines) => [...lines.slice(0, 3), lines[3]! + lines[4]!, ...lines.slice(5)].join('\n')],
  ['300 NUL bytes', (lines) => [...lines.slice(0, 3), '\0'.repeat(300), ...lines.slice(3)].join('\n')],
])('%s in the middle: refused with offset and line; never a silent stop, never a blank history', async (_what, damage) => {
  const lines = (await recorded()).toString().split('\n')
  const damaged = damage(lines)
  await writeFile(file(), damaged)
  await expect(reopened()).rejects.toThrow(/line 4.*(offset|byte) \d+/s)
  expect((await readFile(file())).toString()).toBe(damaged)
  const salvaged: SessionEvent[] = []
  await expect((async () => { for await (const batch of readLog(file())) salvaged.push(...batch) })()).rejects.toThrow(/salvage/)
  expect(salvaged.length).toBeGreaterThanOrEqual(3)
})

it('U+2028, U+2029 and U+0085 inside a string: one record; lines end at \\n and nothing else', async () => {
  const text = 'a\u2028b\u2029c\u0085d'
  const h = await app()
  await h.run(text)
  await h.dispose()
  const again = await reopened()
  expect(historyOf(again)[0]).toBe(text)
  await again.dispose()
  expect(verify(await read()).difference).toBeUndefined()
})

it('a steer during a tool step, then compaction up to that step\'s result: the steer is still there', async () => {
  const h = await app({ script: (_request, index) => (index === 0 ? { calls: [{ name: 'slow' }] } : 'ok') })
  h.ctx.tools.define({ name: 'slow', description: '', parameters: { type: 'object' }, execute: (_input, { agent }) => { void h.agent.steer('Mind the gap.'); return agent.id } })
  await h.run('Go')
  await h.agent.idle()
  const entries = h.agent.session.entries()
  const result = entries.findIndex(({ message }) => message.role === 'tool')
  h.agent.replace(entries[0]!.id, entries[result]!.id, ['Summary.'], { reason: 'test' })
  expect(h.agent.session.entries().map(({ message }) => textOf(message))).toContain('Mind the gap.')
  expect((await h.verify()).difference).toBeUndefined()
  await h.dispose()
})

it('kill while one call waits for permission and another has its result: not started for the first; the second\'s result is there', async () => {
  const h = await app({ script: (_request, index) => (index === 0 ? { calls: [{ name: 'missing' }, { name: 'asks' }] } : 'ok') })
  h.ctx.tools.define({ name: 'asks', description: '', parameters: { type: 'object' }, ask: true, execute: () => 'ran' })
  h.ctx.on('tools/ask', () => new Promise(() => undefined))
  h.agent.prompt('Go')
  await until(async () => (await read()).some((event) => event.type === 'tool/result'))
  // What a kill leaves is the file as it stands now.
  const bytes = await readFile(file())
  await h.dispose()
  await writeFile(file(), bytes)
  const again = await reopened()
  const results = again.ctx.agents.get('test')!.session.deriveMessages().filter((message) => message.role === 'tool').map((message) => JSON.stringify(message))
  expect(results[0]).toContain('There is no tool')
  expect(results[1]).toContain('was not started')
  await again.dispose()
})

describe('a log that is refused, with the reason', () => {
  const line = (event: object): string => `${JSON.stringify(event)}\n`
  const open = { seq: 0, time: 1, type: 'session/open', data: { ...FORMAT, id: 'test' } }
  const note = (seq: number): object => ({ seq, time: 1, type: 'context/message', data: { message: { role: 'system', content: [{ type: 'text', text: 'x' }] }, owner: 'app' } })

  it.each<[string, readonly object[], RegExp]>([
    ['a gap', [open, note(1), note(3)], /seq 3 stands where 2 comes next: events are missing/], ['a duplicate', [open, note(1), note(1)], /seq 1 stands where 2 comes next: events stand twice/], ['a step back', [open, note(1), note(2), note(1)], /seq 1 stands where 3 comes next/],
    ['a future version', [{ ...open, data: { ...open.data, version: 3 } }], /version 3 of the format, made by a newer headrace/],
    ['an unknown required type', [open, { seq: 1, time: 1, type: 'future/thing', data: {}, required: true }], /future\/thing.*required/],
  ])('%s', async (_what, events, reason) => {
    await writeFile(file(), events.map(line).join(''))
    await expect(reopened()).rejects.toThrow(reason)
  })

  it('but an unknown type that is not required is skipped', async () => {
    await writeFile(file(), [open, { seq: 1, time: 1, type: 'plugin/thing', data: { x: 1 } }, note(2)].map(line).join(''))
    const h = await reopened()
    expect(historyOf(h)).toEqual(['x'])
    await h.dispose()
  })
})

describe('calls without results, at the end of a log that was cut off', () => {

  async function cut(results: number, started: number): Promise<readonly string[]> {
    const h = await app({ script: ['never', { calls: ['a', 'b', 'c'].map((name) => ({ name })) }, 'over'] })
    await h.run('warm up')
    await h.run('Go')
    await h.dispose()
    const whole = await read()
    const at = whole.findLastIndex((event) => event.type === 'assistant/message' && callsOf(event.data.message).length === 3)
    const answer = whole[at] as SessionEvent<'assistant/message'>
    const ids = callsOf(answer.data.message).map(({ id }) => id)
    const events = whole.slice(0, at + 1)
    let seq = events.length
    const add = (type: string, data: object): void => void events.push(checkEvent({ seq: seq++, time: 1, type, data }))
    const assistant = answer.seq
    for (let index = 0; index < started; index++) add('tool/start', { assistant, index })
    for (let index = 0; index < results; index++) add('tool/result', { assistant, index, outcome: 'done', message: { role: 'tool', content: [{ type: 'tool-result', id: ids[index], name: 'abc'[index], content: [{ type: 'text', text: 'done' }] }] } })
    await writeFile(file(), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    const again = await reopened({ script: ['and on'] })
    await again.ctx.agents.get('test')!.idle()
    const request = again.requests.at(-1)!
    expect(unpaired(request.messages)).toBeUndefined()
    const told = request.messages.flatMap((message) => (message.role === 'tool' ? [message.content[0].content.map((block) => (block.type === 'text' ? block.text : '')).join('')] : []))
    await again.dispose()
    // Durable, and not repaired twice.
    const after = await read()
    expect(verify(after).difference).toBeUndefined()
    return told
  }

  it.each<[string, number, number, readonly RegExp[]]>([
    ['three calls, none started', 0, 0, [/not started/, /not started/, /not started/]], ['three calls, one result', 1, 3, [/^done$/, /unknown/, /unknown/]], ['all results', 3, 3, [/^done$/, /^done$/, /^done$/]],
  ])('%s: repaired by position, honestly, durably; the next request is well-formed', async (_what, results, started, expected) => {
    const told = await cut(results, started)
    expect(told).toHaveLength(3)
    for (const [index, pattern] of expected.entries()) expect(told[index]).toMatch(pattern)
  })

  it('a result without its call is refused', async () => {
    const whole = await recorded()
    const seq = (await read()).length
    const stray = { seq, time: 1, type: 'tool/result', data: { assistant: 1, index: 0, outcome: 'done', message: { role: 'tool', content: [{ type: 'tool-result', id: 'x', name: 'y', content: [] }] } } }
    await writeFile(file(), Buffer.concat([whole, Buffer.from(`${JSON.stringify(stray)}\n`)]))
    await expect(reopened()).rejects.toThrow(/no call 0 of message 1/)
  })
})
