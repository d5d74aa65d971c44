import type { Context } from 'cordis'
import type { SessionEvent } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { describe, expect, it, onTestFinished } from 'vitest'

const tools = {
  name: 'tools', inject: ['tools'],
  apply: async (ctx: Context) => {
    for (const name of ['read', 'write', 'bash']) ctx.tools.define({ name, description: name, parameters: { type: 'object' }, execute: () => name })
  },
}

async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness({ plugins: [tools], ...options })
  onTestFinished(() => made.dispose().catch(() => undefined))
  return made
}

const toolsOf = (made: Harness): unknown => made.requests.at(-1)!.tools?.map(({ name }) => name)
const opening = async (made: Harness): Promise<unknown> => ((await made.events())[0] as SessionEvent<'session/open'>).data

describe('what a session is created with holds in each later life (H3)', () => {
  it('stands in the log: whose it is, its kind, title, tools and limits', async () => {
    const under = { session: 'parent', call: { assistant: 12, index: 0 } }
    const made = await app({ agent: { under, kind: 'subagent', title: 'Look it up', tools: { only: ['read'] }, limits: { steps: 3 } } })
    expect(await opening(made)).toMatchObject({ under, kind: 'subagent', title: 'Look it up', tools: { only: ['read'] }, limits: { steps: 3 } })
    expect(made.agent.session.origin).toMatchObject({ under, kind: 'subagent' })
    expect(made.agent.session.title).toBe('Look it up')
  })

  it.each([
    [{ only: ['read', 'gone'] }, ['read']],
    [{ without: ['bash'] }, ['read', 'write']],
    [{ only: [] }, undefined],
  ])('tools %o: the model is told of %o, after a resume too', async (choice, told) => {
    const made = await app({ agent: { tools: choice as never } })
    await made.run('Go')
    expect(toolsOf(made)).toEqual(told)
    await made.resume()
    await made.run('Go')
    expect(toolsOf(made)).toEqual(told)
  })

  it('a call of a hidden tool runs nothing', async () => {
    const made = await app({ agent: { tools: { without: ['bash'] } }, script: [{ calls: [{ name: 'bash' }] }, 'ok'] })
    await made.run('Go')
    expect(JSON.stringify(made.requests.at(-1)!.messages.at(-1))).toContain('There is no tool \\"bash\\"')
  })

  it('tools are widened only by name', async () => {
    const made = await app({ agent: { tools: { only: ['read'] } } })
    await made.resume({ widen: { tools: { without: [] } } })
    await made.run('Go')
    expect(toolsOf(made)).toEqual(['bash', 'read', 'write'])
    await made.resume()
    await made.run('Go')
    expect(toolsOf(made)).toEqual(['read'])
  })

  it.each([
    ['nothing', {}, 2],
    ['a smaller limit', { limits: { steps: 1 } }, 1],
    ['a larger limit', { limits: { steps: 50 } }, 2],
    ['a larger limit by name', { widen: { limits: { steps: 4 } } }, 4],
  ])('a resume with %s has that many steps', async (_, options, steps) => {
    const made = await app({ agent: { limits: { steps: 2 } }, script: () => ({ calls: [{ name: 'read' }] }) })
    await made.resume(options)
    expect(await made.run('Go')).toMatchObject({ reason: 'limit', steps })
  })

  it('what is no choice of tools is refused', async () => {
    const made = await app()
    for (const choice of [{}, { only: 'read' }, { only: ['a'], without: ['b'] }, [], 'read']) {
      await expect(made.ctx.agents.create({ id: 'x', tools: choice as never })).rejects.toThrow(/tools is \{ only/)
    }
    expect(made.ctx.agents.ids()).toEqual(['test'])
  })

  it('a fork has its title and tools, and is under nobody', async () => {
    const made = await app({ agent: { under: { session: 'p', call: { assistant: 1, index: 0 } }, title: 'T', tools: { only: ['read'] } } })
    await made.run('Go')
    const child = await made.ctx.agents.fork('test', { id: 'child' })
    expect(child.session.origin).toMatchObject({ title: 'T', tools: { only: ['read'] }, parent: 'test' })
    expect(child.session.origin).not.toHaveProperty('under')
  })

  it('a title is changed by an event that its owner signs', async () => {
    const made = await app()
    made.agent.setTitle('Another')
    expect(made.agent.session.title).toBe('Another')
    expect((await made.events()).at(-1)).toMatchObject({ type: 'session/title', data: { title: 'Another', owner: 'app' } })
    expect(() => made.agent.setTitle(' ')).toThrow(/not blank/)
  })
})

describe('a cancel is on record', () => {
  const hanging: HarnessOptions = { script: [{ text: 'half', hang: true }, 'whole'] }

  it.each(['cancel', 'dispose'] as const)('by %s, once', async (how) => {
    const made = await app(hanging)
    const turn = made.agent.prompt('Go')
    await new Promise((resolve) => made.agent.session.on('chunk', resolve))
    if (how === 'cancel') {
      made.agent.cancel('enough')
      turn.cancel('again')
    } else await made.agent.dispose()
    await turn.result
    const events = await made.events()
    expect(events.filter(({ type }) => type === 'turn/cancel').map(({ data }) => data)).toEqual([{ turn: 1, reason: how === 'cancel' ? 'enough' : 'the agent was disposed' }])
    expect(events.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'cancelled' } })
  })

  it('a turn that was being cancelled when the process died does not go on', async () => {
    const made = await app(hanging)
    made.agent.prompt('Go')
    await new Promise((resolve) => made.agent.session.on('chunk', resolve))
    await made.agent.park()
    const lease = await made.store.lease('test')
    const events = await made.events()
    const cancel = { seq: events.length, time: Date.now(), type: 'turn/cancel', data: { turn: 1, reason: 'enough' } } as SessionEvent
    const { Batch } = await import('@headrace/session')
    lease.append(new Batch([cancel]))
    await lease.release()
    const agent = await made.ctx.agents.resume('test')
    await agent.idle()
    await agent.dispose()
    expect(made.requests).toHaveLength(1)
    expect((await made.events()).at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'cancelled' } })
  })
})
