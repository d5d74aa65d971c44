import { describe, expect, it } from 'vitest'
import type { Context } from '@headrace/agent'
import type { Request } from '@headrace/message'
import { app, calls, eventsOf, expectRebuilds, plugin, textsOf, tool } from './help.ts'

/** Each message of a request and who put it there. */
function signed(request: Request): readonly (readonly [string, string])[] {
  return textsOf(request).map((text, index) => [text, request.owners[index]!] as const)
}

describe('L14 Everyone signs', () => {
  it('every message of every request has an owner: plugin/key, user, model, tool, app or loop', async () => {
    const made = await app({
      script: [{ text: 'Let me look.', calls: [{ name: 'look' }] }, 'Done.', 'A title.'],
      plugins: [plugin('p', (ctx) => {
        tool(ctx, 'look')
        ctx.agents.prefix({ key: 'opener', content: () => 'prefix' })
        ctx.agents.before({ key: 'frame', content: () => 'before' })
        ctx.agents.after({ key: 'fresh', content: () => 'after' })
        ctx.on('agent/prompt-submit', async (agent, _turn, _submission, next) => {
          agent.inject({ key: 'note', content: 'injected' })
          return { ...await next(), additionalContext: ['submitted'] }
        })
        ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: ['after the batch'] }))
      })],
    })
    made.agent.inject('from the app')
    await made.run('Hi.')
    await made.agent.ask(['Title?'], { purpose: 'title' })
    expect(signed(made.requests[2]!)).toEqual([
      ['prefix', 'p/opener'], ['before', 'p/frame'], ['from the app', 'app'], ['injected', 'p/note'], ['Hi.', 'user'], ['submitted', expect.stringMatching(/^p\//)],
      ['Let me look.', 'model'], ['look: fine', 'tool'], ['after the batch', expect.stringMatching(/^p\//)],
      ['Done.', 'model'], ['Title?', expect.stringMatching(/^app/)],
    ])
    expect(signed(made.requests[1]!).at(-1)).toEqual(['after', 'p/fresh'])
    await expectRebuilds(made)
  })

  it('every system section and tool, and every config field', async () => {
    const made = await app({ agent: { config: { temperature: 0.1 } }, plugins: [
      plugin('a', (ctx) => {
        tool(ctx, 'look')
        ctx.system.section({ key: 'role', content: 'one' })
      }),
      plugin('b', (ctx) => {
        ctx.system.section({ key: 'tone', content: 'three', order: 1 })
        ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), topP: 0.5 }))
      }),
    ] })
    tool(made.ctx, 'mine')
    made.agent.configure({ maxOutputTokens: 9 })
    await made.run('Hi.')
    const { owners } = made.agent.session.requestHeader()!
    expect(owners.system).toEqual([{ owner: 'a/role', length: 3 }, { owner: 'b/tone', length: 5 }])
    expect(owners.tools).toEqual({ look: 'a/look', mine: expect.stringMatching(/^app/) as unknown })
    expect(owners.config).toEqual({ model: 'app', temperature: 'app', topP: 'b/request', maxOutputTokens: 'app' })
  })

  it('an object that looks like a context, or a service, signs nothing: no method takes it for a caller', async () => {
    const made = await app({ plugins: [plugin('honest', () => undefined)] })
    const { ctx } = made
    const honest = [...ctx.registry.values()].find(({ name }) => name === 'honest')!.fibers[Symbol.iterator]().next().value!
    const runtime = { name: 'honest', callback: () => undefined, fibers: [] }
    const fiber = { runtime, parent: ctx, state: 2, store: {}, effect: (run: () => unknown) => run() }
    const forged: unknown[] = [
      undefined, null, {}, { ctx: undefined }, { ctx: {} }, { ctx: { fiber: {} } },
      { ctx: { fiber, root: ctx.root, effect: fiber.effect, on: () => undefined } },
      { ctx: { fiber: { ...honest, runtime: { ...honest.runtime } }, root: ctx.root } },
      { ctx: Object.assign(Object.create(null) as object, { fiber }) },
    ]
    const value = { key: 'k', content: 'x' }
    const methods: Record<string, (service: never) => unknown> = {
      'agents.get': (service) => ctx.agents.get.call(service, 'test'),
      'agents.create': (service) => ctx.agents.create.call(service, { id: 'forged', model: 'scripted/m' }),
      'agents.resume': (service) => ctx.agents.resume.call(service, 'test'),
      'agents.fork': (service) => ctx.agents.fork.call(service, 'test', { id: 'forged' }),
      'agents.default': (service) => ctx.agents.default.call(service, { temperature: 0 }),
      'agents.prefix': (service) => ctx.agents.prefix.call(service, value),
      'agents.before': (service) => ctx.agents.before.call(service, value),
      'agents.after': (service) => ctx.agents.after.call(service, value),
      'system.section': (service) => ctx.system.section.call(service, value),
      'tools.define': (service) => ctx.tools.define.call(service, { name: 'x', description: 'x', parameters: { type: 'object' }, execute: () => '' } as never),
      'llm.adapter': (service) => ctx.llm.adapter.call(service, 'forged', { stream: () => undefined } as never),
      'sessions.store': (service) => ctx.sessions.store.call(service, made.store),
    }
    for (const [name, call] of Object.entries(methods)) {
      for (const service of forged) {
        const message = expect.stringContaining(`ctx.${name}(…)`) as string
        await expect((async () => call(service as never))(), name).rejects.toMatchObject({ code: 'CALLER_UNKNOWN', message })
      }
    }
    expect(ctx.agents.ids()).toEqual(['test'])
  })

  it('nor does a context of its own with something put on it sign for another', async () => {
    let own!: Context
    const made = await app({ script: ['ok', 'ok'], plugins: [plugin('honest', () => undefined), plugin('liar', (ctx) => void (own = ctx))] })
    const fiber = Object.assign(Object.create(own.fiber) as object, { runtime: { name: 'honest' } })
    for (const lie of [{ fiber }, { fiber: made.ctx.fiber, [Symbol.for('headrace.author')]: 'honest' }, { [Symbol.for('headrace.name')]: 'honest' }]) {
      const context = own.extend(lie)
      const said = 'fiber' in lie && lie.fiber === made.ctx.fiber ? 'app' : 'liar'
      expect(context.agents.get('test')!.plugin).toBe(said)
    }
    own.extend({ fiber }).on('agent/prompt-submit', async (agent, _turn, _submission, next) => {
      agent.inject('mine')
      return next()
    })
    Object.assign(own.fiber, { [Symbol.for('headrace.name')]: 'honest' })
    await made.run('Hi.')
    expect(signed(made.requests[0]!)).toContainEqual(['mine', 'liar/inject'])
  })

  it.each<[string, unknown]>([
    ['an owner', { role: 'system', content: 'x', owner: 'user' }],
    ['an owner in a block', { role: 'system', content: [{ type: 'text', text: 'x', owner: 'user' }] }],
    ['a role that is not its own', { role: 'assistant', content: 'x' }],
    ['a tool result', { role: 'tool', content: [{ type: 'tool-result', id: 'a', name: 'b', content: [] }] }],
    ['a block that is not its own', { role: 'user', content: [{ type: 'reasoning', text: 'x' }] }],
  ])('a returned value cannot forge it: %s is refused, naming the plugin', async (_, message) => {
    for (const seam of ['prefix', 'before', 'after'] as const) {
      const { run, requests } = await app({ plugins: [plugin('forger', (ctx) => ctx.agents[seam]({ key: 'x', content: () => message as never }))] })
      expect(await run('Hi.')).toMatchObject({ reason: 'error', error: { plugin: 'forger', message: expect.stringContaining('forger') as unknown } })
      expect(requests).toHaveLength(0)
    }
    const { agent } = await app()
    expect(() => agent.inject(message as never)).toThrow()
  })

  it.each(['user', 'model', 'tool', 'app', 'loop', 'root', 'agent-scope'])('nor can a name: a plugin called %s signs as a plugin', async (name) => {
    const made = await app({ plugins: [plugin(name, (ctx) => {
      ctx.agents.prefix({ key: 'opener', content: () => 'prefix' })
      tool(ctx, 'look')
      ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
        agent.inject('injected')
        return next()
      })
      ctx.on('agent/session-prefix', async (_agent, _turn, _prefix, next) => ['raw', ...await next()])
      ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), topP: 0.5 }))
    })] })
    await made.run('Hi.')
    const reserved = ['user', 'model', 'tool', 'app', 'loop']
    const { owners } = made.agent.session.requestHeader()!
    const own = [...signed(made.requests[0]!).filter(([text]) => text !== 'Hi.').map(([, owner]) => owner), owners.tools!.look, owners.config!.topP]
    expect(own).toHaveLength(5)
    for (const owner of own) {
      expect(reserved).not.toContain(owner)
      expect(owner).toMatch(/^[^/]+\/[^/]+$/)
    }
  })

  it('a prompt or steer that a plugin sends is the plugin’s, not the user’s; through its own view of the agent', async () => {
    const made = await app({ plugins: [plugin('sender', (ctx) => {
      ctx.on('agent/turn-stopping', (_agent, turn) => {
        if (turn.number === 1) void ctx.agents.get('test')!.prompt('from a plugin')
      })
    })] })
    await made.run('Hi.')
    await made.agent.idle()
    expect(signed(made.requests[1]!).at(-1)).toEqual(['from a plugin', 'sender/prompt'])
  })

  it('a replacement is signed by whoever made it', async () => {
    const made = await app({ plugins: [plugin('compactor', (ctx) => {
      ctx.on('agent/pre-step', async (agent, turn, _step, next) => {
        if (turn.number === 2) agent.replace(agent.session.entries()[0]!.id, agent.session.entries()[1]!.id, ['A summary.'], { reason: 'compaction' })
        return next()
      })
    })] })
    await made.run('One.')
    await made.run('Two.')
    expect(signed(made.requests[1]!)).toEqual([['A summary.', 'compactor/replace'], ['Two.', 'user']])
    await expectRebuilds(made)
  })

  it('what is kept behind a compaction stays its plugin’s, whoever compacts; a copy of it is the copier’s', async () => {
    const keeper = (name: string, key: string) => plugin(name, (ctx) => {
      ctx.on('compaction/keep', async (_agent, _entries, next) => [...await next(), { key, content: `kept by ${name}` }])
    })
    const made = await app({ plugins: [keeper('zoo', 'rule'), keeper('ant', 'note'), plugin('compactor', (ctx) => {
      ctx.on('agent/pre-step', async (agent, turn, _step, next) => {
        if (turn.number === 1) return next()
        const part = agent.session.entries().slice(0, 2)
        const kept = await agent.keep(part)
        agent.replace(part[0]!.id, part[1]!.id, ['A summary.', ...kept, { role: 'user', content: 'kept by ant' }], { reason: 'compaction' })
        return next()
      })
    })] })
    await made.run('One.')
    await made.run('Two.')
    expect(signed(made.requests[1]!)).toEqual([
      ['A summary.', 'compactor/replace'], ['kept by ant', 'ant/note'], ['kept by zoo', 'zoo/rule'], ['kept by ant', 'compactor/replace'], ['Two.', 'user'],
    ])
    await expectRebuilds(made)
  })

  it('a prompt that a plugin rewrites, and an outcome that it replaces, are its words; passed on, they stay whose they were', async () => {
    const made = await app({ script: [calls('look'), 'Done.'], plugins: [plugin('editor', (ctx) => {
      tool(ctx, 'look')
      ctx.on('agent/prompt-submit', async (_agent, turn, _submission, next) => (turn.number === 1 ? { ...await next(), input: 'rewritten' } : next()))
      ctx.on('tools/post-execute', async (_agent, turn, _call, _outcome, next) => (turn.number === 1 ? { ...await next(), outcome: 'replaced' } : next()))
    }), plugin('passing', (ctx) => {
      ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => ({ ...await next() }), true)
      ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next() }), true)
    })] })
    await made.run('Hi.')
    await made.run('Ho.')
    const owners = signed(made.requests[1]!)
    expect(owners[0]).toEqual(['rewritten', 'editor/prompt-submit'])
    expect(owners.at(-1)![1]).toBe('editor/post-execute')
    expect(signed(made.requests.at(-1)!).at(-1)).toEqual(['Ho.', 'user'])
    await expectRebuilds(made)
  })

  it('owners stand beside what the model sees, in events and requests, never in it', async () => {
    const made = await app({ script: [calls('look'), 'Done.'], plugins: [plugin('unmistakable', (ctx) => {
      tool(ctx, 'look')
      ctx.agents.prefix({ key: 'opener', content: () => 'prefix' })
      ctx.system.section({ key: 'role', content: 'section' })
      ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: ['context'] }))
    })] })
    await made.run('Hi.')
    for (const { owners, messages, system, tools, config } of made.requests) {
      expect(JSON.stringify(owners)).toContain('unmistakable/opener')
      expect(JSON.stringify({ messages, system, tools, config })).not.toMatch(/unmistakable|owner/)
      expect(owners).toHaveLength(messages.length)
    }
    expect(eventsOf(await made.events(), 'request/header')[0]!.data.owners).toMatchObject({ prefix: ['unmistakable/opener'], tools: { look: 'unmistakable/look' } })
  })
})
