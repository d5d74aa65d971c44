import { Context, type Plugin } from 'cordis'
import * as agentPlugin from '@headrace/agent'
import type { Agent } from '@headrace/agent'
import { textOf } from '@headrace/message'
import { MemoryStore, type SessionEvent } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { turns } from '@headrace/testing/gate'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { claim } from '../src/services/copy.ts'

async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness({ reports: 'allow', ...options })
  onTestFinished(() => made.dispose().catch(() => undefined))
  return made
}

const types = (events: readonly SessionEvent[], type: string): unknown[] =>
  events.filter((event) => event.type === type).map(({ data }) => data)

async function logOf(made: Harness, id: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of made.store.load(id)) events.push(...batch)
  return events
}

/** A plugin that makes an agent when it is told to, in `apply` or later. */
function maker(when: 'apply' | 'later'): { readonly plugin: Plugin; readonly made: Promise<Agent>; make(): void } {
  let resolve!: (agent: Agent) => void
  const made = new Promise<Agent>((done) => (resolve = done))
  let make = (): void => undefined
  const create = (ctx: Context): Promise<Agent> => ctx.agents.create({ id: 'made', model: 'scripted/m' })
  return {
    made, make: () => make(),
    plugin: {
      name: 'maker', inject: ['agents'],
      apply: async (ctx: Context) => {
        // Loaded anew, its session is there already.
        if (when === 'apply') await create(ctx).then(resolve, () => undefined)
        else make = () => void create(ctx).then(resolve)
      },
    },
  }
}

const hanging: HarnessOptions = { script: [{ text: 'half', hang: true }, 'whole'] }
const waysToGo = {
  'it is unloaded': (fiber: { dispose(): unknown }) => fiber.dispose(),
  'it is reloaded': (fiber: { restart(): unknown }) => fiber.restart(),
} as Record<string, (fiber: never) => unknown>

