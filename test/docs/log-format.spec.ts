import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from 'cordis'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { RunContext } from '@headrace/run-context'
import { CORE_TYPES, REQUIRED_TYPES, type SessionEvent, verify } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { harness } from '@headrace/testing'
import { root } from '../rules/workspace.ts'
import { life, live } from '../theorem/world.ts'
import { badLines, readEvents, readRequests } from './reader.mjs'

declare module '@headrace/session' {
  interface EventMap {
    'note/turn': object
  }
}

const page = readFileSync(`${root}docs/log-format.md`, 'utf8')
const cells = (line: string): readonly string[] => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim())
/** The rows of the table below a line of headings, by their first cell. */
const table = (headings: string): ReadonlyMap<string, string> => {
  const [, below] = page.split(`${headings}\n`)
  return new Map(below!.split('\n\n')[0]!.split('\n').slice(1).map((line) => [cells(line)[0]!, cells(line)[1]!] as const))
}

/** What the parts of a request are, whoever rebuilt it. */
interface Parts {
  readonly config: object
  readonly system?: string
  readonly tools?: object
  readonly prefix: object[]
  readonly before: object[]
  readonly history: object[]
  readonly after: object[]
}
const textOf = ({ config, system, tools, messages }: Pick<Parts, 'config' | 'system' | 'tools'> & { readonly messages: readonly object[] }): string =>
  JSON.stringify([config, system ?? null, tools ?? null, messages])
const partsOf = (parts: Parts): string =>
  textOf({ ...parts, messages: [...parts.prefix, ...parts.before, ...parts.history, ...parts.after] })

/** A plugin of everything that a log can tell of. */
const everything = { name: 'everything', inject: ['agents', 'tools', 'system'], apply: async (ctx: Context) => {
  let count = 0
  ctx.system.section({ key: 'who', content: () => `Line one\nwidth: ${count++ >> 2}\nlast "line" \u2028 \u0001` })
  ctx.agents.prefix({ key: 'opener', content: () => 'An opener.' })
  ctx.agents.before({ key: 'frame', content: () => count % 3 === 0 ? undefined : 'Framing.' })
  ctx.agents.after({ key: 'state', content: () => `State ${count}.` })
  for (const name of ['b', 'a', 'B', 'a-1']) ctx.tools.define({ name, description: `Tool ${name}.`, parameters: { type: 'object', properties: { z: {}, a: {} } }, execute: () => `é ${name}: 1e21 🙂` })
  ctx.on('tools/post-execute', async (_agent, _turn, call, _outcome, next) => ({ additionalContext: [...(await next()).additionalContext, `After ${call.name}.`, 'And again.'] }))
  ctx.on('agent/request-error', async (_agent, _turn, step, _failure, next) => step.attempt === 1 ? { retry: { config: { model: 'other', temperature: 0 } } } : next())
} }

const note = { name: 'note', apply: async (ctx: Context) => void ctx.on('agent/turn-stopping', (agent) => void agent.session.append({ type: 'note/turn', data: {} })) }

/** Sessions in which every type of event comes up, and what the model got, by session and seq. */
async function record(store: JsonlStore): Promise<ReadonlyMap<string, ReadonlyMap<number, string>>> {
  let index = 0
  const script = () => {
    index++
    if (index === 3) return { text: 'Half', error: { kind: 'rate-limit' as const, message: 'Later.', status: 429 } }
    return index % 2 === 0 ? { text: `Answer ${index}.`, usage: { input: 10, output: 2 } } : { reasoning: 'Hm.', text: 'I look.', calls: ['a', 'a-1', 'b'].map((name) => ({ name, arguments: '{"a":1.50}' })) }
  }
  const context = (): RunContext => new RunContext({ facts: [['branch', 'main']], headSections: [['house', 'Rules.']], tailSections: [['note', `Number ${index >> 2}.`]] })
  const app = await harness({ store, script, plugins: [everything, note], agent: { id: 'whole', cwd: '/', context, seed: [{ role: 'user', content: 'Before.' }, { role: 'assistant', content: 'Yes.' }] } })
  const digest = await store.putBlob('whole', Buffer.from('an image'))
  await app.run('One')
  app.agent.inject({ role: 'user', content: ['Look:', { type: 'image', digest, mediaType: 'image/png' }] })
  await app.run('Two')
  await app.agent.ask(['A title?'], { purpose: 'title', tools: 'none', config: { maxOutputTokens: 10, model: 'small' } })
  await app.agent.ask(['Another?'], { purpose: 'judge' })
  await app.agent.prompt('Three', { context: context() }).result
  const four = app.agent.prompt('Four')
  app.agent.prompt('Withdrawn')
  app.agent.withdraw([...app.agent.session.events()].findLast(({ type }) => type === 'prompt/queued')!.seq)
  app.agent.steer('Four, and faster.')
  await four.result
  await app.agent.idle()
  const entries = app.agent.session.entries()
  app.agent.replace(entries[1]!.id, entries.findLast(({ message }) => message.role === 'user')!.id, ['What was.', 'And more.'], { reason: 'compaction' })
  await app.run('Five')
  await app.agent.rewind({ turns: 2 })
  await app.resume()
  await app.run('Six')
  const fork = await app.ctx.agents.fork('whole', { id: 'fork' })
  await fork.prompt('Seven').result
  await fork.dispose()
  await app.dispose()
  expect(app.reports).toEqual([])
  const seen = new Map([['whole', new Map<number, string>()], ['fork', new Map<number, string>()]])
  for (const request of app.requests) seen.get(request.session!)!.set(request.dispatch!, textOf(request))
  return seen
}

