import * as agentPlugin from '@headrace/agent'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { SettingsSchema } from '@headrace/agent/internal'
import { Context } from 'cordis'
import { describe, expect, it, onTestFinished } from 'vitest'

async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness(options)
  onTestFinished(() => made.dispose())
  return made
}

describe('an option that there is none of', () => {
  it.each<[string, (made: Harness) => Promise<unknown>, RegExp]>([
    ['create', ({ ctx }) => ctx.agents.create({ modle: 'x/y' } as never), /^agents\.create has no option "modle"; it has cwd, model, config, limits, strict, context, budget, seed, id, under, kind, title, tools$/],
    ['resume', ({ ctx }) => ctx.agents.resume('test', { id: 'x' } as never), /^agents\.resume has no option "id"; it has .*turn, recent, widen$/],
    ['fork', ({ ctx }) => ctx.agents.fork('test', { from: 3 } as never), /^agents\.fork has no option "from"; it has .*at, id$/],
    ['limits', ({ ctx }) => ctx.agents.create({ limits: { stpes: 3 } as never }), /^limits has no option "stpes"; it has steps, requests/],
    ['prompt', async ({ agent }) => agent.prompt('x', { contxt: 1 } as never), /^agent\.prompt has no option "contxt"; it has context, config, output, signal$/],
    ['rewind', ({ agent }) => agent.rewind({ turn: 1 } as never), /^agent\.rewind has no option "turn"; it has turns, to, cancel, queue, reason$/],
    ['ask', async ({ agent, run }) => run('x').then(() => agent.ask(['?'], { purpose: 't', tool: 'none' } as never)), /^agent\.ask has no option "tool"; it has purpose, config, tools, signal$/],
    ['the harness', () => harness({ scirpt: [] } as never), /^harness has no option "scirpt"; it has script, plugins, store, settings, agent, reports$/],
  ])('of %s is refused by name, with those there are', async (_, use, message) => {
    const made = await app()
    const length = (await made.events()).length
    await expect(use(made)).rejects.toThrow(message)
    expect((await made.events()).filter(({ type }) => type === 'prompt/queued').length).toBeLessThanOrEqual(1)
    expect(made.ctx.agents.ids()).toEqual(['test'])
    expect(length).toBe(1)
  })

  it.each([[{ seamTimout: 1 }, 'seamTimout'], [{ limits: { step: 1 } }, 'step']])('of the plugin\'s config is refused: %o', async (config, name) => {
    await expect(harness({ settings: config as never })).rejects.toThrow(`${name}: there is no such key`)
  })

  it('never shows the value', async () => {
    const made = await app()
    await expect(made.ctx.agents.create({ apiKey: 'sk-secret' } as never)).rejects.toThrow(expect.objectContaining({ message: expect.not.stringContaining('sk-secret') }))
  })

  it('that is there and undefined is as good as absent', async () => {
    const made = await app()
    const agent = await made.ctx.agents.create({ model: undefined, cwd: undefined } as never)
    await agent.dispose()
  })

  it.each([{ steps: 0 }, { steps: 1.5 }, { steps: Number.NaN }, { time: -1 }, { queue: '3' }, { event: 0 }])('nor is a limit that is none taken: %o', async (limits) => {
    const made = await app()
    await expect(made.ctx.agents.create({ limits: limits as never })).rejects.toThrow(/limits?.*(steps|time|queue|event)|expected|\$/)
    expect(made.ctx.agents.ids()).toEqual(['test'])
  })
})