describe('an agent whose maker goes is parked, not cancelled (H1)', () => {
  for (const when of ['apply', 'later'] as const) {
    it.each(Object.keys(waysToGo))(`made in ${when}, when %s`, async (how) => {
      const made = await app(hanging)
      const { plugin, made: making, make } = maker(when)
      const fiber = await made.ctx.plugin(plugin)
      make()
      const agent = await making
      const turn = agent.prompt('Go')
      await new Promise((resolve) => agent.session.on('chunk', resolve))
      const gone = Promise.resolve(waysToGo[how]!(fiber as never)).catch(() => undefined)
      expect(await turn.result).toMatchObject({ reason: 'parked' })
      if (how === 'it is unloaded') await gone
      await expect.poll(() => made.ctx.agents.get('made')).toBeUndefined()
      const events = await logOf(made, 'made')
      expect([types(events, 'turn/end'), types(events, 'turn/cancel')]).toEqual([[], []])
    })
  }

  it('when its plugin fails after it made it', async () => {
    const made = await app()
    const failing = { name: 'failing', inject: ['agents'], apply: async (ctx: Context) => {
      await ctx.agents.create({ id: 'made', model: 'scripted/m' })
      throw new Error('on purpose')
    } }
    await made.ctx.plugin(failing).then(() => undefined, () => undefined)
    await expect.poll(() => made.ctx.agents.get('made')).toBeUndefined()
    await (await made.ctx.agents.resume('made')).dispose()
  })

  it('and none is made for a plugin that waits for a service by then', async () => {
    const made = await app()
    let late!: Context
    const fiber = await made.ctx.plugin({ name: 'late', inject: ['agents', 'sessions', 'helper'], apply: async (ctx: Context) => void (late = ctx) })
    const un = await made.ctx.plugin({ name: 'helper', apply: async (ctx: Context) => void ctx.provide('helper' as never, {} as never) })
    await fiber.await()
    const agents = late.agents
    await un.dispose()
    await fiber.await()
    await expect(agents.create({ id: 'made', model: 'scripted/m' })).rejects.toMatchObject({ code: 'PLUGIN_GONE' })
    expect(made.ctx.agents.ids()).toEqual(['test'])
    // It was given back.
    await (await made.ctx.agents.resume('made', { model: 'scripted/m' })).dispose()
  })

  /** A store that makes and leases logs when it is told to. */
  class Slow extends MemoryStore {
    readonly asked: (() => void)[] = []
    slow = false
    private wait(): Promise<void> {
      return this.slow ? new Promise<void>((go) => this.asked.push(go)) : Promise.resolve()
    }
    override async create(id: string): ReturnType<MemoryStore['create']> {
      await this.wait()
      return super.create(id)
    }
    override async lease(id: string): ReturnType<MemoryStore['lease']> {
      await this.wait()
      return super.lease(id)
    }
  }

  it.each<[string, (ctx: Context) => Promise<Agent>]>([
    ['made', (ctx) => ctx.agents.create({ id: 'made', model: 'scripted/m' })],
    ['resumed', (ctx) => ctx.agents.resume('old')],
    ['forked', (ctx) => ctx.agents.fork('old', { id: 'made' })],
  ])('one that is being %s while its plugin is reloaded is no agent of the plugin\'s next run', async (how, ask) => {
    const store = new Slow()
    const made = await app({ store })
    await (await made.ctx.agents.create({ id: 'old', model: 'scripted/m' })).dispose()
    let inner!: Context
    const fiber = await made.ctx.plugin({ name: 'maker', inject: ['agents'], apply: async (ctx: Context) => void (inner = ctx) })
    store.slow = true
    const asked = ask(inner)
    const refused = expect(asked).rejects.toMatchObject({ code: 'PLUGIN_GONE', message: expect.stringContaining('was reloaded meanwhile') as string })
    await expect.poll(() => store.asked.length).toBe(1)
    await fiber.restart()
    store.slow = false
    for (const go of store.asked) go()
    await refused
    expect(made.ctx.agents.ids()).toEqual(['test'])
    // It was given back.
    await (await made.ctx.agents.resume(how === 'resumed' ? 'old' : 'made', { model: 'scripted/m' })).dispose()
  })

  it('nor is one of an app that is being made while the app begins anew', async () => {
    const store = new Slow()
    const made = await app({ store })
    store.slow = true
    const asked = made.ctx.agents.create({ id: 'made', model: 'scripted/m' })
    const refused = expect(asked).rejects.toMatchObject({ code: expect.stringMatching(/^(PLUGIN_GONE|SERVICE_GONE)$/) as string })
    await expect.poll(() => store.asked.length).toBe(1)
    await made.ctx.fiber.dispose()
    store.slow = false
    for (const go of store.asked) go()
    await refused
  })

  it('a plugin of its own whose end waits for the end of the agent does not hold it up', async () => {
    const made = await app({ settings: { grace: 20 } })
    const { agent } = made
    await agent.ctx.plugin({ name: 'waits', apply: async () => () => agent.dispose() })
    await agent.dispose()
    expect(made.reports).toMatchObject([{ seam: 'agent.ctx', problem: expect.stringContaining('did not end within 20 ms') as string }])
  })

  it('dispose alone cancels', async () => {
    const made = await app(hanging)
    const turn = made.agent.prompt('Go')
    await new Promise((resolve) => made.agent.session.on('chunk', resolve))
    await made.agent.dispose()
    expect(await turn.result).toMatchObject({ reason: 'cancelled' })
  })
})

