import { describe, expect, it } from 'vitest'
import type { CallConfig } from '@headrace/message'
import { app, calls, eventsOf, expectRebuilds, plugin, thrownBy, tool } from './help.ts'

/** Keeps every seed it is shown, and passes on. */
function seeds(list: CallConfig[]): ReturnType<typeof plugin> {
  return plugin('seeds', (ctx) => void ctx.on('agent/request', async (_agent, _turn, _step, config, next) => {
    list.push(config)
    return next()
  }))
}

/** Sets fields of the config. */
function sets(name: string, fields: () => Partial<CallConfig>): ReturnType<typeof plugin> {
  return plugin(name, (ctx) => void ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), ...fields() })))
}

describe('L6 Config-only means config only', () => {
  it.each(['messages', 'system', 'tools', 'prefix', 'before', 'after', 'owners'])('agent/request cannot reach %s', async (field) => {
    const { run, requests } = await app({ plugins: [sets('reaches', () => ({ [field]: [] }))] })
    expect(await run('Hi.')).toMatchObject({ reason: 'error', error: { plugin: 'reaches', seam: 'agent/request' } })
    expect(requests).toHaveLength(0)
  })

  it('its seed is frozen, a substitute’s too', async () => {
    const thrown: unknown[] = []
    const { run, requests } = await app({
      script: [{ error: {} }, 'Done.'],
      plugins: [plugin('mutator', (ctx) => {
        ctx.on('agent/request-error', async () => ({ retry: { config: { temperature: 0, stop: ['END'] } } }))
        ctx.on('agent/request', async (_agent, _turn, _step, config, next) => {
          thrown.push(thrownBy(() => Object.assign(config, { model: 'mine' })))
          thrown.push(thrownBy(() => (config.stop as string[] | undefined)?.push('mine')))
          const below = await next()
          thrown.push(thrownBy(() => Object.assign(below, { model: 'mine' })))
          return below
        })
      })],
    })
    await run('Hi.')
    expect(requests.map(({ config }) => config.model)).toEqual(['scripted/model', 'scripted/model'])
    expect(thrown.map((error) => error instanceof TypeError)).toEqual([true, false, true, true, true, true])
  })

  it('on a first request, options given explicitly beat the logged baseline field by field', async () => {
    const list: CallConfig[] = []
    const made = await app({
      agent: { config: { temperature: 0.1, topP: 0.5, stop: ['END'] } },
      plugins: [seeds(list)],
    })
    made.ctx.agents.default({ maxOutputTokens: 100, temperature: 0.9 })
    await made.run('One.')
    await made.resume({ config: { temperature: 0.7 } })
    await made.run('Two.')
    expect(list).toMatchObject([{ temperature: 0.1, topP: 0.5, stop: ['END'] }, { model: 'scripted/model', temperature: 0.7, topP: 0.5, stop: ['END'], maxOutputTokens: 100 }])
    await expectRebuilds(made)
  })

  it('afterwards the seed is the log’s folded config: what a listener returned is state until someone returns otherwise', async () => {
    const list: CallConfig[] = []
    let model: string | undefined = 'big'
    const made = await app({ plugins: [seeds(list), sets('chooser', () => (model === undefined ? {} : { model }))] })
    await made.run('One.')
    model = undefined
    await made.run('Two.')
    model = 'small'
    await made.run('Three.')
    await made.run('Four.')
    expect(list.map((seed) => seed.model)).toEqual(['scripted/model', 'scripted/big', 'scripted/big', 'scripted/small'])
    expect(made.requests.map(({ config }) => config.model)).toEqual(['scripted/big', 'scripted/big', 'scripted/small', 'scripted/small'])
  })

  it('the same holds for a resume that says nothing: the log beats defaults', async () => {
    const made = await app({ plugins: [sets('chooser', () => ({ model: 'big' }))] })
    await made.run('One.')
    await made.resume()
    made.ctx.agents.default({ model: 'scripted/another' })
    const list: CallConfig[] = []
    await made.ctx.plugin(seeds(list))
    await made.run('Two.')
    expect(list[0]!.model).toBe('scripted/big')
  })

  it('a substitute lasts for its step: seeds and the resume baseline pass over it', async () => {
    const list: CallConfig[] = []
    const made = await app({
      script: [{ error: {} }, calls('look'), 'Done.', { error: {} }, 'Done.', 'Done.'],
      plugins: [seeds(list), plugin('retry', (ctx) => {
        tool(ctx, 'look')
        ctx.on('agent/request-error', async () => ({ retry: { config: { model: 'spare' } } }))
      })],
    })
    await made.run('One.')
    expect(made.requests.map(({ config }) => config.model)).toEqual(['scripted/model', 'scripted/spare', 'scripted/model'])
    expect(list.map((seed) => seed.model)).toEqual(['scripted/model', 'scripted/spare', 'scripted/model'])
    expect(eventsOf(await made.events(), 'request/header-delta').map(({ data }) => [data.delta.config!.model, data.substitute])).toEqual([['scripted/spare', true], ['scripted/model', undefined]])
    await made.run('Two.')
    await made.resume()
    await made.run('Three.')
    expect(made.requests.slice(3).map(({ config }) => config.model)).toEqual(['scripted/model', 'scripted/spare', 'scripted/model'])
    await expectRebuilds(made)
  })

  it('so a listener is idempotent: one that says what changes, and not what holds, never comes to rest (the growth kit finds it)', async () => {
    const { run, requests } = await app({ agent: { config: { maxOutputTokens: 1 } }, plugins: [plugin('doubles', (ctx) => void ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => {
      const config = await next()
      return { ...config, maxOutputTokens: config.maxOutputTokens! * 2 }
    }))] })
    for (const prompt of ['One.', 'Two.', 'Three.']) await run(prompt)
    expect(requests.map(({ config }) => config.maxOutputTokens)).toEqual([2, 4, 8])
  })

  it('agent.configure(patch) changes the seed of the next request, and stays', async () => {
    const list: CallConfig[] = []
    const made = await app({ plugins: [seeds(list)] })
    made.agent.configure({ temperature: 0.3 })
    await made.run('One.')
    made.agent.configure({ model: 'other' })
    await made.run('Two.')
    await made.run('Three.')
    expect(list).toMatchObject([{ model: 'scripted/model', temperature: 0.3 }, { model: 'scripted/other', temperature: 0.3 }, { model: 'scripted/other', temperature: 0.3 }])
    await made.resume()
    await made.run('Four.')
    expect(list.at(-1)).toMatchObject({ model: 'scripted/other', temperature: 0.3 })
  })

  it.each(['agent/session-prefix', 'agent/request', 'agent/request-messages', 'llm/stream'] as const)('also where it is called inside %s', async (seam) => {
    const list: CallConfig[] = []
    const { run } = await app({
      plugins: [seeds(list), plugin('inside', (ctx) => {
        let done = false
        ctx.on(seam, (...args: unknown[]) => {
          if (!done) (args[0] as { configure(patch: object): void }).configure({ temperature: 0.5 })
          done = true
          return (args.at(-1) as () => never)()
        })
      })],
    })
    await run('One.')
    await run('Two.')
    expect(list.at(-1)!.temperature).toBe(0.5)
  })

  it('and where the request that was to have it could not be sent', async () => {
    const list: CallConfig[] = []
    const made = await app({
      plugins: [seeds(list), plugin('rescue', (ctx) => {
        ctx.on('agent/request-error', async () => ({ retry: { config: { model: 'scripted/model' } } }))
      })],
    })
    await made.run('One.')
    made.agent.configure({ model: 'nowhere/model', temperature: 0.5 })
    await made.run('Two.')
    list.length = 0
    await made.run('Three.')
    expect(list[0]).toMatchObject({ model: 'nowhere/model', temperature: 0.5 })
    expect(made.requests.map(({ config }) => config.model)).toEqual(['scripted/model', 'scripted/model', 'scripted/model'])
    await expectRebuilds(made)
  })

  it('an unloaded plugin’s config stays, and its owner is on record', async () => {
    const made = await app()
    const fiber = made.ctx.plugin(sets('chooser', () => ({ model: 'big' })))
    await fiber
    await made.run('One.')
    await fiber.dispose()
    await made.run('Two.')
    expect(made.requests.map(({ config }) => config.model)).toEqual(['scripted/big', 'scripted/big'])
    expect(made.agent.session.requestHeader()!.owners.config).toMatchObject({ model: 'chooser/request' })
  })

  describe('a model is `provider/name`', () => {
    it('and one of another provider goes there, from a seam as from anywhere', async () => {
      const asked: [provider: string, model: string][] = []
      const made = await app({
        plugins: [plugin('other', (ctx) => void ctx.llm.adapter('other', {
          async *stream(_request, { provider, model }) {
            asked.push([provider, model])
            yield { type: 'text', text: 'ok' }
            yield { type: 'finish', reason: 'stop' }
          },
        })), sets('chooser', () => ({ model: 'other/maker/large' }))],
      })
      expect((await made.run('One.')).reason).toBe('done')
      expect(asked).toEqual([['other', 'maker/large']])
      await made.agent.ask(['A title?'], { purpose: 'title', config: { model: 'small' } })
      expect(asked[1]).toEqual(['other', 'small'])
      const events = await made.events()
      expect(JSON.stringify(events)).not.toContain('"provider"')
      expect(eventsOf(events, 'request/dispatch').at(-1)!.data).toMatchObject({ config: { model: 'other/small' } })
    })

    it('without a slash it keeps the provider of what it replaces: what `next()` returned in a listener, else the baseline', async () => {
      const list: CallConfig[] = []
      const made = await app({
        plugins: [
          sets('outer', () => ({ model: 'large' })),
          plugin('inner', (ctx) => void ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => {
            await next()
            return { model: 'scripted/inner' }
          })),
          seeds(list),
        ],
        agent: { model: 'elsewhere/model' },
      })
      await made.run('One.')
      expect(made.requests.map(({ config }) => config.model)).toEqual(['scripted/large'])
      made.agent.configure({ model: 'patched' })
      await made.run('Two.')
      expect(list.at(-1)!.model).toBe('scripted/patched')
      const child = await made.ctx.agents.fork('test', { id: 'child', model: 'forked' })
      expect(child.id).toBe('child')
      await child.prompt('Three.').result
      expect(list.at(-1)!.model).toBe('scripted/forked')
    })

    it('with none to keep it is refused where it is given', async () => {
      const made = await app()
      const refusal = /names no provider, and replaces no model that has one; write provider\/name/
      await expect(made.ctx.agents.create({ model: 'bare' })).rejects.toThrow(refusal)
      expect(() => made.ctx.agents.default({ model: 'bare' })).toThrow(refusal)
      const bare = await made.ctx.agents.create({ id: 'bare' })
      expect(() => bare.configure({ model: 'bare' })).toThrow(refusal)
      await bare.dispose()
      await expect(made.ctx.agents.resume('bare', { model: 'bare' })).rejects.toThrow(refusal)
      await (await made.ctx.agents.resume('bare', { model: 'scripted/model' })).dispose()
      const fallback = made.ctx.agents.default({ model: 'scripted/first' })
      made.ctx.agents.default({ model: 'second' })
      const agent = await made.ctx.agents.create({ model: 'third' })
      await agent.prompt('One.').result
      fallback()
      expect(made.requests.at(-1)!.config.model).toBe('scripted/third')
    })

    it('and there is no field beside it', async () => {
      const made = await app({ reports: 'allow' })
      expect(() => made.agent.configure({ provider: 'p', model: 'm' } as never)).toThrow('has no field "provider": it stands in front of the model')
      await expect(made.ctx.agents.create({ config: { provider: 'p' } } as never)).rejects.toThrow('has no field "provider"')
    })
  })
})
