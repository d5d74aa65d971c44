import { describe, expect, it } from 'vitest'
import { SettingsSchema } from '@headrace/agent/internal'
import { HeaderFold, diffHeader, verify } from '@headrace/session'
import { stopClock } from '@headrace/testing/clock'
import { gate, turns } from '@headrace/testing/gate'
import { app, calls, eventsOf, expectRebuilds, plugin, system, textsOf, tool } from './help.ts'

describe('L5 The prefix is frozen', () => {
  it('composed once per loop instance, lazily, on its first request-building step', async () => {
    const composed: string[] = []
    let blocks = true
    const made = await app({
      script: [calls('look'), 'Done.'],
      plugins: [plugin('opener', (ctx) => {
        tool(ctx, 'look')
        ctx.agents.prefix({ key: 'opener', content: () => `prefix ${composed.push('composed')}` })
        ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => (blocks ? { block: 'not yet' } : next()))
      })],
    })
    await made.run('Blocked.')
    expect(composed).toHaveLength(0)
    blocks = false
    await made.run('One.')
    await made.run('Two.')
    expect(composed).toHaveLength(1)
    await made.resume()
    expect(composed).toHaveLength(1)
    await made.run('Three.')
    expect(composed).toHaveLength(2)
    expect(made.requests.map((request) => textsOf(request)[0])).toEqual(['prefix 1', 'prefix 1', 'prefix 1', 'prefix 2'])
    await expectRebuilds(made)
  })

  it('reused verbatim by every request the instance sends, side requests and retries too', async () => {
    const { run, agent, requests } = await app({
      script: [{ error: {} }, 'Done.', 'A title.', 'Done.'],
      plugins: [plugin('opener', (ctx) => {
        ctx.agents.prefix({ key: 'opener', content: () => ['one', { role: 'user', content: 'two' }] })
        ctx.on('agent/request-error', async () => 'retry')
      })],
    })
    await run('One.')
    await agent.ask(['Title?'], { purpose: 'title' })
    await run('Two.')
    expect(requests).toHaveLength(4)
    for (const request of requests) {
      expect(request.segments.prefix).toBe(2)
      for (const index of [0, 1]) expect(request.messages[index]).toBe(requests[0]!.messages[index])
    }
  })

  it('a fork reuses its parent’s, and composes none', async () => {
    let composed = 0
    const made = await app({ plugins: [plugin('opener', (ctx) => ctx.agents.prefix({ key: 'opener', content: () => `prefix ${++composed}` }))] })
    await made.run('One.')
    const fork = await made.ctx.agents.fork('test', { id: 'fork' })
    await fork.prompt('Two.').result
    expect(composed).toBe(1)
    expect(made.requests.map((request) => textsOf(request)[0])).toEqual(['prefix 1', 'prefix 1'])
    expect(made.requests[1]!.owners[0]).toBe('opener/opener')
    expect(verify(fork.session.events())).not.toHaveProperty('difference')
    await fork.dispose()
  })

  it('no log holds a prefix delta: another prefix is a snapshot, and a log that has one is refused', async () => {
    let words = 'old'
    const made = await app({ plugins: [plugin('opener', (ctx) => ctx.agents.prefix({ key: 'opener', content: () => words }))] })
    await made.run('One.')
    words = 'new'
    await made.resume()
    await made.run('Two.')
    const headers = eventsOf(await made.events(), 'request/header', 'request/header-delta')
    expect(headers.map(({ type, data }) => ('reason' in data ? data.reason : type))).toEqual(['initial', 'resume'])
    const [from, to] = headers.map(({ data }) => ({ ...('header' in data && data.header), owners: {} })) as never[]
    expect(diffHeader(from!, to!)).toBe('fallback')

    const log = [...await made.events()]
    const at = log.findLastIndex(({ type }) => type === 'request/header')
    log[at] = { ...log[at]!, type: 'request/header-delta', data: { delta: { prefix: [system('new')] } } } as never
    expect(verify(log).difference).toMatchObject({ seq: at, what: expect.stringContaining('prefix') as unknown })
    expect(() => new HeaderFold().apply(log[at]!)).toThrow()
  })

  it('a composition that threw is discarded, never cached', async () => {
    let tries = 0
    const { run, requests } = await app({
      plugins: [plugin('shaky', (ctx) => ctx.agents.prefix({ key: 'opener', content: () => {
        if (++tries === 1) throw new Error('not now')
        return `try ${tries}`
      } }))],
    })
    expect(await run('One.')).toMatchObject({ reason: 'error', error: { plugin: 'shaky', seam: 'agent/session-prefix' } })
    expect(requests).toHaveLength(0)
    expect(await run('Two.')).toMatchObject({ reason: 'done' })
    expect(textsOf(requests[0]!)).toEqual(['try 2', 'One.', 'Two.'])
  })

  it('nor one that was cancelled, though it finishes later', async () => {
    let tries = 0
    const started = gate()
    const slow = gate()
    const { agent, run, requests } = await app({
      plugins: [plugin('slow', (ctx) => ctx.agents.prefix({ key: 'opener', content: async () => {
        if (++tries > 1) return `try ${tries}`
        started.open()
        await slow.promise
        return 'too late'
      } }))],
    })
    const first = agent.prompt('One.')
    await started.promise
    first.cancel()
    expect(await first.result).toMatchObject({ reason: 'cancelled' })
    slow.open()
    await turns()
    await run('Two.')
    expect(textsOf(requests[0]!)).toEqual(['try 2', 'One.', 'Two.'])
  })
})

