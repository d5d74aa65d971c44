import type { Context, Plugin } from 'cordis'
import { describe, expect, it } from 'vitest'
import { BriefingService } from '@headrace/briefing'
import { type Request, textOf } from '@headrace/message'
import * as agentsMd from '@headrace/plugin-agents-md'
import * as retry from '@headrace/plugin-retry'
import { type SessionEvent, headerDrift, rebuild } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { type Harness, type HarnessOptions, expectAppendOnly, harness } from '@headrace/testing'
import { gate, turns } from '@headrace/testing/gate'
import { mkdtemp, writeFile, mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The rows of "Prefix and cache": small inputs that broke other systems. */

const plugin = (name: string, apply: (ctx: Context) => void): Plugin => ({ name, inject: ['agents', 'tools', 'system', 'briefing'], apply: async (ctx: Context) => apply(ctx) })
const app = (options: HarnessOptions & { plugins?: readonly unknown[] } = {}): Promise<Harness> =>
  harness({ ...options, plugins: [BriefingService as never, ...(options.plugins ?? [])] })
const bytes = ({ signal: _signal, ...request }: Request): string => JSON.stringify(request)
const of = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T): SessionEvent<T>[] => events.filter((event) => event.type === type) as SessionEvent<T>[]
const headers = (events: readonly SessionEvent[]): readonly SessionEvent[] => events.filter((event) => event.type.startsWith('request/header'))

async function whole(h: Harness): Promise<void> {
  const events = await h.events()
  expect((await h.verify()).difference).toBeUndefined()
  for (const request of h.requests) expect(JSON.stringify(rebuild(events, request.dispatch!))).toBe(bytes(request))
  await h.dispose()
}

describe('two plugins, each with a topic and a before', () => {
  const member = (name: string): Plugin => plugin(name, (ctx) => {
    ctx.briefing.topic({ key: 'topic', content: () => `Topic of ${name}.` })
    ctx.agents.before({ key: 'frame', content: () => `Before of ${name}.` })
  })

  it('loaded in either order, one of them hot-reloaded unchanged: the same bytes throughout', async () => {
    const [one, two] = [member('one'), member('two')]
    const seen = new Set<string>()
    for (const [order, reloaded] of [[[one, two], one], [[two, one], one], [[one, two], two], [[two, one], two]] as const) {
      const h = await app({ plugins: order })
      await h.run('a')
      h.ctx.registry.delete(reloaded)
      await h.ctx.plugin(reloaded, undefined)
      await h.run('b')
      expect(headers(await h.events())).toHaveLength(1)
      seen.add(h.requests.map(bytes).join('\n'))
      await whole(h)
    }
    expect(seen.size).toBe(1)
  })
})

describe('a listener that loses what next() returned', () => {
  const good = plugin('good', (ctx) => {
    ctx.agents.after({ key: 'mine', content: () => 'good after' })
    ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), temperature: 0.5 }))
  })
  const bad: Record<string, (ctx: Context) => void> = {
    'returns [mine] without next()': (ctx) => void ctx.on('agent/request-messages', async () => ({ before: [], after: ['mine'] }), true),
    'drops what it got': (ctx) => void ctx.on('agent/request-messages', async (_a, _t, _s, _m, next) => { await next(); return { before: [], after: [] } }, true),
    'repeats what it got': (ctx) => void ctx.on('agent/request-messages', async (_a, _t, _s, _m, next) => { const { before, after } = await next(); return { before, after: [...after, ...after] } }, true),
    'spreads the seed': (ctx) => void ctx.on('agent/request', async (_a, _t, _s, config, next) => { await next(); return { ...config, model: 'other' } }, true),
  }

  it.each(Object.entries(bad))('%s: an error by name in strict; else reported, and the others\' stand', async (_what, apply) => {
    const strict = await app({ plugins: [good, plugin('bad', apply)] })
    expect(await strict.run('a')).toMatchObject({ reason: 'error', error: { plugin: 'bad', seam: expect.stringMatching(/^agent\/request/) as string } })
    expect(strict.requests).toHaveLength(0)
    await whole(strict)
    const lax = await app({ plugins: [good, plugin('bad', apply)], settings: { strict: false } })
    expect(await lax.run('a')).toMatchObject({ reason: 'done' })
    expect(lax.reports[0]).toMatchObject({ kind: 'lost', plugin: 'bad' })
    expect(lax.requests[0]!.config.temperature).toBe(0.5)
    expect(lax.requests[0]!.owners.filter((owner) => owner === 'good/mine')).toHaveLength(1)
    await whole(lax)
  })
})