describe('an option of a wrong type or value', () => {
  it.each<[string, (made: Harness) => unknown, RegExp]>([
    ['no options', ({ ctx }) => ctx.agents.create(null as never), /^agents\.create takes \{ cwd, /],
    ['a path', ({ ctx }) => ctx.agents.create({ cwd: 7 as never }), /^agents\.create has a cwd/],
    ['a config', ({ ctx }) => ctx.agents.create({ config: 7 as never }), /^agents\.create has a config/],
    ['a context', ({ ctx }) => ctx.agents.create({ context: {} as never }), /^agents\.create has a context that is a function/],
    ['a budget', ({ ctx }) => ctx.agents.create({ budget: {} as never }), /^agents\.create has a budget/],
    ['strict', ({ ctx }) => ctx.agents.create({ strict: 'yes' as never }), /^agents\.create has strict: true or false/],
    ['a seed', ({ ctx }) => ctx.agents.create({ seed: 'x' as never }), /^agents\.create has a seed/],
    ['a title', ({ ctx }) => ctx.agents.create({ title: ' ' }), /^agents\.create has a title/],
    ['limits', ({ ctx }) => ctx.agents.create({ limits: [] as never }), /^limits takes \{ steps/],
    ['tools', ({ ctx }) => ctx.agents.create({ tools: null as never }), /^tools is \{ only/],
    ['what becomes of a turn', ({ ctx }) => ctx.agents.resume('test', { turn: 'clsoe' as never }), /^agents\.resume has turn: 'continue' or 'close'/],
    ['a widening', ({ ctx }) => ctx.agents.resume('test', { widen: { limit: {} } as never }), /^agents\.resume: widen has no option "limit"; it has tools, limits/],
    ['a widening\'s limits', ({ ctx }) => ctx.agents.resume('test', { widen: { limits: { stpes: 5 } as never } }), /^limits has no option "stpes"/],
    ['a fork\'s widening, ahead of the fork', ({ ctx }) => ctx.agents.fork('test', { id: 'fork', widen: { tools: 7 as never } }), /^tools is \{ only/],
    ['a signal', ({ agent }) => agent.prompt('x', { signal: {} as never }), /^agent\.prompt has a signal that is an AbortSignal/],
    ['a RunContext', ({ agent }) => agent.prompt('x', { context: {} as never }), /^agent\.prompt has a context that is a RunContext/],
    ['what becomes of the queue', ({ agent }) => agent.cancel('x', { queue: 'withdarw' as never }), /^agent\.cancel has queue: 'keep' or 'withdraw'/],
    ['that, of a rewind', ({ agent }) => agent.rewind({ queue: 'withdarw' as never }), /^agent\.rewind has queue/],
    ['a purpose', ({ agent }) => agent.ask(['x'], {} as never), /^agent\.ask needs a purpose/],
    ['messages', ({ agent }) => agent.ask('x' as never, { purpose: 'x' }), /^agent\.ask takes a list/],
    ['tools of a side request', ({ agent }) => agent.ask(['x'], { purpose: 'x', tools: 'nnoe' as never }), /^agent\.ask has tools: 'same' or 'none'/],
    ['an image', ({ agent }) => agent.putImage('x' as never, 'image/png'), /^agent\.putImage takes bytes/],
    ['the type of an image', ({ agent }) => agent.putImage(new Uint8Array(1), 'text/html'), /^agent\.putImage takes bytes/],
    ['a file', ({ agent }) => agent.putFile('x' as never, 'application/pdf'), /^agent\.putFile takes bytes/],
    ['the type of a file', ({ agent }) => agent.putFile(new Uint8Array(1), 'pdf'), /^agent\.putFile takes bytes/],
    ['the name of a file', ({ agent }) => agent.putFile(new Uint8Array(1), 'application/pdf', 7 as never), /^agent\.putFile takes bytes/],
    ['an adapter', ({ ctx }) => ctx.llm.adapter('echo', {} as never), /^plugin app: the adapter "echo" needs stream\(\)/],
    ['an adapter\'s name', ({ ctx }) => ctx.llm.adapter('a/b', { async *stream() { /* never */ } } as never), /^plugin app: the name of an adapter/],
  ])('is refused where it is given: %s', async (_, use, message) => {
    const made = await app()
    await expect((async () => use(made))()).rejects.toThrow(message)
    expect(await made.events()).toHaveLength(1)
    expect(made.ctx.agents.ids()).toEqual(['test'])
    await expect(made.store.card('fork')).rejects.toThrow()
  })
})

it('the defaults are those that the README says', async () => {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, {})
  expect(SettingsSchema({})).toEqual({
    limits: {
      steps: 100, requests: 200, time: 0, answer: 4_000_000, toolOutput: 200_000, toolDetails: 100_000, queue: 1_000, event: 32_000_000,
    },
    concurrentTurns: 100, seamTimeout: 30_000, loadTimeout: 5_000, toolTimeout: 600_000, grace: 2_000, strict: true, quiet: false,
  })
  await ctx.fiber.dispose()
})
