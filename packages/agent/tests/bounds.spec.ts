import type { Context } from 'cordis'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { verify } from '@headrace/session'
import { describe, expect, it, onTestFinished } from 'vitest'

async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness(options)
  onTestFinished(() => made.dispose())
  return made
}

const BIG = 'x'.repeat(20_000)
const plugin = (apply: (ctx: Context) => unknown) => ({ name: 'big', inject: ['agents', 'tools', 'system'], apply: async (ctx: Context) => void apply(ctx) })

describe('an event that is larger than limits.event', () => {
  const settings = { limits: { event: 10_000 } }

  it.each<[string, (made: Harness) => unknown]>([
    ['a prompt', ({ agent }) => agent.prompt(BIG)],
    ['an injected message', ({ agent }) => agent.inject(BIG)],
    ['a replacement', ({ agent }) => agent.replace('3', '3', [BIG], { reason: 'r' })],
    ['an event of a plugin', ({ agent }) => agent.session.append({ type: 'agent/override', data: { plugin: 'x', seam: 's', reason: BIG } as never })],
  ])('is refused before anything is written, with its size, the bound and the way out: %s', async (_, act) => {
    const made = await app({ settings })
    await made.run('one')
    const before = await made.events()
    expect(() => act(made)).toThrow(expect.objectContaining({ code: 'EVENT_TOO_LARGE', message: expect.stringMatching(/^event \d+: a (prompt\/queued|context\/message|surface\/replace|agent\/override) of \d+ characters is larger than 10000; give less, or raise limits\.event$/) }))
    expect(await made.events()).toEqual(before)
    expect((await made.run('two')).reason).toBe('done')
    expect(verify(await made.events())).not.toHaveProperty('difference')
  })

  it('is refused in each later life too, unless that is widened', async () => {
    const made = await app()
    await (await made.ctx.agents.create({ id: 'bound', model: 'scripted/model', limits: { event: 10_000 } })).dispose()
    const resumed = await made.ctx.agents.resume('bound')
    expect(() => resumed.inject(BIG)).toThrow('is larger than 10000')
    await resumed.dispose()
    const widened = await made.ctx.agents.resume('bound', { widen: { limits: { event: 100_000 } } })
    expect(widened.inject(BIG)).toBeDefined()
    await widened.dispose()
  })

  it('in a step ends the turn with that error; the next one goes on', async () => {
    let size = BIG
    const made = await app({ settings, plugins: [plugin((ctx) => ctx.system.section({ key: 's', content: () => size }))] })
    expect(await made.run('one')).toMatchObject({ reason: 'error', error: { code: 'EVENT_TOO_LARGE', message: expect.stringContaining('a request/header of') } })
    expect(made.requests).toEqual([])
    size = 'small'
    expect((await made.run('two')).reason).toBe('done')
    expect(verify(await made.events())).not.toHaveProperty('difference')
  })

  it('that is a tool\'s result ends the step with an honest result in its place', async () => {
    const made = await app({
      settings: { limits: { event: 10_000, toolOutput: 100_000 } }, script: [{ calls: [{ name: 'big' }] }, 'fine'],
      plugins: [plugin((ctx) => ctx.tools.define({ name: 'big', description: '', parameters: { type: 'object' }, execute: () => BIG }))],
    })
    expect(await made.run('one')).toMatchObject({ reason: 'error', error: { code: 'EVENT_TOO_LARGE' } })
    expect((await made.events()).find(({ type }) => type === 'tool/result')?.data).toMatchObject({ outcome: 'unknown' })
    expect((await made.run('two')).reason).toBe('done')
    expect(verify(await made.events())).not.toHaveProperty('difference')
  })

  it('is read all the same where an earlier process was allowed to write it', async () => {
    const made = await app()
    await made.run(BIG)
    const agent = await made.resume({ limits: { event: 10_000 } })
    expect(agent.session.deriveMessages()).toHaveLength(2)
    expect(() => agent.prompt(BIG)).toThrow(/larger than 10000/)
  })
})