describe('a close that fails is told to whoever ended the agent', () => {
  /** A store whose leases cannot be given back. */
  class Stuck extends MemoryStore {
    override async create(id: string): ReturnType<MemoryStore['create']> {
      const lease = await super.create(id)
      return Object.assign(Object.create(lease) as typeof lease, { release: () => Promise.reject(new Error('the disk is gone')) })
    }
  }

  it('by dispose() and park()', async () => {
    const made = await app({ store: new Stuck() })
    await expect(made.agent.dispose()).rejects.toThrow('the disk is gone')
    const other = await made.ctx.agents.create({ id: 'other', model: 'scripted/m' })
    await expect(other.park()).rejects.toThrow('the disk is gone')
    expect(made.ctx.agents.ids()).toEqual([])
  })

  it("by unloading its maker, or the services: in Cordis' log", async () => {
    for (const whose of ['maker', 'agent']) {
      const made = await app({ store: new Stuck() })
      const { plugin, made: making } = maker('apply')
      const fiber = await made.ctx.plugin(plugin)
      await making
      const messages: string[] = []
      made.ctx.logger.exporter({ export: (message) => void messages.push(message.args.map((value) => (value instanceof Error ? `${value.name}: ${value.message}` : String(value))).join(' ')) })
      if (whose === 'maker') await fiber.dispose()
      else await [...made.ctx.registry.values()].find(({ name }) => name === 'agent')!.fibers[Symbol.iterator]().next().value!.dispose()
      expect(messages.join('\n')).toContain('the disk is gone')
      expect(messages.join('\n')).not.toContain('TypeError')
    }
  })

  it.each<[string, (ctx: Context) => PromiseLike<unknown>]>([
    ['the app', (ctx) => ctx.fiber.dispose() as unknown as PromiseLike<unknown>],
    ['the services', (ctx) => [...ctx.registry.values()].find(({ name }) => name === 'agent')!.fibers[Symbol.iterator]().next().value!.dispose() as unknown as PromiseLike<unknown>],
    ['its maker', (ctx) => [...ctx.registry.values()].find(({ name }) => name === 'maker')!.fibers[Symbol.iterator]().next().value!.dispose() as unknown as PromiseLike<unknown>],
  ])('by unloading %s where nobody listens to the log: on stderr, once for each agent, also where it takes its time', async (whose, unload) => {
    const lines: string[] = []
    const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      lines.push(String(text))
      return true
    })
    onTestFinished(() => void write.mockRestore())
    class Later extends Stuck {
      override async create(id: string): ReturnType<MemoryStore['create']> {
        const lease = await super.create(id)
        const release = async (): Promise<void> => {
          await turns(3)
          throw new Error(`the disk of ${id} is gone`)
        }
        return Object.assign(Object.create(lease) as typeof lease, { release })
      }
    }
    const ctx = new Context()
    await ctx.plugin(agentPlugin)
    ctx.sessions.store(new Later())
    const own = ctx.logger.exporter({ export: () => undefined })
    await ctx.plugin({ name: 'maker', inject: ['agents'], apply: async (inner: Context) => void await inner.agents.create({ id: 'made', model: 'a/b' }) })
    if (whose === 'the app') await ctx.agents.create({ id: 'of-the-app', model: 'a/b' })
    else void own()
    await unload(ctx)
    await expect.poll(() => lines.join('')).toContain('the disk of made is gone')
    if (whose === 'the app') await expect.poll(() => lines.join('')).toContain('the disk of of-the-app is gone')
    expect(lines.every((line) => line.startsWith('headrace: error: '))).toBe(true)
    // And then it is gone itself.
    if (whose !== 'its maker') await expect.poll(() => [...ctx.logger.exporters.keys()].filter((key) => key < 0)).toEqual([])
    await ctx.fiber.dispose()
  })
})

describe('a second copy of the package', () => {
  it('is refused by name while a fiber of the other lives', async () => {
    const ctx = new Context()
    const fiber = await ctx.plugin(agentPlugin, {})
    expect(() => claim(ctx, 'file:///elsewhere/agent.js')).toThrow(/another copy of @headrace\/agent.*elsewhere/)
    await fiber.dispose()
    const give = claim(ctx, 'file:///elsewhere/agent.js')
    await expect(ctx.plugin(agentPlugin, {}).then(() => undefined)).rejects.toMatchObject({ code: 'AGENT_COPIES' })
    give()
    await ctx.fiber.dispose()
  })

  it('one copy mounted twice, isolated, is fine', async () => {
    const ctx = new Context()
    const apart = ['sessions', 'llm', 'tools', 'system', 'agents'].reduce((scope, service) => scope.isolate(service as never), ctx as Context)
    await ctx.plugin(agentPlugin, {})
    await apart.plugin(agentPlugin, {})
    ctx.system.section({ key: 'one', content: 'One.' } as never)
    expect(apart.agents.ids()).toEqual([])
    await ctx.fiber.dispose()
  })
})