it('a message kept by its plugin and changed later, or only shallowly frozen: the model and the log have the copy, and agree', async () => {
  const kept = { role: 'system' as const, content: [{ type: 'text' as const, text: 'as it was' }] }
  Object.freeze(kept)
  const h = await app({ plugins: [plugin('keeper', (ctx) => { ctx.agents.prefix({ key: 'p', content: () => kept }); ctx.agents.after({ key: 'a', content: () => kept }) })] })
  h.agent.inject(kept)
  await h.run('a')
  kept.content[0]!.text = 'changed'
  expect(h.requests[0]!.messages.filter((message) => message.role === 'system').map(textOf)).toEqual(['as it was', 'as it was', 'as it was'])
  await whole(h)
})

it('a plugin that is unloaded after changing the model: the config stays, and its owner is on record', async () => {
  const h = await app()
  const fiber = await h.ctx.plugin(plugin('chooser', (ctx) => void ctx.on('agent/request', async (_a, _t, _s, _c, next) => ({ ...await next(), model: 'chosen' }))))
  await h.run('a')
  await fiber.dispose()
  await h.run('b')
  expect(h.requests.map(({ config }) => config.model)).toEqual(['scripted/chosen', 'scripted/chosen'])
  expect(h.agent.session.requestHeader()!.owners.config!.model).toBe('chooser/request')
  expect(headers(await h.events())).toHaveLength(1)
  await whole(h)
})

describe('a listener that breaks the contract of its seam', () => {
  const below = plugin('below', (ctx) => void ctx.agents.prefix({ key: 'p', content: () => 'below' }))
  const breaks: Record<string, (next: () => Promise<readonly unknown[]>) => unknown> = {
    'calls next() twice': async (next) => [...await next(), ...await next()],
    'throws synchronously': () => { throw new Error('boom') },
    'rejects': () => Promise.reject(new Error('boom')),
    'never settles': () => new Promise(() => undefined),
    'returns undefined': () => undefined,
    'returns a string': () => 'text',
    'mutates a downstream message': async (next) => { const messages = await next(); (messages[0] as { role: string }).role = 'user'; return messages },
  }

  it.each(Object.entries(breaks))('%s: an error names plugin and seam, the step fails cleanly, nothing is cached', async (_what, act) => {
    const h = await app({ plugins: [below], settings: { seamTimeout: 100 } })
    const fiber = await h.ctx.plugin(plugin('breaker', (ctx) => void ctx.on('agent/session-prefix', ((_a: unknown, _t: unknown, _p: unknown, next: never) => act(next)) as never, true)))
    const result = await h.run('a')
    expect(result).toMatchObject({ reason: 'error', error: { plugin: 'breaker', seam: 'agent/session-prefix' } })
    expect(result.error!.message).toContain('plugin breaker in agent/session-prefix')
    await fiber.dispose()
    expect(await h.run('b')).toMatchObject({ reason: 'done' })
    expect(h.requests.at(-1)!.owners[0]).toBe('below/p')
    await whole(h)
  })
})

it.each(['', '   ', '\n\t\u00a0'])('a contribution of %j is dropped, and is nothing on the wire', async (text) => {
  const h = await app({ plugins: [plugin('blank', (ctx) => {
    ctx.agents.prefix({ key: 'p', content: () => text })
    ctx.agents.before({ key: 'b', content: () => text })
    ctx.agents.after({ key: 'a', content: () => ({ role: 'user', content: [{ type: 'text', text }] }) })
  })] })
  h.agent.inject(text)
  await h.run('a')
  expect(h.requests[0]!.messages).toHaveLength(1)
  await whole(h)
})

it.each<[string, (index: number) => string | undefined]>([
  ['constant', () => 'same'], ['changing', (index) => `request ${index}`], ['on odd requests only', (index) => (index % 2 ? 'odd' : undefined)],
])('an after message that is %s, over four requests: nothing before it moves, each record rebuilds', async (_what, say) => {
  let index = 0
  const h = await app({ plugins: [plugin('last', (ctx) => void ctx.agents.after({ key: 'a', content: () => say(index++) }))] })
  for (const prompt of ['a', 'b', 'c', 'd']) await h.run(prompt)
  expect(h.requests).toHaveLength(4)
  expectAppendOnly(h.requests)
  for (const [position, { messages, segments }] of h.requests.entries()) {
    expect(segments.prefix + segments.before + segments.history + segments.after).toBe(messages.length)
    expect(segments).toMatchObject({ prefix: 0, before: 0, history: position * 2 + 1, after: say(position) === undefined ? 0 : 1 })
  }
  await whole(h)
})

