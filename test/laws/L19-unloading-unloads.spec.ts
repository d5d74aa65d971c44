import { describe, expect, it } from 'vitest'
import briefing from '@headrace/briefing'
import { gate } from '@headrace/testing/gate'
import { app, calls, eventsOf, expectRebuilds, plugin, textsOf, tool } from './help.ts'

describe('L19 Unloading unloads', () => {
  it('its listeners, tools and sections are gone at the next boundary, in mid-turn', async () => {
    const heard: string[] = []
    const made = await app({ script: [calls('unload'), calls('unload'), 'Done.'] })
    const fiber = made.ctx.plugin(plugin('guest', (ctx) => {
      tool(ctx, 'guest-tool')
      ctx.system.section({ key: 'role', content: 'guest section' })
      ctx.agents.before({ key: 'frame', content: () => 'guest before' })
      ctx.agents.after({ key: 'fresh', content: () => 'guest after' })
      for (const seam of ['agent/pre-step', 'agent/request', 'tools/pre-execute'] as const) {
        ctx.on(seam, async (...args: unknown[]) => {
          heard.push(seam)
          return (args.at(-1) as () => never)()
        })
      }
      ctx.on('session/event', () => void heard.push('session/event'))
    }))
    await fiber
    await made.ctx.plugin(plugin('host', (ctx) => tool(ctx, 'unload', async () => {
      await fiber.dispose()
      heard.length = 0
      return 'unloaded'
    })))
    await made.run('Hi.')
    expect(textsOf(made.requests[0]!)).toEqual(['guest before', 'Hi.', 'guest after'])
    expect([made.requests[0]!.system, made.requests[0]!.tools!.length]).toEqual(['guest section', 2])
    expect(textsOf(made.requests[1]!)).toEqual(['Hi.', '', 'unload: unloaded'])
    expect([made.requests[1]!.system, made.requests[1]!.tools!.map(({ name }) => name)]).toEqual([undefined, ['unload']])
    expect(heard).toEqual([])
    await expectRebuilds(made)
  })

  it('its topics and timers too; what a topic told stays', async () => {
    let [ticks, state] = [0, 1]
    const made = await app({ plugins: [briefing] })
    const fiber = made.ctx.plugin({ ...plugin('guest', (ctx) => {
      ctx.briefing.topic({ key: 'state', content: () => `state ${state}` })
      ctx.effect(() => {
        const timer = setInterval(() => ticks++, 1)
        return () => clearInterval(timer)
      })
    }), inject: ['briefing'] })
    await fiber
    await made.run('One.')
    state = 2
    await made.run('Two.')
    await fiber.dispose()
    const ticked = ticks
    state = 3
    await made.run('Three.')
    expect(textsOf(made.requests[2]!).join()).toMatch(/state 1.*One.*state 2.*Two.*Three/s)
    expect(textsOf(made.requests[2]!).join()).not.toContain('state 3')
    expect(ticks).toBe(ticked)
    await expectRebuilds(made)
  })

  it.each(['agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request', 'agent/request-messages', 'tools/pre-execute', 'tools/post-execute', 'agent/turn-stopping'] as const)('a listener of %s whose fiber went away while it ran counts as passed through', async (seam) => {
    for (const called of [false, true]) {
      const running = gate()
      const made = await app({ script: [calls('look'), 'Done.'] })
      await made.ctx.plugin(plugin('inner', (ctx) => {
        tool(ctx, 'look')
        ctx.agents.prefix({ key: 'p', content: () => 'inner prefix' })
        ctx.agents.before({ key: 'b', content: () => 'inner before' })
        ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: ['inner context'] }))
        ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), topP: 0.5 }))
      }))
      const fiber = made.ctx.plugin(plugin('leaver', (ctx) => {
        ctx.on(seam, async (...args: unknown[]) => {
          if (called && seam !== 'agent/turn-stopping') await (args.at(-1) as () => Promise<unknown>)()
          running.open()
          return new Promise<never>(() => undefined)
        }, { prepend: true })
      }))
      await fiber
      const handle = made.agent.prompt('Hi.')
      await running.promise
      await fiber.dispose()
      expect(await handle.result).toMatchObject({ reason: 'done', text: 'Done.' })
      expect(textsOf(made.requests[1]!)).toEqual(['inner prefix', 'inner before', 'Hi.', '', 'look: fine', 'inner context'])
      expect(made.requests.map(({ config }) => config.topP)).toEqual([0.5, 0.5])
      expect(made.reports).toEqual([])
      await expectRebuilds(made)
    }
  })

  it('so does one that throws because its plugin is going', async () => {
    const running = gate()
    const made = await app()
    const fiber = made.ctx.plugin(plugin('leaver', (ctx) => {
      const gone = gate()
      ctx.effect(() => () => gone.open())
      ctx.on('agent/pre-step', async () => {
        running.open()
        await gone.promise
        throw new Error('I am going')
      })
    }))
    await fiber
    const handle = made.agent.prompt('Hi.')
    await running.promise
    await fiber.dispose()
    expect(await handle.result).toMatchObject({ reason: 'done' })
  })

  it('a call to a tool that left is an error result that says so: before it ran, and while it ran', async () => {
    const running = gate()
    const made = await app({ script: [calls('guest'), 'Done.', calls('guest'), 'Done.'] })
    const guest = plugin('guest', (ctx) => tool(ctx, 'guest', () => {
      running.open()
      return new Promise(() => undefined)
    }))
    let fiber = made.ctx.plugin(guest)
    await fiber
    const watcher = made.ctx.plugin(plugin('host', (ctx) => void ctx.on('llm/stream', (_agent, _turn, _request, next) => {
      void fiber.dispose()
      return next()
    })))
    await watcher
    await made.run('One.')
    await watcher.dispose()
    fiber = made.ctx.plugin(guest)
    await fiber
    const handle = made.agent.prompt('Two.')
    await running.promise
    await fiber.dispose()
    expect(await handle.result).toMatchObject({ reason: 'done' })
    const results = eventsOf(await made.events(), 'tool/result')
    expect(results.map(({ data }) => [data.outcome, data.message.content[0].error])).toEqual([['error', true], ['error', true]])
    for (const { data } of results) expect(JSON.stringify(data.message)).toContain('is gone: its plugin was unloaded')
    // The one that had left is not even started.
    expect(eventsOf(await made.events(), 'tool/start')).toHaveLength(1)
    await expectRebuilds(made)
  })

  it('what it told the log stays: messages, results, config', async () => {
    const made = await app({ script: [calls('guest'), 'Done.'] })
    const fiber = made.ctx.plugin(plugin('guest', (ctx) => {
      tool(ctx, 'guest', () => 'told')
      ctx.on('agent/pre-step', async (agent, _turn, step, next) => {
        if (step.number === 1) agent.inject('injected')
        return next()
      })
      ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), temperature: 0.5 }))
    }))
    await fiber
    await made.run('One.')
    await fiber.dispose()
    await made.run('Two.')
    expect(textsOf(made.requests[2]!)).toEqual(['One.', 'injected', '', 'guest: told', 'Done.', 'Two.'])
    expect(made.requests[2]!.owners[1]).toBe('guest/inject')
    expect(made.requests[2]!.config.temperature).toBe(0.5)
    expect(made.agent.session.requestHeader()!.owners.config).toMatchObject({ temperature: 'guest/request' })
    await expectRebuilds(made)
  })

  it('what was registered on agent.ctx serves that agent, and goes with it', async () => {
    const made = await app()
    const other = await made.ctx.agents.create({ id: 'other', model: 'scripted/model' })
    tool(made.agent.ctx, 'mine')
    await made.agent.ctx.plugin(plugin('own', (ctx) => ctx.agents.before({ key: 'b', content: () => 'mine' })))
    await made.run('One.')
    await other.prompt('One.').result
    expect(made.requests.map(({ tools, segments }) => [tools?.length ?? 0, segments.before])).toEqual([[1, 1], [0, 0]])
    await made.resume()
    await made.run('Two.')
    expect([made.requests[2]!.tools, made.requests[2]!.segments.before]).toEqual([undefined, 0])
    await other.dispose()
  })

  it('an agent goes with the plugin that created it', async () => {
    const made = await app()
    const fiber = made.ctx.plugin(plugin('owner', async (ctx) => void await ctx.agents.create({ id: 'owned', model: 'scripted/model' })))
    await fiber
    expect(made.ctx.agents.ids()).toEqual(['test', 'owned'])
    await fiber.dispose()
    expect(made.ctx.agents.ids()).toEqual(['test'])
    const again = await made.ctx.agents.resume('owned')
    await again.dispose()
  })
})