it('twelve parallel calls warn of nothing (S6)', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const calls = Array.from({ length: 12 }, () => ({ name: 'waits' }))
  const tools = { name: 'tools', inject: ['tools'], apply: async (ctx: Context) => {
    ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => next())
    ctx.tools.define({
      name: 'waits', description: 'Waits.', parameters: { type: 'object' },
      execute: (_, { turn, signal }) => new Promise((resolve) => {
        for (const each of [turn.signal, signal]) each.addEventListener('abort', () => undefined)
        setImmediate(resolve, 'done')
      }),
    })
  } }
  const made = await app({ plugins: [tools], script: (_request, index) => (index === 0 ? { calls } : 'done') })
  expect(await made.run('Go')).toMatchObject({ reason: 'done' })
  await Promise.all(Array.from({ length: 12 }, () => made.agent.ask(['Sum it up.'], { purpose: 'sum' })))
  await new Promise(setImmediate)
  expect(warnings.map(String)).toEqual([])
})

describe('a listener that answers what it caused is bounded, named and refused (S7)', () => {
  const loops: Record<string, (ctx: Context) => void> = {
    'injects on each event': (ctx) => void ctx.on('session/event', (agent) => void agent.inject('again')),
    'appends an event of its own': (ctx) => void ctx.on('session/event', (agent) => void agent.session.append({ type: 'looping/event', data: {} } as never)),
    'changes the title': (ctx) => void ctx.on('session/event', (agent) => agent.setTitle('again')),
    'steers on each event': (ctx) => void ctx.on('session/event', (agent) => void agent.steer('again')),
    'answers in a microtask': (ctx) => void ctx.on('session/event', async (agent) => {
      await Promise.resolve()
      agent.inject('again')
    }),
    'answers a round of the event loop later': (ctx) => void ctx.on('session/event', (agent, { type }) => void (type !== 'turn/cancel' && setImmediate(() => agent.inject('again')))),
    'answers behind what waits for it': (ctx) => void ctx.on('session/event', async (agent) => {
      await new Promise(setImmediate)
      agent.inject('again')
    }),
    'answers together with another': (ctx) => {
      const answer = (own: string, other: string): void => void ctx.on('session/event', (agent, event) => {
        if (event.type === 'context/message' && event.data.owner === `looping/${other}`) setImmediate(() => agent.inject({ key: own, content: own }))
      })
      answer('a', 'b')
      answer('b', 'a')
      ctx.on('agent/prompt-submit', async (agent, _turn, _submission, next) => {
        agent.inject({ key: 'a', content: 'first' })
        return next()
      })
    },
    'listens to the session itself': (ctx) => void ctx.on('agent/prompt-submit', async (agent, _turn, _submission, next) => {
      agent.session.on('event', () => void agent.inject('again'))
      return next()
    }),
  }

  it.each(Object.keys(loops))('one that %s', async (how) => {
    const made = await app({ plugins: [{ name: 'looping', inject: ['agents'], apply: async (ctx: Context) => loops[how]!(ctx) }] })
    expect(await made.run('Go')).toMatchObject({ reason: 'done' })
    const told = (): Harness['reports'] => made.reports.filter(({ problem }) => /answers (events|its own events)/.test(problem))
    await expect.poll(told).not.toEqual([])
    const reports = told()
    if (how !== 'listens to the session itself') expect(new Set(reports.map(({ plugin, seam }) => `${plugin} ${seam}`))).toEqual(new Set(['looping session/event']))
    expect(made.agent.session.length).toBeLessThan(40_000)
    expect(textOf(made.agent.session.deriveMessages().at(-1)!).length).toBeGreaterThan(0)
  })

  it('one that asks beside the turn on each event', async () => {
    const again = (agent: Agent): void => void agent.ask(['again'], { purpose: 'x' }).catch(() => undefined)
    const looping = { name: 'looping', apply: async (ctx: Context) => void ctx.on('session/event', again) }
    const made = await app({ settings: { strict: false }, plugins: [looping] })
    expect(await made.run('Go')).toMatchObject({ reason: 'done' })
    expect(made.agent.session.length).toBeLessThan(40_000)
  })

  it('one that reports in answer to a report, a moment later', async () => {
    const made = await app({ plugins: [{ name: 'looping', apply: async (ctx: Context) => void ctx.on('agent/report', async (agent) => {
      await Promise.resolve()
      agent.report('here', 'again')
    }) }] })
    made.agent.report('here', 'once')
    await new Promise(setImmediate)
    expect(made.reports.length).toBeLessThan(2_000)
  })
})
