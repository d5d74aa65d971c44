import type { Context } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import { type Harness, harness } from '@headrace/testing'
import { textOf } from '@headrace/message'
import { describe, expect, it } from 'vitest'

type Apply = (ctx: Context) => unknown

const plugin = (name: string, apply: Apply) => ({ name, inject: ['agents', 'tools', 'system', 'briefing'], apply: async (ctx: Context) => void await apply(ctx) })

async function app(...plugins: readonly ReturnType<typeof plugin>[]): Promise<Harness> {
  return harness({ plugins: [BriefingService, ...plugins], script: [{ calls: [{ name: 'look' }] }, 'ok'] })
}

/** The four places that take what has a key. */
const places: Record<string, (ctx: Context, given: unknown) => unknown> = {
  'ctx.system.section': (ctx, given) => ctx.system.section(given as never),
  'ctx.briefing.topic': (ctx, given) => ctx.briefing.topic(given as never),
  'ctx.agents.prefix': (ctx, given) => ctx.agents.prefix(given as never),
  'ctx.agents.before': (ctx, given) => ctx.agents.before(given as never),
  'ctx.agents.after': (ctx, given) => ctx.agents.after(given as never),
}

describe('what has a key has one shape: { key, order?, content }', () => {
  it('with a text as content at every place, or a function that gives one; each signs plugin/key', async () => {
    const h = await app(plugin('guide', (ctx) => {
      for (const [name, register] of Object.entries(places)) {
        register(ctx, { key: 'text', content: `${name} text` })
        register(ctx, { key: 'fn', order: -1, content: () => `${name} fn` })
      }
    }))
    await h.run('Hello')
    const [request] = h.requests
    expect(request!.system).toBe('ctx.system.section fn\n\nctx.system.section text')
    expect(request!.messages.map((message, index) => `${request!.owners[index]}: ${textOf(message)}`)).toEqual([
      'guide/fn: ctx.agents.prefix fn', 'guide/text: ctx.agents.prefix text',
      'guide/fn: ctx.agents.before fn', 'guide/text: ctx.agents.before text',
      'guide/fn: ctx.briefing.topic fn', 'guide/text: ctx.briefing.topic text', 'user: Hello',
      'guide/fn: ctx.agents.after fn', 'guide/text: ctx.agents.after text',
    ])
    await h.dispose()
  })

  it('and a contribution is a text or { key?, role?, content }, wherever one stands', async () => {
    const h = await app(plugin('guide', (ctx) => {
      ctx.tools.define({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
      ctx.agents.after({ key: 'user', content: { role: 'user', content: 'as the user' } })
      ctx.agents.after({ key: 'own', content: () => [{ key: 'own', content: 'its own key' }, { content: 'without a role' }] })
      ctx.on('agent/request-messages', async (_agent, _turn, _step, _messages, next) => {
        const { before, after } = await next()
        return { before: [{ key: 'raw', role: 'user', content: 'raw' }, ...before], after }
      })
      ctx.on('agent/prompt-submit', async (agent, _turn, _submission, next) => {
        agent.inject({ key: 'injected', role: 'user', content: 'injected' })
        return { ...await next(), additionalContext: [{ key: 'context', content: 'context' }] }
      })
    }))
    await h.run('Hello')
    expect(h.requests[0]!.messages.map(({ role }, index) => `${h.requests[0]!.owners[index]} ${role}`)).toEqual([
      'guide/raw user', 'guide/injected user', 'user user', 'guide/context system', 'guide/own system', 'guide/own system', 'guide/user user',
    ])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('and a keyed function gives none with another key', async () => {
    const h = await harness({ reports: 'allow', plugins: [BriefingService, plugin('guide', (ctx) => ctx.agents.after({ key: 'mine', content: () => ({ key: 'other', content: 'x' }) }))] })
    expect(await h.run('Hello')).toMatchObject({ reason: 'error', error: { plugin: 'guide', message: expect.stringContaining('with the key "other" under "mine"') as unknown } })
    await h.dispose()
  })
})

describe('what is registered wrongly is refused when it is registered', () => {
  it.each(Object.entries(places))('%s', async (name, register) => {
    const h = await app()
    const refusals: readonly (readonly [given: unknown, problem: string])[] = [
      ['day', `plugin wrong: ${name}() takes { key, order, content`],
      [undefined, 'not nothing'],
      [{ content: 'x' }, 'needs a key, a text that is unique in its plugin; it has none'],
      [{ key: 7, content: 'x' }, 'it is a number'],
      [{ key: '', content: 'x' }, 'needs a key'],
      [{ key: 'k' }, `${name}() of "k" needs content, a text`],
      [{ key: 'k', content: 7 }, 'it is a number'],
      [{ key: 'k', content: Promise.resolve('x') }, 'it is a promise'],
      [{ key: 'k', content: ['x'] }, 'it is a list'],
      [{ key: 'k', text: 'x' }, 'has no "text"; it takes key, order, content'],
      [{ key: 'k', read: () => 'x' }, 'has no "read"'],
      [{ key: 'k', contents: 'x' }, 'has no "contents"; did you mean "content"?'],
      [{ key: 'k', order: 'first', content: 'x' }, 'needs a number as order, not a string'],
      [{ key: 'k', order: NaN, content: 'x' }, 'needs a number as order'],
    ]
    for (const [given, problem] of refusals) {
      await expect(h.ctx.plugin(plugin('wrong', (ctx) => register(ctx, given))), JSON.stringify(given) ?? 'undefined').rejects.toThrow(problem)
    }
    await h.dispose()
  })

  it('a topic\'s own fields, a contribution\'s role and key, and the fields of a tool', async () => {
    const h = await app()
    const tool = { name: 'look', description: 'd', parameters: { type: 'object' }, execute: () => 'x' }
    const refusals: readonly (readonly [apply: Apply, problem: string])[] = [
      [(ctx) => ctx.briefing.topic({ key: 'k', content: 'x', changed: 'y' } as never), 'needs changed to be a function'],
      [(ctx) => ctx.briefing.topic({ key: 'k', content: 'x', baseline: 'after' } as never), 'has a baseline of history or prefix'],
      [(ctx) => ctx.agents.after({ key: 'k', content: { role: 'assistant', content: 'x' } } as never), 'must be "system" or "user"'],
      [(ctx) => ctx.agents.after({ key: 'k', content: { key: 'other', content: 'x' } }), 'with another key, "other"'],
      [(ctx) => ctx.tools.define({ ...tool, secuential: true } as never), 'tool look has no "secuential"; did you mean "sequential"?'],
      [(ctx) => ctx.tools.define({ ...tool, timeout: '5s' } as never), 'has timeout: a number of milliseconds, not a string'],
      [(ctx) => ctx.tools.define({ ...tool, ask: 'Really?' } as never), 'has ask: true, false, or a function'],
      [(ctx) => ctx.tools.define({ ...tool, sequential: 1 } as never), 'has sequential: true or false'],
      [(ctx) => ctx.tools.define('look' as never), 'not a string'],
    ]
    for (const [apply, problem] of refusals) await expect(h.ctx.plugin(plugin('wrong', apply))).rejects.toThrow(problem)
    await h.dispose()
  })
})

describe('owners', () => {
  it.each(Object.entries(places))('two of one key are refused by %s, with the way out; unloaded, the key is free', async (_, register) => {
    const h = await app()
    const one = plugin('branch', (ctx) => register(ctx, { key: 'state', content: 'x' }))
    const first = h.ctx.plugin(one)
    await first
    await expect(h.ctx.plugin({ ...one })).rejects.toThrow(/plugin branch has a .* "state" already; give this one another key, or.*id: branch:two.*\{ \.\.\.plugin, name: 'branch:two' \}/)
    await first.ctx.fiber.dispose()
    await h.ctx.plugin(one)
    await h.dispose()
  })

  it('one plugin twice, under names of its own, signs with each, whichever was loaded first', async () => {
    for (const order of [['branch', 'branch:work'], ['branch:work', 'branch'], ['branch:home', 'branch:work']]) {
      const branch = plugin('branch', (ctx) => {
        ctx.agents.after({ key: 'state', content: 'x' })
        ctx.briefing.topic({ key: 'state', content: 'y' })
        ctx.system.section({ key: 'state', content: 'z' })
      })
      const h = await app()
      for (const name of order) await h.ctx.plugin({ ...branch, name })
      await h.run('Hello')
      const owners = order.map((name) => `${name}/state`).sort()
      expect(h.requests[0]!.owners).toEqual([...owners, 'user', ...owners])
      expect(h.agent.session.requestHeader()!.owners.system!.map(({ owner }) => owner)).toEqual(owners)
      await h.dispose()
    }
  })

  it('a contribution to before and one to after may have one key, and so may agents of their own', async () => {
    const h = await app(plugin('guide', (ctx) => {
      ctx.agents.before({ key: 'k', content: 'a' })
      ctx.agents.after({ key: 'k', content: 'b' })
    }))
    const other = await h.ctx.agents.create({ id: 'other', model: 'scripted/model' })
    for (const { ctx } of [h.agent, other]) await ctx.plugin(plugin('own', (inner) => inner.agents.after({ key: 'k', content: 'c' })))
    await expect(h.ctx.plugin(plugin('own', (inner) => inner.agents.after({ key: 'k', content: 'd' })))).rejects.toThrow('has a contribution to after "k" already')
    await other.dispose()
    await h.dispose()
  })
})

describe('a plugin\'s steer gives a handle', () => {
  it('of the turn that it wakes', async () => {
    const h = await app()
    let steer = (): Promise<unknown> => Promise.resolve()
    await h.ctx.plugin(plugin('guide', (ctx) => { steer = () => ctx.agents.get('test')!.steer({ key: 'now', content: 'Look.' }).result }))
    expect(await steer()).toMatchObject({ reason: 'done' })
    expect(h.agent.session.entries()[0]).toMatchObject({ owner: 'guide/now' })
    await h.dispose()
  })

  it('of the turn that it joins, with all that was told in it', async () => {
    const told: string[] = []
    let done: Promise<void> | undefined
    const h = await app(plugin('guide', (ctx) => {
      ctx.tools.define({
        name: 'look', description: 'Looks.', parameters: { type: 'object' },
        execute: (_input, { agent }) => {
          const handle = agent.steer('And then?')
          done = (async () => { for await (const { type } of handle) told.push(type) })()
          return 'seen'
        },
      })
    }))
    const { reason } = await h.run('Hello')
    await done
    expect([reason, told[0], told.at(-1)]).toEqual(['done', 'turn/start', 'turn/end'])
    await h.dispose()
  })

  it('that settles where the turn never comes: the history is rewound, the agent disposed', async () => {
    for (const end of [(h: Harness) => h.agent.rewind({ to: 1, cancel: true }), (h: Harness) => h.agent.dispose()]) {
      const h = await harness({ settings: { concurrentTurns: 1 }, plugins: [BriefingService] })
      await h.run('Hello')
      let result: Promise<{ readonly reason: string }> | undefined
      await h.ctx.plugin(plugin('guide', (ctx) => { result = ctx.agents.get('test')!.steer('Look.').result }))
      await end(h)
      expect(['withdrawn', 'done', 'cancelled']).toContain((await result!).reason)
      await h.dispose()
    }
  })
})