describe('L5 The prefix is frozen: it waits for plugins that are loading', () => {
  it('ahead of agent/prompt-submit: all of a plugin whose apply takes its time is in the first request', async () => {
    const { ctx, run, requests } = await app()
    const loads = gate()
    void ctx.plugin(plugin('slow', async (inner) => {
      await loads.promise
      inner.agents.prefix({ key: 'opener', content: () => 'prefix' })
      inner.system.section({ key: 'role', content: 'section' })
      tool(inner, 'look')
      inner.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => ({ ...await next(), additionalContext: ['submitted'] }))
    }))
    const running = run('Hi.')
    await turns()
    expect(requests).toEqual([])
    loads.open()
    await running
    const [request] = requests
    expect([textsOf(request!), request!.system, request!.tools?.map(({ name }) => name)]).toEqual([['prefix', 'Hi.', 'submitted'], 'section', ['look']])
  })

  it('looking again after each that settles', async () => {
    const { ctx, run, requests } = await app()
    const chain = (depth: number): ReturnType<typeof plugin> => plugin(`depth-${depth}`, async (inner) => {
      await turns()
      if (depth < 3) void inner.plugin(chain(depth + 1))
      else inner.agents.prefix({ key: 'opener', content: () => 'from the last' })
    })
    void ctx.plugin(chain(1))
    await run('Hi.')
    expect(textsOf(requests[0]!)).toEqual(['from the last', 'Hi.'])
  })

  it('5 s by default; a plugin that is still loading then is reported by name', async () => {
    expect(SettingsSchema({}).loadTimeout).toBe(5_000)
    const clock = stopClock()
    const { ctx, run, requests, reports } = await app({ settings: { loadTimeout: 40 }, reports: 'allow' })
    const stuck = gate()
    void ctx.plugin(plugin('stuck', () => stuck.promise))
    const running = run('Hi.')
    await clock.pass(39)
    expect(requests).toEqual([])
    await clock.pass(1)
    expect(await running).toMatchObject({ reason: 'done' })
    expect(requests).toHaveLength(1)
    expect(reports).toMatchObject([{ kind: 'loading', plugin: 'stuck' }])
    stuck.open()
  })

  it('abortable, and then waited for anew', async () => {
    const { ctx, agent, run, requests } = await app()
    const loads = gate()
    void ctx.plugin(plugin('slow', async (inner) => {
      await loads.promise
      inner.agents.prefix({ key: 'opener', content: () => 'prefix' })
    }))
    const first = agent.prompt('One.')
    await turns()
    first.cancel()
    expect(await first.result).toMatchObject({ reason: 'cancelled', steps: 0 })
    const second = run('Two.')
    await turns()
    expect(requests).toEqual([])
    loads.open()
    await second
    expect(textsOf(requests[0]!)).toEqual(['prefix', 'Two.'])
  })

  it('a prefix listener that comes later is reported by name, once, and not heard until a resume', async () => {
    const made = await app({ reports: 'allow', plugins: [plugin('early', (ctx) => ctx.agents.prefix({ key: 'one', content: () => 'early' }))] })
    await made.run('One.')
    await made.ctx.plugin(plugin('late', (ctx) => ctx.agents.prefix({ key: 'two', content: () => 'late' })))
    await made.run('Two.')
    await made.run('Three.')
    expect(made.reports).toMatchObject([{ kind: 'late', plugin: 'late', seam: 'agent/session-prefix' }])
    expect(textsOf(made.requests[2]!)[0]).toBe('early')
    await made.resume()
    await made.run('Four.')
    expect(textsOf(made.requests[3]!).slice(0, 2)).toEqual(['early', 'late'])
  })

  it('so is a second listener of a plugin that has one already', async () => {
    let context: Parameters<Parameters<typeof plugin>[1]>[0] | undefined
    const { run, reports } = await app({ reports: 'allow', plugins: [plugin('grows', (ctx) => {
      context = ctx
      ctx.agents.prefix({ key: 'one', content: () => 'early' })
    })] })
    await run('One.')
    context!.agents.prefix({ key: 'two', content: () => 'late' })
    await run('Two.')
    expect(reports).toMatchObject([{ kind: 'late', plugin: 'grows' }])
  })
})
