import { readFile } from 'node:fs/promises'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { BriefingService } from '@headrace/briefing'
import { textOf } from '@headrace/message'
import * as retry from '@headrace/plugin-retry'
import { unpaired } from '@headrace/session'
import { type Harness, type Reply, type Script, harness } from '@headrace/testing'
import { until } from '@headrace/testing/gate'
import { CompactionService, DROPPED, INSTRUCTION, SUMMARY_TITLE } from '../src/index.ts'

const long = (words: number): string => 'word '.repeat(words)
const isSummary = (text: string): boolean => text === INSTRUCTION
const tools = { name: 'tools', inject: ['tools'], apply: async (ctx: Context) => void ctx.tools.define({ name: 'dump', description: '', parameters: { type: 'object' }, execute: () => long(1_000) }) }

/** A model that answers with `reply`, and a request for a summary with `summary`. */
function model(reply: (index: number) => Reply, summary: Reply = 'We talked.'): Script {
  return (request, index) => (isSummary(textOf(request.messages.at(-1)!)) ? summary : reply(index))
}

const app = (script: Script, config: object, more: readonly unknown[] = []): Promise<Harness> =>
  harness({ script, plugins: [[CompactionService, config], tools, ...more] as never })
const said = (h: Harness): readonly string[] => h.agent.session.entries().map(({ message }) => textOf(message).slice(0, 40))

async function whole(h: Harness): Promise<void> {
  expect(unpaired(h.agent.session.deriveMessages())).toBeUndefined()
  expect((await h.verify()).difference).toBeUndefined()
  await h.dispose()
}

