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
    expect(aside.messages.slice(0, old.length).map((message) => JSON.stringify(message))).toEqual(
      old.map((message) => JSON.stringify(message)),
    )
    expect(aside.tools).toEqual(before.tools)
    expect(said(h)[0]).toMatch(new RegExp(`^${SUMMARY_TITLE.slice(0, 30)}`))
    expect(h.requests.at(-1)!.messages.length).toBeLessThan(12)
    await whole(h)
  })

  it.each([
    ['does not shrink', long(5_000)], ['fails', { error: { kind: 'server' } }], ['is empty', ''], ['is a call', { calls: [{ name: 'dump' }] }],
  ] as readonly (readonly [string, Reply])[])('a summary that %s costs nothing while the history fits: it stays, and the task with it (C1)', async (_, summary) => {
    const h = await app(model((index) => `answer ${index} ${long(100)}`, summary), { window: 2_000, keep: 0.2, threshold: 0.3, delay: 0, attempts: 2 })
    h.agent.prompt('The task: mend the fence.')
    await h.agent.idle()
    for (let index = 0; index < 6 && h.reports.length === 0; index++) await h.run(`prompt ${index}`)
    expect(said(h)[0]).toBe('The task: mend the fence.')
    expect(said(h)).not.toContain(DROPPED.slice(0, 40))
    expect(h.reports[0]).toMatchObject({ plugin: 'compaction', problem: expect.stringMatching(/still fits and stays as it is/) as string })
    await whole(h)
  })

  it('one that fails once is asked for again, as requests are (C1)', async () => {
    let asked = 0
    const h = await app((request, index) => {
      if (!isSummary(textOf(request.messages.at(-1)!))) return `answer ${index} ${long(100)}`
      return asked++ === 0 ? { error: { kind: 'server' } } : 'We talked.'
    }, { window: 1_000, keep: 0.2, threshold: 0.6, delay: 0 })
    for (let index = 0; index < 6; index++) await h.run(`prompt ${index}`)
    expect(asked).toBeGreaterThan(1)
    expect(said(h)[0]).toMatch(/^Summary/)
    await whole(h)
  })

  it('after an overflow without a summary only the oldest part goes, and never the newest message of the user', async () => {
    const script: Script = (request, index) => {
      if (isSummary(textOf(request.messages.at(-1)!))) return ''
      return request.segments.history > 6 ? { error: { kind: 'overflow' } } : `answer ${index} ${long(50)}`
    }
    const h = await app(script, { window: 400, threshold: 0, keep: 0.2, delay: 0, attempts: 1 }, [retry])
    for (let index = 0; index < 4; index++) expect(await h.run(`prompt ${index}`)).toMatchObject({ reason: 'done' })
    expect(said(h)[0]).toBe(DROPPED.slice(0, 40))
    expect(said(h)).toContain('prompt 3')
    expect(h.reports.map(({ problem }) => problem).join()).toMatch(/left out instead/)
    await whole(h)
  })

  it('the newest message of the user stays verbatim, though many steps stand behind it', async () => {
    const h = await app(model((index) => (index < 12 ? { text: long(60), calls: [{ name: 'dump' }] } : 'done')), { window: 4_000, keep: 0.1, threshold: 0.5, result: 100 })
    await h.run('The task: NEVER on Friday.')
    expect(h.agent.session.entries().filter(({ message }) => textOf(message) === 'The task: NEVER on Friday.').map(({ owner }) => owner)).toEqual(['user'])
    expect(said(h).some((text) => text.startsWith(SUMMARY_TITLE.slice(0, 30)))).toBe(true)
    await whole(h)
  })

  it('does not compact for nothing: a fixed part near the threshold is said once (C2)', async () => {
    const heavy = { name: 'heavy', inject: ['system'], apply: async (ctx: Context) => void ctx.system.section({ key: 'k', content: long(7_500) }) }
    const h = await app(model((index) => `answer ${index} ${long(60)}`), { window: 12_000, threshold: 0.8 }, [heavy])
    for (let index = 0; index < 30; index++) await h.run(`prompt ${index}`)
    const summaries = h.requests.filter((request) => isSummary(textOf(request.messages.at(-1)!))).length
    expect(summaries).toBeLessThan(4)
    expect(h.reports.filter(({ problem }) => /did not bring the request below/.test(problem)).length).toBeLessThan(2)
    await whole(h)
  })

  it('takes the window that the app’s own rows say of the model, and what it knows of others', async () => {
    const weigh = async (models: object): Promise<string> => {
      const h = await harness({ script: model((index) => `answer ${index} ${long(200)}`), plugins: [[CompactionService, { keep: 0.2 }]], settings: { models } } as never)
      for (let index = 0; index < 6; index++) await h.run(`prompt ${index}`)
      const [first] = said(h)
      await whole(h)
      return first!
    }
    expect(await weigh({ 'scripted/model': { context: 1_000 } })).toContain(SUMMARY_TITLE.slice(0, 40))
    expect(await weigh({ 'scripted/other': { context: 1_000 } })).toBe('prompt 0')
  })

  describe('a window that is smaller than what is known (W9)', () => {
    /** A model that refuses what is longer than so many words. */
    const small = (words: number, number?: number): Script => (request, index) => {
      const size = request.messages.reduce((sum, message) => sum + textOf(message).split(' ').length, 0)
      if (size > words) return { error: { kind: 'overflow', ...(number !== undefined && { window: number }) } as never }
      return isSummary(textOf(request.messages.at(-1)!)) ? 'We talked.' : `answer ${index} ${long(60)}`
    }

    it.each([['the provider says the number', 1_100], ['it does not', undefined]])('is learnt from the first overflow, where %s', async (_, number) => {
      // The first summary does not fit either; what goes then is reported.
      const h = await harness({ script: small(800, number), plugins: [[CompactionService, { delay: 0 }], tools, retry] as never, reports: 'allow' })
      const reasons = []
      for (let index = 0; index < 30; index++) reasons.push((await h.run(`prompt ${index}`)).reason)
      expect(new Set(reasons)).toEqual(new Set(['done']))
      const overflows = (await h.events()).filter((event) => event.type === 'request/end' && event.data.error?.kind === 'overflow').length
      expect(overflows).toBeLessThan(6)
      await whole(h)
    })

    it('a first prompt that is larger than the window is cut in its middle, and both are told how much', async () => {
      const h = await app(small(800, 1_100), {}, [retry])
      expect(await h.run(`BEGIN ${long(3_000)} END`)).toMatchObject({ reason: 'done' })
      const text = textOf(h.agent.session.entries().find(({ message }) => message.role === 'user')!.message)
      expect(text).toMatch(/^BEGIN [^]*\[… [\d,]+ characters were left out here[^]* END$/)
      expect(h.reports.map(({ problem }) => problem).join()).toMatch(/characters of its middle were left out/)
      await whole(h)
    })
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
    expect(said(h)).toEqual([expect.stringMatching(/^Summary/), 'prompt 2', expect.stringMatching(/^answer/)])
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

  describe('what plugins keep', () => {
    const keeper = (name: string, list: (owners: readonly string[]) => unknown) => ({ name, inject: ['agents'], apply: async (ctx: Context) => void ctx.on('compaction/keep', async (_agent, entries, next) => {
      const mine = list(entries.map(({ owner }) => owner)) as readonly string[]
      return [...mine, ...await next()]
    }) })
    const talk = model((index) => `answer ${index} ${long(100)}`)
    const compacted = async (keepers: readonly unknown[], options: object = {}): Promise<Harness> => {
      const h = await harness({ script: talk, plugins: [[CompactionService, { threshold: 0, keep: 0, ...options }], tools, ...keepers] as never, reports: 'allow' })
      for (let index = 0; index < 3; index++) await h.run(`prompt ${index}`)
      await h.ctx.compaction.compact('test')
      return h
    }

    it('stands directly behind the summary, in the order of the wire, each signed by its plugin', async () => {
      const seen: (readonly string[])[] = []
      const h = await compacted([keeper('zoo', () => [{ key: 'z', content: 'Z.' }]), keeper('ant', (owners) => (seen.push(owners), [{ key: 'a', role: 'user', content: 'A.' }, 'B.']))])
      expect(h.agent.session.entries().slice(0, 4).map(({ owner }) => owner)).toEqual(['app/summary', 'ant/a', 'ant/keep', 'zoo/z'])
      expect(seen).toEqual([['user', 'model', 'user', 'model', 'model'].slice(0, seen[0]!.length)])
      await h.ctx.compaction.compact('test')
      expect(h.agent.session.entries().filter(({ owner }) => owner === 'zoo/z')).toHaveLength(1)
      await whole(h)
    })

    it('has a quarter of the window; what is longer loses its end, and stays its plugin\'s', async () => {
      const h = await compacted([keeper('ant', () => [{ key: 'a', content: long(2_000) }])], { window: 2_000 })
      const [kept] = h.agent.session.entries().filter(({ owner }) => owner === 'ant/a').map(({ message }) => textOf(message))
      expect(kept).toMatch(/\[… \d+ characters were left out here, to fit the window …\]$/)
      expect(kept!.length).toBeLessThan(4_000)
      await whole(h)
    })

    it('one that fails is reported, and holds up nothing', async () => {
      const h = await compacted([keeper('ant', () => { throw new Error('no') }), keeper('zoo', () => ['Z.'])])
      expect(h.agent.session.entries().map(({ owner }) => owner)[1]).toBe('zoo/keep')
      expect(h.reports).toContainEqual(expect.objectContaining({ plugin: 'ant', seam: 'compaction/keep' }))
      await whole(h)
    })

    it('nobody signs for another: a copy of what was given is the replacer\'s', async () => {
      const h = await compacted([])
      const [first] = h.agent.session.entries()
      const copy = { role: 'user' as const, content: [{ type: 'text' as const, text: 'prompt 2' }] }
      h.agent.replace(first!.id, first!.id, [copy], { reason: 'test', key: 'copy' })
      expect(h.agent.session.entries()[0]!.owner).toBe('app/copy')
      await whole(h)
    })
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
