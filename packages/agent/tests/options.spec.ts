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
    ['create', ({ ctx }) => ctx.agents.create({ modle: 'x/y' } as never), /^agents\.create has no option "modle"; it has cwd, model, config, limits, strict, context, budget, seed, mail, setup, id, under, kind, title, tools$/],
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
    ['a signal of a side request', ({ agent }) => agent.ask(['x'], { purpose: 'x', signal: {} as never }), /^agent\.ask has a signal that is an AbortSignal/],
    ['what is attended', ({ ctx }) => ctx.agents.attend(7 as never), /^agents\.attend takes the id/],
    ['what a session tells', ({ agent }) => agent.session.on('evnt' as never, () => undefined), /^a session tells event, chunk, piece, not "evnt"; did you mean "event"\?/],
    ['a listener of a session', ({ agent }) => agent.session.on('event', undefined as never), /^a listener of event is a function/],
    ['no event of a plugin', ({ agent }) => agent.session.append(undefined as never), /^append takes one event/],
    ['an image', ({ agent }) => agent.putImage('x' as never, 'image/png'), /^agent\.putImage takes bytes/],
    ['the type of an image', ({ agent }) => agent.putImage(new Uint8Array(1), 'text/html'), /^agent\.putImage takes bytes/],
    ['a file', ({ agent }) => agent.putFile('x' as never, 'application/pdf'), /^agent\.putFile takes bytes/],
    ['the type of a file', ({ agent }) => agent.putFile(new Uint8Array(1), 'pdf'), /^agent\.putFile takes bytes/],
    ['the name of a file', ({ agent }) => agent.putFile(new Uint8Array(1), 'application/pdf', 7 as never), /^agent\.putFile takes bytes/],
    ['a context that is null', ({ agent }) => agent.prompt('x', { context: null as never }), /^agent\.prompt has a context that is a RunContext/],
    ['a signal that is false', ({ agent }) => agent.prompt('x', { signal: false as never }), /^agent\.prompt has a signal that is an AbortSignal/],
    ...[null, false, '', 0, [], 'object'].map((output): [string, (made: Harness) => unknown, RegExp] =>
      [`an output that is ${JSON.stringify(output)}`, ({ agent }) => agent.prompt('x', { output: output as never }), /^output of a prompt must be a Zod schema, or JSON Schema/]),
    ...[null, false, '', 7].map((config): [string, (made: Harness) => unknown, RegExp] =>
      [`a prompt's config that is ${JSON.stringify(config)}`, ({ agent }) => agent.prompt('x', { config: config as never }), /^prompt must be an object/]),
    ['an id that is null', ({ ctx }) => ctx.agents.create({ id: null as never }), /cannot be a session id/],
    ['a kind', ({ ctx }) => ctx.agents.create({ kind: '' }), /^agents\.create has a kind that is a text/],
    ['what it is under', ({ ctx }) => ctx.agents.create({ under: null as never }), /^agents\.create: under takes \{ session, call \}/],
    ['another field of it', ({ ctx }) => ctx.agents.create({ under: { session: 'a', call: { assistant: 1, index: 0 }, parent: 'b' } as never }), /^agents\.create: under has no option "parent"; it has session, call/],
    ['another field of its call', ({ ctx }) => ctx.agents.create({ under: { session: 'a', call: { assistant: 1, index: 0, id: 'x' } as never } }), /^agents\.create: under\.call has no option "id"; it has assistant, index/],
    ['its call', ({ ctx }) => ctx.agents.create({ under: { session: 'a' } as never }), /^agents\.create: under\.call takes \{ assistant, index \}/],
    ['a seq of its call', ({ ctx }) => ctx.agents.create({ under: { session: 'a', call: { assistant: -1, index: 0 } } }), /^agents\.create has under: \{ session, call/],
    ['where a fork begins', ({ ctx }) => ctx.agents.fork('test', { id: 'fork', at: null as never }), /^agents\.fork has an at that is the seq/],
    ['no options of a replacement', ({ agent }) => agent.replace('1', '2', [], undefined as never), /^agent\.replace takes \{ reason, key \}/],
    ['no reason of a replacement', ({ agent }) => agent.replace('1', '2', [], {} as never), /^agent\.replace needs a reason/],
    ['an option of a replacement', ({ agent }) => agent.replace('1', '2', [], { reason: 'x', owner: 'y' } as never), /^agent\.replace has no option "owner"/],
    ['the messages of a replacement', ({ agent }) => agent.replace('1', '2', 'x' as never, { reason: 'x' }), /^agent\.replace takes a list/],
    ['no replacement at all', ({ agent }) => (agent.replace as unknown as () => void)(), /^agent\.replace takes \{ reason, key \}/],
    ['a reason of a cancel', ({ agent }) => agent.cancel(7 as never), /^agent\.cancel has a reason/],
    ['whether a rewind cancels', ({ agent }) => agent.rewind({ cancel: 'yes' as never }), /^agent\.rewind has cancel: true or false/],
    ['a reason of a rewind', ({ agent }) => agent.rewind({ reason: 7 as never }), /^agent\.rewind has a reason/],
    ['a prompt that is withdrawn', ({ agent }) => agent.withdraw('1' as never), /^agent\.withdraw takes the seq/],
    ['a report', ({ agent }) => (agent.report as (seam: string) => void)('x'), /^agent\.report takes where/],
    ...[undefined, null, 'x', {}, { config: {} }, { config: { model: 'a/b' } }, { config: { model: 'a/b' }, messages: [] }, { config: { model: 'a/b' }, messages: [], segments: {}, owners: [] }]
      .map((request): [string, (made: Harness) => unknown, RegExp] => [`a request that is ${JSON.stringify(request)}`, ({ ctx }) => ctx.llm.stream(request as never), /^ctx\.llm\.stream\(\) takes a Request/]),
    ['a request to make a body of', ({ ctx }) => ctx.llm.wire({} as never), /^ctx\.llm\.wire\(\) takes a Request/],
    ['a provider', ({ ctx }) => ctx.llm.models(undefined as never), /^ctx\.llm\.models\(\) takes the name of a provider, not nothing/],
    ['a store', ({ ctx }) => ctx.sessions.store({} as never), /^plugin app: ctx\.sessions\.store\(\) was given a store without create\(\), lease\(\), load\(\), read\(\), follow\(\), post\(\), letters\(\), card\(\), list\(\), remove\(\), putBlob\(\), getBlob\(\)/],
    ['no store', ({ ctx }) => ctx.sessions.store(undefined as never), /^plugin app: ctx\.sessions\.store\(\) takes a SessionStore, not nothing/],
    ['a store that lacks one method', ({ ctx, store }) => ctx.sessions.store(Object.assign(Object.create(store) as typeof store, { post: undefined }) as never), /^plugin app: .* without post\(\);/],
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

it.each(['park', 'dispose'] as const)('after %s an agent says so, whatever it is asked', async (how) => {
  const made = await app()
  await made.run('x')
  const { agent } = made
  await agent[how]()
  const [code, words] = how === 'park' ? ['AGENT_PARKED', 'the agent was parked'] : ['AGENT_DISPOSED', 'the agent was disposed']
  await expect(agent.rewind()).rejects.toMatchObject({ code, message: expect.stringContaining('ctx.agents.resume("test")') as string })
  await expect(agent.ask(['x'], { purpose: 'x' })).rejects.toMatchObject({ code })
  for (const use of [() => agent.prompt('x'), () => agent.steer('x'), () => agent.inject('x'), () => agent.setTitle('x')]) expect(use).toThrow(words)
})

it('a rewind of an agent that was parked in the middle of a turn says that it was parked, and not that a turn runs', async () => {
  const made = await app({ script: ['one', { text: 'half', hang: true }] })
  await made.run('x')
  const turn = made.agent.prompt('y')
  await new Promise((resolve) => made.agent.session.on('chunk', resolve))
  const parking = made.agent.park()
  await expect(made.agent.rewind()).rejects.toMatchObject({ code: 'AGENT_PARKED' })
  await parking
  await expect(made.agent.rewind({ cancel: true })).rejects.toMatchObject({ code: 'AGENT_PARKED' })
  expect(await turn.result).toMatchObject({ reason: 'parked' })
})

it('the defaults are those that the README says', async () => {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, {})
  expect(SettingsSchema({})).toEqual({
    limits: {
      steps: 100, requests: 200, time: 0, answer: 4_000_000, toolOutput: 200_000, toolDetails: 100_000, queue: 1_000, event: 32_000_000,
    },
    concurrentTurns: 100, seamTimeout: 30_000, loadTimeout: 5_000, toolTimeout: 600_000, grace: 2_000, strict: true, quiet: false,
    models: {}, knownModels: true,
  })
  await ctx.fiber.dispose()
})