describe('deadlines', () => {
  it('limits.time ends a turn, by its name', async () => {
    const made = await app({ settings: { limits: { time: 30 } }, script: [{ hang: true }] })
    expect(await made.run('one')).toMatchObject({ reason: 'limit', error: { code: 'LIMIT_REACHED', message: 'the turn reached its limit of 30 ms (limits.time); raise it if that is too little' } })
  })

  it('limits.steps and limits.requests too', async () => {
    const calls = { script: [{ calls: [{ name: 'none' }] }] }
    expect((await (await app({ ...calls, settings: { limits: { steps: 2 } } })).run('one')).error?.message).toBe('the turn reached its limit of 2 steps (limits.steps); raise it if that is too little')
    expect((await (await app({ ...calls, settings: { limits: { requests: 3 } } })).run('one')).error?.message).toBe('the turn reached its limit of 3 requests (limits.requests); raise it if that is too little')
  })

  it('toolTimeout is a tool\'s where it says none, and its own beats it; the model is told which', async () => {
    const wait = () => new Promise<string>(() => undefined)
    const made = await app({
      settings: { toolTimeout: 20, grace: 0 }, script: [{ calls: [{ name: 'one' }, { name: 'two' }] }, 'fine'],
      plugins: [plugin((ctx) => {
        ctx.tools.define({ name: 'one', description: '', parameters: { type: 'object' }, execute: wait })
        ctx.tools.define({ name: 'two', description: '', parameters: { type: 'object' }, timeout: 40, execute: wait })
      })],
    })
    expect((await made.run('go')).reason).toBe('done')
    const told = JSON.stringify(made.requests[1]!.messages.slice(-2))
    expect(told).toMatch(/20 ms.*40 ms/)
  })

  it('seamTimeout names the plugin and the seam', async () => {
    const made = await app({ settings: { seamTimeout: 20 }, plugins: [plugin((ctx) => ctx.on('agent/request', () => new Promise(() => undefined)))] })
    expect((await made.run('one')).error).toMatchObject({ plugin: 'big', seam: 'agent/request', message: expect.stringContaining('it did not finish within 20 ms') })
  })

  it('limits.answer ends an answer that is too long', async () => {
    const made = await app({ settings: { limits: { answer: 100 } }, script: [BIG] })
    expect((await made.run('one')).error?.message).toMatch(/100.*limits\.answer/)
  })

  it('limits.queue refuses the prompt that is one too many', async () => {
    const made = await app({ settings: { limits: { queue: 1 } }, script: [{ hang: true }] })
    const first = made.agent.prompt('one')
    await first.accepted
    await expect.poll(() => made.agent.turn).toBeDefined()
    void made.agent.prompt('two')
    expect(() => made.agent.prompt('three')).toThrow(expect.objectContaining({ code: 'QUEUE_FULL' }))
    made.agent.cancel('over', { queue: 'withdraw' })
    await first.result
  })
})