it('a turn started by a prompt, a steer, an inject and a prompt, a resumed queue, a retry, a substitute: all run the same seams, with equal headers', async () => {
  const ran: string[] = []
  const h = await app({
    plugins: [[retry as never, { base: 1, attempts: 2, substitutes: ['scripted/two'] }], plugin('all', (ctx) => {
      ctx.agents.prefix({ key: 'p', content: () => 'prefix' })
      ctx.agents.before({ key: 'b', content: () => { ran.push('messages'); return 'before' } })
      ctx.agents.after({ key: 'a', content: () => 'after' })
      ctx.on('agent/request', (_a, _t, _s, _c, next) => { ran.push('request'); return next() })
    })],
    script: (request, index) => (index === 4 || (index > 5 && index < 8 && request.config.model === 'scripted/model') ? { error: { kind: 'server' } } : 'ok'),
  })
  await h.run('prompt')
  h.agent.steer('steer')
  await h.agent.idle()
  h.agent.inject('inject')
  await h.run('and prompt')
  await h.resume()
  h.agent.prompt('queued')
  await h.agent.idle()
  await h.run('retried')
  await h.run('substituted')
  const framing = h.requests.map(({ system, tools, messages, segments: { prefix, before, after } }) =>
    JSON.stringify([system, tools, messages.slice(0, 2), messages.slice(-1), prefix, before, after]))
  expect(new Set(framing).size).toBe(1)
  expect(h.requests.map(({ config }) => config.model)).toEqual(['scripted/model', 'scripted/model', 'scripted/model', 'scripted/model', 'scripted/model', 'scripted/model', 'scripted/model', 'scripted/model', 'scripted/two'])
  expect(ran.filter((seam) => seam === 'request')).toHaveLength(h.requests.length)
  expect(ran.filter((seam) => seam === 'messages')).toHaveLength(6)
  await whole(h)
})

describe('tools', () => {
  const define = (ctx: Context, name: string, properties: Record<string, unknown> = { a: {}, b: {} }): (() => void) =>
    ctx.tools.define({ name, description: name, parameters: { type: 'object', properties } as never, execute: () => 'ok' })

  it('registered z, a, m, then in another order: one order of tools', async () => {
    const seen = new Set<string>()
    for (const order of [['z', 'a', 'm'], ['m', 'z', 'a'], ['a', 'm', 'z']]) {
      const h = await app({ plugins: [plugin('tools', (ctx) => { for (const name of order) define(ctx, name) })] })
      await h.run('a')
      seen.add(JSON.stringify(h.requests[0]!.tools))
      await whole(h)
    }
    expect([...seen].map((tools) => (JSON.parse(tools) as { name: string }[]).map(({ name }) => name))).toEqual([['a', 'm', 'z']])
  })

  it('re-registered with its properties in another order: the recorded text is kept; with another meaning it is a header change', async () => {
    const h = await app()
    const remove = define(h.ctx, 'tool', { a: {}, b: {} })
    await h.run('a')
    remove()
    const again = define(h.ctx, 'tool', { b: {}, a: {} })
    await h.run('b')
    expect(headers(await h.events())).toHaveLength(1)
    expect(JSON.stringify(h.requests[1]!.tools)).toBe(JSON.stringify(h.requests[0]!.tools))
    again()
    define(h.ctx, 'tool', { a: { type: 'string' }, b: {} })
    await h.run('c')
    expect(headers(await h.events())).toHaveLength(2)
    await whole(h)
  })

  it('one removed and another added between two turns: a header change at a boundary; history is never rewritten', async () => {
    const h = await app()
    const remove = define(h.ctx, 'old')
    await h.run('a')
    remove()
    define(h.ctx, 'new')
    await h.run('b')
    const [delta] = of(await h.events(), 'request/header-delta')
    expect(delta!.data.delta.tools).toMatchObject({ set: [{ name: 'new' }], remove: ['old'] })
    expect(h.requests[1]!.messages.slice(0, 1)).toEqual(h.requests[0]!.messages)
    await whole(h)
  })
})

