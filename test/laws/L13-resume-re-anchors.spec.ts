import { describe, expect, it } from 'vitest'
import { type SessionEvent, foldRequestHeader, headerDrift } from '@headrace/session'
import { app, calls, eventsOf, expectRebuilds, plugin, tool } from './help.ts'

const reasons = (events: readonly SessionEvent[]): readonly string[] => eventsOf(events, 'request/header').map(({ data }) => data.reason)

describe('L13 Resume re-anchors', () => {
  it('a new instance over an old log writes one resume snapshot, with its first step’s request', async () => {
    const made = await app({ script: [calls('look'), 'Done.'], plugins: [plugin('p', (ctx) => {
      tool(ctx, 'look')
      ctx.agents.prefix({ key: 'p', content: () => 'prefix' })
    })] })
    await made.run('One.')
    for (const round of [1, 2]) {
      await made.resume()
      const before = (await made.events()).length
      await made.run('Two.')
      await made.run('Three.')
      expect(reasons(await made.events())).toEqual(['initial', ...Array<string>(round).fill('resume')])
      const added = (await made.events()).slice(before)
      const at = added.findIndex(({ type }) => type === 'request/header')
      expect(added[at + 1]).toMatchObject({ type: 'request/dispatch' })
      expect(eventsOf(added.slice(0, at), 'request/dispatch')).toHaveLength(0)
    }
    await expectRebuilds(made)
  })

  it('so does a fork, and its reason says so', async () => {
    const made = await app()
    await made.run('One.')
    const fork = await made.ctx.agents.fork('test', { id: 'fork' })
    await fork.prompt('Two.').result
    await fork.prompt('Three.').result
    expect(reasons([...fork.session.events()])).toEqual(['initial', 'fork'])
    await fork.dispose()
  })

  it('none if it sends none', async () => {
    const made = await app()
    await made.run('One.')
    await made.resume()
    await made.resume()
    expect(reasons(await made.events())).toEqual(['initial'])
    const late = await made.resume()
    late.inject('Nobody asks.')
    await late.ask(['Title?'], { purpose: 'title' })
    await late.dispose()
    expect(reasons(await made.events())).toEqual(['initial'])
    await expectRebuilds(made)
  })

  it('it is small where nothing changed: what the log has is pointed to, and the requests are the same bytes', async () => {
    const made = await app({ plugins: [plugin('p', (ctx) => {
      ctx.agents.prefix({ key: 'p', content: () => 'prefix '.repeat(1000) })
      ctx.system.section({ key: 's', content: 'section '.repeat(1000) })
      tool(ctx, 'look')
    })] })
    await made.run('One.')
    await made.resume()
    await made.run('Two.')
    const [first, second] = eventsOf(await made.events(), 'request/header')
    expect(second!.data.header).toMatchObject({ prefix: { in: first!.seq }, system: { in: first!.seq }, tools: { in: first!.seq } })
    expect(JSON.stringify(second).length).toBeLessThan(700)
    const [one, two] = made.requests
    expect([two!.system, two!.tools, two!.messages.slice(0, 2)]).toEqual([one!.system, one!.tools, one!.messages])
    expect(headerDrift(foldRequestHeader((await made.events()).slice(0, second!.seq))!, made.agent.session.requestHeader()!)).toEqual([])
  })

  it('what drifted is named: field, and owner of each changed message, section, tool or config field', async () => {
    let version = 1
    const made = await app({ agent: { config: { temperature: 0.1 } }, plugins: [plugin('mover', (ctx) => {
      ctx.agents.prefix({ key: 'opener', content: () => [`opener ${version}`, 'the same'] })
      ctx.agents.before({ key: 'frame', content: () => (version === 1 ? [] : 'framing') })
      ctx.agents.after({ key: 'fresh', content: () => (version === 1 ? 'gone later' : []) })
      ctx.system.section({ key: 'role', content: () => `role ${version}` })
      ctx.system.section({ key: 'stays', content: 'stays' })
      ctx.tools.define({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'x' })
    })] })
    const flaky = tool(made.ctx, 'flaky')
    await made.run('One.')
    const base = made.agent.session.requestHeader()!
    version = 2
    flaky()
    await made.ctx.plugin(plugin('newcomer', (ctx) => tool(ctx, 'extra')))
    await made.resume({ config: { temperature: 0.2 } })
    await made.run('Two.')
    const drift = headerDrift(base, made.agent.session.requestHeader()!)
    expect(drift.map(({ field, item, owner, change }) => [field, item, owner, change])).toEqual(expect.arrayContaining([
      ['config', 'temperature', 'app', 'changed'],
      ['system', expect.any(String), 'mover/role', 'changed'],
      ['tools', 'extra', 'newcomer/extra', 'added'],
      ['tools', 'flaky', expect.stringMatching(/^app/), 'removed'],
      ['prefix', expect.any(String), 'mover/opener', 'changed'],
      ['before', expect.any(String), 'mover/frame', 'added'],
      ['after', expect.any(String), 'mover/fresh', 'removed'],
    ]))
    expect(drift).toHaveLength(7)
    await expectRebuilds(made)
  })

  it('a tool re-registered with its keys in another order is no drift: the recorded text stays', async () => {
    const define = (properties: object): ReturnType<typeof plugin> => plugin('schema', (ctx) => ctx.tools.define({ name: 'look', description: 'Looks.', parameters: { type: 'object', properties } as never, execute: () => 'x' }))
    const made = await app()
    const old = made.ctx.plugin(define({ b: { type: 'string' }, a: { type: 'number' } }))
    await old
    await made.run('One.')
    await old.dispose()
    await made.ctx.plugin(define({ a: { type: 'number' }, b: { type: 'string' } }))
    await made.resume()
    await made.run('Two.')
    expect(JSON.stringify(made.requests[1]!.tools)).toBe(JSON.stringify(made.requests[0]!.tools))
  })
})