describe('concurrentTurns', () => {
  /** A model whose answers wait until they are let go, by the prompt they answer. */
  function gated() {
    const waiting = new Map<string, () => void>()
    const running = new Set<string>()
    let most = 0
    const script: HarnessOptions['script'] = async ({ messages }) => {
      const prompt = JSON.stringify(messages.at(-1)).match(/"text":"(.*?)"/)![1]!
      running.add(prompt)
      most = Math.max(most, running.size)
      await new Promise<void>((resolve) => waiting.set(prompt, resolve))
      running.delete(prompt)
      return `to ${prompt}`
    }
    const letGo = async (prompt: string): Promise<void> => {
      await expect.poll(() => waiting.has(prompt)).toBe(true)
      waiting.get(prompt)!()
    }
    return { script, letGo, running, most: () => most }
  }

  async function seen(made: Harness, running: number, waiting: number): Promise<void> {
    await expect.poll(() => made.ctx.agents.turns).toEqual({ running, waiting })
  }

  it('is how many turns run at once; the others wait in order, and it is told how many', async () => {
    const model = gated()
    const made = await app({ settings: { concurrentTurns: 2 }, script: model.script })
    const agents = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => made.ctx.agents.create({ id, model: 'scripted/model' })))
    const turns = agents.map((agent) => agent.prompt(agent.id))
    await seen(made, 2, 3)
    expect(agents.map(({ state }) => state)).toEqual(['running', 'running', 'waiting', 'waiting', 'waiting'])
    // Accepted is durable, waiting or not.
    await Promise.all(turns.map(({ accepted }) => accepted))
    await model.letGo('b')
    await expect.poll(() => [...model.running]).toEqual(['a', 'c'])
    for (const id of ['a', 'c', 'd', 'e']) await model.letGo(id)
    expect((await Promise.all(turns.map(({ result }) => result))).map(({ text }) => text)).toEqual(['to a', 'to b', 'to c', 'to d', 'to e'])
    expect(model.most()).toBe(2)
    await seen(made, 0, 0)
    await Promise.all(agents.map((agent) => agent.idle()))
    expect(agents.map(({ state }) => state)).toEqual(agents.map(() => 'idle'))
  })

  it('lets one that waits be cancelled, withdrawn, rewound or disposed at once, and passes it over', async () => {
    const model = gated()
    const made = await app({ settings: { concurrentTurns: 1 }, script: model.script })
    const [a, b, c, d, e] = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => made.ctx.agents.create({ id, model: 'scripted/model' })))
    const first = a!.prompt('a')
    await seen(made, 1, 0)
    const [cancelled, withdrawn, , disposed] = [b, c, d, e].map((agent) => agent!.prompt(agent!.id))
    await seen(made, 1, 4)
    cancelled!.cancel()
    c!.withdraw(withdrawn!.prompt!)
    expect((await cancelled!.result).reason).toBe('withdrawn')
    expect((await withdrawn!.result).reason).toBe('withdrawn')
    await Promise.all([b!.idle(), c!.idle()])
    await expect(d!.rewind({ queue: 'withdraw' })).rejects.toThrow('0 stand')
    await e!.dispose()
    expect((await disposed!.result).reason).toBe('withdrawn')
    await seen(made, 1, 1)
    await model.letGo('a')
    await first.result
    await model.letGo('d')
    await d!.idle()
    await seen(made, 0, 0)
    // The place is free again.
    const last = a!.prompt('last')
    await model.letGo('last')
    expect((await last.result).reason).toBe('done')
  })

  it('does not let a turn wait for ever for one that begins inside of it: a subagent shares its place', async () => {
    let depth = 0
    const made = await app({
      settings: { concurrentTurns: 1 },
      script: ({ messages }) => (JSON.stringify(messages.at(-1)).includes('tool-result') || depth > 2 ? 'done' : { calls: [{ name: 'delegate' }] }),
      plugins: [plugin((ctx) => ctx.tools.define({
        name: 'delegate', description: '', parameters: { type: 'object' },
        execute: async () => {
          depth++
          const agent = await ctx.agents.create({ model: 'scripted/model' })
          const { text } = await agent.prompt('do it').result
          await agent.dispose()
          return text
        },
      }))],
    })
    expect(await made.run('go')).toMatchObject({ reason: 'done', text: 'done' })
    expect(depth).toBe(3)
    await seen(made, 0, 0)
  })

  it.each([1, 2, 3, 4])('nor where many do so at once, two deep, on %i places', async (concurrentTurns) => {
    const made = await app({
      settings: { concurrentTurns },
      script: ({ messages, session }) => (JSON.stringify(messages.at(-1)).includes('tool-result') || session!.split('-in').length > 2 ? 'done' : { calls: [{ name: 'delegate' }, { name: 'delegate' }] }),
      plugins: [plugin((ctx) => ctx.tools.define({
        name: 'delegate', description: '', parameters: { type: 'object' },
        execute: async (_input, { agent: outer, call }) => {
          const agent = await ctx.agents.create({ id: `${outer.id}-in${call.index}`, model: 'scripted/model' })
          const { text } = await agent.prompt('do it').result
          await agent.dispose()
          return text
        },
      }))],
    })
    const agents = await Promise.all([0, 1, 2, 3, 4, 5].map((id) => made.ctx.agents.create({ id: `top-${id}`, model: 'scripted/model' })))
    const results = await Promise.all(agents.map((agent) => agent.prompt('go').result))
    expect(results.map(({ text }) => text)).toEqual(agents.map(() => 'done'))
    await seen(made, 0, 0)
  })

  it('keeps a place until what shares it has ended too', async () => {
    const model = gated()
    let child: Harness['agent'] | undefined
    const made = await app({
      settings: { concurrentTurns: 1 },
      script: async (request, index) => (JSON.stringify(request.messages.at(-1)).includes('"text":"start"') ? { calls: [{ name: 'start' }] } : (model.script as (...args: unknown[]) => string)(request, index)),
      plugins: [plugin((ctx) => ctx.tools.define({
        name: 'start', description: '', parameters: { type: 'object' },
        execute: async () => {
          child = await ctx.agents.create({ id: 'child', model: 'scripted/model' })
          void child.prompt('child')
          return 'started'
        },
      }))],
    })
    const parent = made.agent.prompt('start')
    await model.letGo('started')
    await parent.result
    const other = await made.ctx.agents.create({ id: 'other', model: 'scripted/model' })
    const turn = other.prompt('other')
    await seen(made, 1, 1)
    await model.letGo('child')
    await model.letGo('other')
    await turn.result
    expect(model.most()).toBe(2)
  })

  it('is given back by a turn that fails, and by one whose store fails', async () => {
    const made = await app({ settings: { concurrentTurns: 1 }, script: [{ error: { kind: 'invalid' } }] })
    expect((await made.run('one')).reason).toBe('error')
    expect((await made.run('two')).reason).toBe('error')
    const { store } = made
    const create = store.create.bind(store)
    store.create = async (id) => ({ ...await create(id), flush: async () => { throw new Error('disk full') } })
    await expect(made.ctx.agents.create({ id: 'bad' })).rejects.toThrow('disk full')
    expect((await made.run('three')).reason).toBe('error')
    await seen(made, 0, 0)
  })
})