describe('resume', () => {
  const member = (name: string, wording = ''): Plugin => plugin(name, (ctx) => {
    ctx.system.section({ key: 's', content: `Section of ${name}.` })
    ctx.briefing.topic({ key: 'topic', content: () => `Topic of ${name}.${wording}` })
  })

  it('with nothing changed: requests that rebuild as before, one snapshot of references, no drift, no topic told again', async () => {
    const h = await app({ plugins: [member('one')] })
    await h.run('a')
    const before = h.agent.session.requestHeader()!
    await h.resume()
    await h.run('b')
    const [, snapshot] = of(await h.events(), 'request/header')
    expect(snapshot!.data).toMatchObject({ reason: 'resume', header: { system: { in: expect.any(Number) as number } } })
    expect(headerDrift(before, h.agent.session.requestHeader()!)).toEqual([])
    expect(h.requests[1]!.messages.slice(0, 2)).toEqual(h.requests[0]!.messages)
    expect(h.agent.session.entries().filter(({ owner }) => owner === 'one/topic')).toHaveLength(1)
    await whole(h)
  })

  it('with a plugin no longer there, and one that words its topic anew: one snapshot, drift named by field and owner, the newest text last', async () => {
    const h = await app({ plugins: [member('gone'), member('stays')] })
    await h.run('a')
    const before = h.agent.session.requestHeader()!
    const [gone, stays] = [...h.ctx.registry.entries()].filter(([, runtime]) => ['gone', 'stays'].includes(runtime.name ?? '')).map(([callback]) => callback)
    for (const callback of [gone, stays])
      for (const fiber of [...(h.ctx.registry.get(callback as never)?.fibers ?? [])]) await fiber.dispose()
    await h.ctx.plugin(member('stays', ' In new words.'), undefined)
    await h.resume()
    await h.run('b')
    expect(of(await h.events(), 'request/header').map(({ data }) => data.reason)).toEqual(['initial', 'resume'])
    expect(headerDrift(before, h.agent.session.requestHeader()!)).toMatchObject([{ field: 'system', owner: 'gone/s', change: 'removed' }])
    const told = h.agent.session.entries().filter(({ owner }) => owner === 'stays/topic').map(({ message }) => textOf(message))
    expect(told).toHaveLength(2)
    expect(told.at(-1)).toContain('In new words.')
    await whole(h)
  })

  it('after one byte of AGENTS.md changed: told once, the newest text last', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'headrace-cases-'))
    try {
      await mkdir(join(cwd, '.git'))
      await writeFile(join(cwd, 'AGENTS.md'), 'Use tabs.\n')
      const h = await app({ plugins: [[agentsMd as never, {}]], agent: { cwd } })
      await h.run('a')
      await writeFile(join(cwd, 'AGENTS.md'), 'Use tabz.\n')
      await h.resume()
      await h.run('b')
      await h.run('c')
      const told = h.agent.session.entries().filter(({ owner }) => owner.startsWith('agents-md/')).map(({ message }) => textOf(message))
      expect(told).toHaveLength(2)
      expect(told[0]).toContain('Use tabs.')
      expect(told[1]).toContain('Use tabz.')
      await whole(h)
    } finally {
      removeFolder(cwd)
    }
  })
})

describe('failures', () => {
  it('a rate limit, a broken stream: same boundary, new attempt, never spliced', async () => {
    const h = await app({ plugins: [[retry as never, { base: 1 }]], script: [{ error: { kind: 'rate-limit' } }, { text: 'half of', error: { kind: 'network' } }, 'the whole'] })
    expect(await h.run('a')).toMatchObject({ text: 'the whole', steps: 1 })
    const dispatches = of(await h.events(), 'request/dispatch')
    expect(dispatches.map(({ data }) => [data.attempt, data.boundary])).toEqual(
      [1, 2, 3].map((attempt) => [attempt, dispatches[0]!.data.boundary]),
    )
    await whole(h)
  })

  it('an overflow: restep, and a smaller request', async () => {
    const h = await app({ script: (request) => (request.segments.history > 4 ? { error: { kind: 'overflow' } } : 'ok') })
    let full = false
    h.ctx.on('agent/request-error', async (_a, _t, _s, failure, next) => { full = failure.kind === 'overflow'; return full ? 'restep' : next() })
    h.ctx.on('agent/pre-step', async (agent, _t, _s, next) => {
      const entries = agent.session.entries()
      if (full) agent.replace(entries[0]!.id, entries[3]!.id, ['Summary.'], { reason: 'overflow' })
      full = false
      return next()
    })
    for (const prompt of ['a', 'b', 'c']) expect(await h.run(prompt)).toMatchObject({ reason: 'done' })
    expect(of(await h.events(), 'step/end').map(({ data }) => data.reason)).toEqual(['done', 'done', 'restep', 'done'])
    await whole(h)
  })

  it('a substitute lasts for its step, also when a crash comes while it answers', async () => {
    const h = await app({ plugins: [[retry as never, { attempts: 1, substitutes: ['scripted/two'] }]], script: (_request, index) => [{ error: { kind: 'server' as const } }, 'ok', 'ok', { error: { kind: 'server' as const } }, { hang: true as const }, 'ok'][index] ?? 'ok' })
    await h.run('a')
    await h.run('b')
    h.agent.prompt('c')
    await expect.poll(() => h.requests.length).toBe(5)
    await h.resume()
    h.agent.wake()
    await h.agent.idle()
    await h.run('d')
    expect(h.requests.map(({ config }) => config.model)).toEqual(['scripted/model', 'scripted/two', 'scripted/model', 'scripted/model', 'scripted/two', 'scripted/model'])
    await whole(h)
  })
})

