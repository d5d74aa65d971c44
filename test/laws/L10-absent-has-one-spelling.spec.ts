import { describe, expect, it } from 'vitest'
import { type EpochHeader, applyHeaderDelta, diffHeader, toHeader } from '@headrace/session'
import { requestDigests } from '@headrace/message'
import { app, eventsOf, expectRebuilds, plugin, system, textsOf, tool } from './help.ts'

const config = { model: 'p/m' }
const FIELDS = ['system', 'tools', 'prefix', 'before', 'after'] as const
const full: EpochHeader = {
  config, system: 'text', tools: [{ name: 'a', description: '', parameters: {} }], prefix: [system('p')], before: [system('b')], after: [system('a')],
  owners: { config: { model: 'app' }, system: [{ owner: 'a/x', length: 4 }], tools: { a: 'a/a' }, prefix: ['a/p'], before: ['a/b'], after: ['a/a'] },
}
const empty: EpochHeader = { config, system: '', tools: [], prefix: [], before: [], after: [], owners: { config: {}, system: [], tools: {}, prefix: [], before: [], after: [] } }

describe('L10 Absent has one spelling', () => {
  it('empty system, tools, prefix, before, after are absent fields', () => {
    expect(toHeader(empty)).toEqual({ config, owners: {} })
    expect(JSON.stringify(toHeader(empty))).toBe(JSON.stringify(toHeader({ config, owners: {} })))
    expect(diffHeader(empty, { config, owners: {} })).toBeUndefined()
    expect(requestDigests(toHeader(empty), '')).toEqual(requestDigests({ config }, ''))
  })

  it('in a delta an empty array, or string, is the transition back to absence', () => {
    for (const field of ['system', 'tools', 'before', 'after'] as const) {
      const { [field]: _gone, ...rest } = full
      const { [field]: _owner, ...owners } = full.owners
      const next = toHeader({ ...rest, owners })
      const delta = diffHeader(full, next)
      expect(delta).toMatchObject({ [field]: field === 'system' ? '' : [] })
      expect(applyHeaderDelta(full, delta as never)).toEqual(next)
      expect(applyHeaderDelta(full, delta as never)).not.toHaveProperty(field)
    }
  })

  it('a request without them has no such fields, nor has its header event', async () => {
    const made = await app({ plugins: [plugin('empty', (ctx) => {
      ctx.agents.prefix({ key: 'p', content: () => [] })
      ctx.agents.before({ key: 'b', content: () => undefined })
      ctx.agents.after({ key: 'a', content: () => '' })
      ctx.system.section({ key: 's', content: '   \n' })
      ctx.on('agent/session-prefix', async (_agent, _turn, _prefix, next) => [' \n', { role: 'user', content: [] }, ...await next()])
      ctx.on('agent/request-messages', async (_agent, _turn, _step, _messages, next) => ({ ...await next(), before: [] }))
    })] })
    await made.run('Hi.')
    const [request] = made.requests
    expect([request!.segments, textsOf(request!)]).toEqual([{ prefix: 0, before: 0, history: 1, after: 0 }, ['Hi.']])
    for (const field of ['system', 'tools']) expect(request).not.toHaveProperty(field)
    const [header] = eventsOf(await made.events(), 'request/header')
    expect(Object.keys(header!.data.header)).toEqual(['config'])
    expect(Object.keys(header!.data.owners)).toEqual(['config'])
    await expectRebuilds(made)
  })

  it('what comes and goes is told, and gone, in the log and in the requests', async () => {
    let here = true
    const made = await app()
    const undo: (() => unknown)[] = []
    const frames = made.ctx.plugin(plugin('frames', (ctx) => {
      ctx.agents.before({ key: 'b', content: () => (here ? 'before' : []) })
      ctx.agents.after({ key: 'a', content: () => (here ? 'after' : undefined) })
    }))
    await frames
    undo.push(tool(made.ctx, 'look'), made.ctx.system.section({ key: 's', content: () => (here ? 'section' : '') }))
    await made.run('One.')
    here = false
    for (const gone of undo) gone()
    await made.run('Two.')
    const [change] = eventsOf(await made.events(), 'request/header-delta')
    expect(change!.data.delta).toMatchObject({ system: '', tools: [], before: [], after: [] })
    expect(FIELDS.filter((field) => Object.hasOwn(made.agent.session.requestHeader()!, field))).toEqual([])
    for (const field of ['system', 'tools']) {
      expect(made.requests[0]).toHaveProperty(field)
      expect(made.requests[1]).not.toHaveProperty(field)
    }
    await expectRebuilds(made)
  })

  it('a blank inject, steer or context adds nothing', async () => {
    const made = await app({ plugins: [plugin('blank', (ctx) => {
      ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
        expect(agent.inject(' \n ')).toBeUndefined()
        return next()
      })
      ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => ({ ...await next(), additionalContext: ['', ' '] }))
    })] })
    await made.run('Hi.')
    expect(textsOf(made.requests[0]!)).toEqual(['Hi.'])
  })
})