describe('compaction', () => {
  it('leaves a history alone that is below the threshold', async () => {
    const h = await app(model(() => 'ok'), { window: 10_000 })
    for (const prompt of ['a', 'b']) await h.run(prompt)
    expect((await h.events()).some((event) => event.type === 'surface/replace')).toBe(false)
    await whole(h)
  })

  it('trims old tool results first, and no summary is asked for where that is enough', async () => {
    const h = await app(model((index) => (index === 0 ? { calls: [{ name: 'dump' }, { name: 'dump' }] } : 'ok')), { window: 1_000, keep: 0.1 })
    await h.run('dump it')
    await h.run('and now?')
    const results = h.agent.session.entries().filter(({ message }) => message.role === 'tool')
    expect(results).toHaveLength(2)
    expect(results.every(({ message, owner }) => message.role === 'tool' && owner === 'compaction/trim' && /characters of this old result were left out/.test(JSON.stringify(message)))).toBe(true)
    expect(h.requests.some((request) => isSummary(textOf(request.messages.at(-1)!)))).toBe(false)
    await whole(h)
  })

  it('replaces the oldest part by a summary, asked for on the warm cache: prefix, before and history as they were, never after', async () => {
    const framing = { name: 'framing', inject: ['agents'], apply: async (ctx: Context) => {
      ctx.agents.prefix({ key: 'p', content: () => 'prefix' })
      ctx.agents.before({ key: 'b', content: () => 'before' })
      ctx.agents.after({ key: 'a', content: () => 'after' })
    } }
    const h = await app(model((index) => `answer ${index} ${long(100)}`), { window: 1_000, keep: 0.2, threshold: 0.6 }, [framing])
    for (let index = 0; index < 6; index++) await h.run(`prompt ${index}`)
    const index = h.requests.findIndex((request) => isSummary(textOf(request.messages.at(-1)!)))
    const [before, aside] = [h.requests[index - 1]!, h.requests[index]!]
    expect(aside.segments).toMatchObject({ prefix: 1, before: 1, after: 0 })
    const old = before.messages.slice(0, before.messages.length - before.segments.after)
    expect(aside.messages.slice(0, old.length).map((message) => JSON.stringify(message))).toEqual(old.map((message) => JSON.stringify(message)))
    expect(aside.tools).toEqual(before.tools)
    expect(said(h)[0]).toMatch(new RegExp(`^${SUMMARY_TITLE.slice(0, 30)}`))
    expect(h.requests.at(-1)!.messages.length).toBeLessThan(12)
    await whole(h)
  })

  it('a summary that does not shrink, or does not come, gives way to a note, and says so', async () => {
    for (const summary of [long(5_000), { error: { kind: 'server' } }, ''] as const) {
      const h = await app(model((index) => `answer ${index} ${long(100)}`, summary), { window: 1_000, keep: 0.2, threshold: 0.6 })
      for (let index = 0; index < 6; index++) await h.run(`prompt ${index}`)
      expect(said(h)).toContain(DROPPED.slice(0, 40))
      expect(h.reports[0]).toMatchObject({ plugin: 'compaction', problem: expect.stringMatching(/left out instead/) as string })
      await whole(h)
    }
  })

  it('cures an overflow through restep: the step is made anew with a smaller request', async () => {
    const script: Script = (request, index) => (isSummary(textOf(request.messages.at(-1)!)) ? 'We talked.' : request.segments.history > 6 ? { error: { kind: 'overflow' } } : `answer ${index} ${long(50)}`)
    const h = await app(script, { window: 400, threshold: 0, keep: 0.2 }, [retry])
    for (let index = 0; index < 4; index++) expect(await h.run(`prompt ${index}`)).toMatchObject({ reason: 'done' })
    expect((await h.events()).filter((event) => event.type === 'step/end' && event.data.reason === 'restep')).toHaveLength(1)
    await whole(h)
  })

  it('by hand: at once when idle', async () => {
    const h = await app(model((index) => `answer ${index} ${long(100)}`), { threshold: 0, keep: 0 })
    for (let index = 0; index < 3; index++) await h.run(`prompt ${index}`)
    expect(await h.ctx.compaction.compact('test')).toMatchObject({ how: 'summarised' })
    expect(h.agent.session.entries()).toHaveLength(2)
    await whole(h)
  })

  it('keeps a steer that came during a tool step, when all up to that step\'s result is compacted', async () => {
    const h = await app(model((index) => (index === 0 ? { calls: [{ name: 'slow' }] } : 'ok')), { threshold: 0, keep: 0 })
    h.ctx.tools.define({ name: 'slow', description: '', parameters: { type: 'object' }, execute: (_input, { agent }) => { h.ctx.agents.get(agent.id)!.inject({ role: 'user', content: 'Mind the gap.' }); return long(10) } })
    await h.run('Go')
    const entries = h.agent.session.entries()
    const result = entries.findIndex(({ message }) => message.role === 'tool')
    h.agent.replace(entries[0]!.id, entries[result]!.id, ['Summary.'], { reason: 'test' })
    expect(said(h)).toEqual(['Summary.', 'Mind the gap.', 'ok'])
    await whole(h)
  })

  it('what topics told and it hid is told again', async () => {
    const book = { name: 'book', inject: ['briefing'], apply: async (ctx: Context) => void ctx.briefing.topic({ key: 'page', content: () => 'Rule one.' }) }
    const h = await app(model((index) => `answer ${index} ${long(100)}`), { threshold: 0, keep: 0 }, [BriefingService, book])
    for (let index = 0; index < 3; index++) await h.run(`prompt ${index}`)
    await h.ctx.compaction.compact('test')
    expect(said(h)).not.toContain('Rule one.')
    await h.run('next')
    expect(said(h).filter((text) => text === 'Rule one.')).toHaveLength(1)
    await whole(h)
  })

  it.each(['a rewind', 'a step'])('by hand gives way where %s comes while the summary is written: the history stays, and the report says so', async (what) => {
    let [asks, answers] = [(): void => undefined, (): void => undefined]
    const [asked, answered] = [new Promise<void>((resolve) => (asks = resolve)), new Promise<void>((resolve) => (answers = resolve))]
    const h = await app(async (request, index) => {
      if (!isSummary(textOf(request.messages.at(-1)!))) return { text: `answer ${index} ${long(100)}`, ...(index > 3 && { hang: true }) }
      asks()
      await answered
      return 'We talked.'
    }, { window: 1_000, keep: 0.2, threshold: 0 })
    for (let index = 0; index < 3; index++) await h.run(`prompt ${index}`)
    const compacting = h.ctx.compaction.compact('test')
    await asked
    const turn = what === 'a step' ? h.agent.prompt('Go on.') : undefined
    if (turn) await until(() => h.requests.length >= 5)
    else await h.agent.rewind({ turns: 3 })
    answers()
    expect(await compacting).toMatchObject({ how: 'nothing' })
    turn?.cancel()
    await turn?.result
    const events = await h.events()
    expect(events.some(({ type }) => type === 'surface/replace')).toBe(false)
    expect(h.reports.map(({ problem }) => problem).join()).toMatch(/the history stays as it is$/)
    await whole(h)
  })
})

it('the README says what the model sees', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  for (const text of [INSTRUCTION, SUMMARY_TITLE, DROPPED]) expect(readme).toContain(text)
})