it('a plugin whose apply takes its time, and a prompt at once: all it brings is in the first request; a later prefix listener is reported by name', async () => {
  const h = await app()
  const loads = gate()
  void h.ctx.plugin({ name: 'slow', inject: ['agents', 'tools', 'system', 'briefing'], apply: async (ctx: Context) => {
    await loads.promise
    ctx.agents.prefix({ key: 'p', content: () => 'slow prefix' })
    ctx.system.section({ key: 's', content: 'Slow section.' })
    ctx.tools.define({ name: 'slow', description: '', parameters: { type: 'object' }, execute: () => 'ok' })
    ctx.briefing.topic({ key: 't', content: () => 'Slow topic.' })
  } })
  const running = h.run('a')
  await turns()
  expect(h.requests).toEqual([])
  loads.open()
  await running
  expect(h.requests[0]).toMatchObject({ system: 'Slow section.', tools: [{ name: 'slow' }], owners: ['slow/p', 'slow/t', 'user'] })
  await h.ctx.plugin(plugin('late', (ctx) => void ctx.agents.prefix({ key: 'p', content: () => 'too late' })))
  await h.run('b')
  expect(h.reports).toMatchObject([{ kind: 'late', plugin: 'late', seam: 'agent/session-prefix' }])
  expect(h.requests[1]!.owners).not.toContain('late/p')
  await whole(h)
})

describe('an inject()', () => {
  const roles = (request: Request): readonly string[] =>
    request.messages.slice(0, request.messages.length - request.segments.after).map((message) => message.role)

  it('while a tool runs lands behind the batch; while the model streams, behind the step: never between a call and its result', async () => {
    const h = await app({ script: (_request, index) => (index === 0 ? { text: 'Let me look.', calls: [{ name: 'slow' }, { name: 'slow' }] } : 'ok') })
    h.ctx.tools.define({ name: 'slow', description: '', parameters: { type: 'object' }, execute: async (_input, { agent }) => { agent.inject('from a tool'); await turns(); return 'ok' } })
    h.agent.session.on('chunk', (chunk) => { if (chunk.type === 'text' && chunk.text === 'Let me look.') h.agent.inject('while it streams') })
    await h.run('a')
    expect(roles(h.requests[1]!)).toEqual(['user', 'assistant', 'tool', 'tool', 'system', 'system', 'system'])
    expect(h.requests[1]!.messages.slice(4).map(textOf)).toEqual(['while it streams', 'from a tool', 'from a tool'])
    await whole(h)
  })

  it.each(['agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request', 'agent/request-messages', 'tools/pre-execute', 'tools/execute', 'tools/post-execute'] as const)('from inside %s lands where the model sees it once, and pairs stay adjacent', async (seam) => {
    const h = await app({ script: (_request, index) => (index === 0 ? { calls: [{ name: 'tool' }] } : 'ok') })
    h.ctx.tools.define({ name: 'tool', description: '', parameters: { type: 'object' }, execute: () => 'ok' })
    let once = false
    h.ctx.on(seam, ((agent: Harness['agent'], ...rest: unknown[]) => {
      if (!once) agent.inject(`from ${seam}`)
      once = true
      return (rest.at(-1) as () => unknown)()
    }) as never)
    await h.run('a')
    await h.run('b')
    const last = h.requests.at(-1)!
    expect(last.messages.filter((message) => textOf(message) === `from ${seam}`)).toHaveLength(1)
    const order = roles(last)
    expect(order[order.indexOf('assistant') + 1]).toBe('tool')
    expectAppendOnly(h.requests)
    await whole(h)
  })
})

it('content given as a string and as one text block has one representation, the same on replay', async () => {
  const seen = new Set<string>()
  for (const content of ['hello', [{ type: 'text', text: 'hello' }], ['hello'], [{ text: 'hello', type: 'text' }, { type: 'text', text: '' }]] as const) {
    const h = await app()
    h.agent.inject({ role: 'user', content: content as never })
    await h.agent.prompt(content as never).result
    seen.add(JSON.stringify(h.requests[0]!.messages))
    await h.resume()
    seen.add(JSON.stringify(h.agent.session.deriveMessages().slice(0, 2)))
    await whole(h)
  }
  expect(seen.size).toBe(1)
})