describe('docs/log-format.md is enough to write a reader', () => {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-log-format-'))
  const read = (id: string): string => readFileSync(join(directory, `${id}.jsonl`), 'utf8')
  let recorded: ReadonlyMap<string, ReadonlyMap<number, string>>
  let events: readonly SessionEvent[]

  beforeAll(async () => {
    recorded = await record(new JsonlStore({ directory, fsync: 'never' }))
    events = [...recorded.keys()].flatMap((id) => readEvents(read(id)) as SessionEvent[])
  })
  afterAll(() => removeFolder(directory))

  it('that gives back every request of sessions in which everything comes up, with equal digests', () => {
    for (const [id, seen] of recorded) {
      const { requests, differences, chain } = readRequests(readEvents(read(id)))
      expect(differences).toEqual([])
      expect([...seen.keys()].filter((seq) => partsOf(requests.get(seq) as Parts) !== seen.get(seq))).toEqual([])
      // A fork's log has those of its parent, too.
      expect([...requests.keys()].slice(-seen.size)).toEqual([...seen.keys()])
      // What `headrace verify --digest` prints.
      expect(chain).toBe(
        verify(
          readEvents(read(id)).map(
            ({ sum: _, ...event }: SessionEvent & { readonly sum?: string }) => event,
          ) as SessionEvent[],
        ).chain,
      )
    }
    expect([...recorded.get('whole')!.keys()].length).toBeGreaterThan(14)
  })

  it('that does so for sessions of which anything may become', async () => {
    const store = new JsonlStore({ directory, fsync: 'never' })
    for (const [index, story] of fc.sample(life, { seed: 1, numRuns: 25 }).entries()) {
      const seen = await live(store, `life-${index}`, story)
      const { requests, differences } = readRequests(readEvents(read(`life-${index}`)))
      expect(differences).toEqual([])
      for (const [seq, bytes] of seen) expect(partsOf(requests.get(seq) as Parts)).toBe(textOf(JSON.parse(bytes)))
    }
  })

  it('that sees what was changed: any message, the system prompt, a tool, the config', () => {
    const log = read('whole')
    for (const [from, to] of [['Before.', 'Behind.'], ['Answer 2.', 'Answer 3.'], ['é a: 1e21', 'é a: 1e22'], ['After a.', 'After b.'], ['Line one', 'Line two'], ['Tool b.', 'Tool c.'], ['An opener', 'No opener'], ['Framing', 'Nothing'], ['other', 'third'], ['/small"', '/large"'], ['What was', 'What is']] as const) {
      expect(log).toContain(from)
      expect([from, readRequests(readEvents(log.replace(from, to))).differences.length > 0]).toEqual([from, true])
      expect(badLines(log.replace(from, to)).length).toBe(1)
    }
    expect(badLines(log)).toEqual([])
  })

  it('that reads an export, blobs and all, and skips what plugins say', async () => {
    const lines = readEvents(read('whole')).map((event: object) => JSON.stringify({ ...event, sum: undefined }))
    expect(readRequests(readEvents([lines[0], '{"blob":"0","bytes":"AA=="}', ...lines.slice(1), ''].join('\n'))).differences).toEqual([])
    expect(events.map(({ type }) => type as string)).toContain('note/turn')
    expect(() => readRequests([{ seq: 0, time: 0, type: 'note/turn', data: {}, required: true }])).toThrow('note/turn is unknown, and required')
  })

  it('for the page has every type of event, and its fields', () => {
    const types = table('| type | data |')
    expect([...types.keys()].sort()).toEqual([...CORE_TYPES].map((type) => `\`${type}\``).sort())
    // Laid down, and written by nobody yet; the golden logs have them.
    const unwritten = ['session/title', 'turn/cancel', 'approval/decided', 'question/asked', 'question/answered', 'letter/refused']
    expect([...CORE_TYPES].filter((type) => !events.some((event) => event.type === type)).sort()).toEqual(unwritten.sort())
    const core = events.filter(({ type }) => CORE_TYPES.has(type))
    const untold = core.flatMap(({ type, data }) => Object.keys(data).filter((field) => !new RegExp(`\\b${field}\\b`).test(types.get(`\`${type}\``)!)).map((field) => `${type}.${field}`))
    expect([...new Set(untold)]).toEqual([])
    expect([...types].filter(([, text]) => text.includes('`required`')).map(([type]) => type)).toEqual([...REQUIRED_TYPES].map((type) => `\`${type}\``))
  })

  it.each([
    ['turn/end.reason', 'session/src/event.ts', 'TurnReason'], ['step/end.reason', 'session/src/event.ts', 'StepReason'], ['tool/result.outcome', 'session/src/event.ts', 'CallOutcome'],
    ['request/header.reason', 'session/src/header.ts', 'HeaderReason'], ['request/end.finish', 'message/src/chunk.ts', 'FinishReason'],
  ])('and the values of %s', (field, file, name) => {
    const [, union] = new RegExp(`^export type ${name} = (.*)$`, 'm').exec(readFileSync(`${root}packages/${file}`, 'utf8'))!
    expect([...table('| field | values |').get(`\`${field}\``)!.matchAll(/`(.*?)`/g)].map(([, value]) => value)).toEqual([...union!.matchAll(/'(.*?)'/g)].map(([, value]) => value))
  })
})
