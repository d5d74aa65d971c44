import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { GrowthBench } from '../src/growth-bench.ts'
import { growthCases } from '../src/growth-cases.ts'
import { type GrowthOptions, growthKit } from '../src/growth-kit.ts'

const plugin = (apply: (ctx: Context) => void) => ({ name: 'mine', inject: ['agents', 'tools', 'system', 'briefing'], apply: async (ctx: Context) => apply(ctx) })
const topic = (read: () => string): GrowthOptions => ({ needs: [BriefingService as never], plugin: plugin((ctx) => void ctx.briefing.topic({ key: 'rules', content: read })) })

/** The sentences that do not hold for a plugin, and what was said of each. */
async function broken(options: GrowthOptions): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  for (const [sentence, holds] of Object.entries(growthCases)) {
    vi.setSystemTime(new Date('2026-06-15T12:00:00'))
    const bench = new GrowthBench('mine', options)
    await holds(bench).catch((error: unknown) => void (found[sentence] = (error as Error).message))
    await bench.close()
  }
  return found
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

// Its topic reads the file that its tool writes, in each turn.
const notebook: GrowthOptions = {
  needs: [BriefingService as never],
  plugin: plugin((ctx) => {
    ctx.tools.define({ name: 'note', description: '', parameters: { type: 'object' }, execute: (_, { agent }) => appendFile(join(agent.cwd!, 'NOTES.md'), 'dug\n').then(() => 'noted') })
    ctx.briefing.topic({ key: 'notes', content: (agent) => readFile(join(agent.cwd!, 'NOTES.md'), 'utf8') })
  }),
  prepare: (folder) => writeFile(join(folder, 'NOTES.md'), 'begun\n'),
  script: (_, index) => index % 2 === 0 ? { calls: [{ name: 'note' }] } : 'Done.',
}

describe('the growth kit', () => {
  it('has nothing against a topic that stays', async () => {
    expect(await broken(topic(() => 'Nothing is deployed on Fridays.'))).toEqual({})
  })

  describe('of a plugin that changes the config by step', () => {
    const twoSteps: GrowthOptions['script'] = (_, index) => (index % 2 === 0 ? { calls: [{ name: 'nothing' }] } : 'Done.')
    const gears = (modelOf: (step: number) => string): GrowthOptions => ({
      plugin: plugin((ctx) => {
        ctx.tools.define({ name: 'nothing', description: '', parameters: { type: 'object' }, execute: () => 'done' })
        ctx.on('agent/request', async (_agent, _turn, step, _config, next) => ({ ...await next(), model: modelOf(step.number) }))
      }),
      needs: [BriefingService as never], script: twoSteps,
    })
    const SENTENCE = 'and its config listeners are idempotent: a config that nobody changed stays'

    it('says so, unless it is told that this is by design', async () => {
      const byStep = gears((step) => (step > 1 ? 'large' : 'small'))
      expect(Object.keys(await broken(byStep))).toContain(SENTENCE)
      expect(await broken({ ...byStep, configChanges: 'by design' })).toEqual({})
    })

    it('finds a config that moves from turn to turn also then', async () => {
      let asked = 0
      const said = await broken({ ...gears((step) => `model-${step}-${asked++}`), configChanges: 'by design' })
      expect(said[SENTENCE]).toContain('the config of step 1 moves by itself from turn to turn')
    })
  })

  it('begins each load order with a fresh workspace: a tool may write what a topic reads', async () => {
    expect(Object.keys(await broken(notebook))).not.toContain('whatever the load order')
  })

  it('names the orders, the message and its owner where the load order moves a byte', async () => {
    let loaded = 0
    const said = await broken({ plugin: plugin((ctx) => void ctx.agents.after({ key: 'count', content: () => `Loaded ${loaded}.` }) as never), needs: [BriefingService as never, { name: 'counts', apply: async () => void loaded++ }] })
    expect(said['whatever the load order']).toBe('loaded as mine, aaa, zzz and as mine, zzz, aaa its requests differ: request 0: message 6 is "Loaded 1." of mine/count and "Loaded 2." of mine/count')
  })

  it.each<[string, () => string]>([
    ['the second', () => `It is ${new Date().toISOString()}.`],
    ['the minute', () => `It is ${new Date().toISOString().slice(0, 16)}.`],
  ])('finds a topic that tells %s', async (_, read) => {
    expect(await broken(topic(read))).toMatchObject({ 'while time goes on and nothing else changes: nothing is told for that': expect.stringContaining('because a second or a minute went by') as string })
  })

  it('finds what is told again after a reload', async () => {
    const said = await broken({ needs: [BriefingService as never], plugin: plugin((ctx) => {
      let told = false
      ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
        if (!told) agent.inject({ key: 'hello', content: 'Welcome.' })
        told = true
        return next()
      })
    }) })
    expect(said).toMatchObject({ 'over a hot reload of the plugin unchanged': expect.stringContaining('because of a reload') as string })
  })

  it('lets an after tell the time, and a tool', async () => {
    const clock = plugin((ctx) => {
      ctx.agents.after({ key: 'now', content: () => `It is ${new Date().toISOString()}.` })
      ctx.tools.define({ name: 'now', description: '', parameters: { type: 'object' }, execute: () => new Date().toISOString() })
    })
    expect(await broken({ plugin: clock, needs: [BriefingService as never], script: (_, index) => index % 2 === 0 ? { calls: [{ name: 'now' }] } : 'Done.' })).toEqual({})
  })

  it('is red throughout where the plugin reports, as a topic that throws does', async () => {
    const said = await broken(topic(() => { throw new TypeError('boom') }))
    expect(Object.keys(said)).toEqual(Object.keys(growthCases))
    for (const message of Object.values(said)) expect(message).toMatch(/^plugin mine in topic rules: .*boom/)
  })

  it('is red throughout where turns fail, as of a contribution that was lost', async () => {
    const said = await broken({ plugin: plugin((ctx) => void ctx.on('agent/session-prefix', async () => ['mine'])), needs: [BriefingService as never] })
    expect(Object.keys(said)).toEqual(Object.keys(growthCases))
    for (const message of Object.values(said)) expect(message).toMatch(/^the turn of the prompt ".*" failed: .*agent\/session-prefix/)
  })
})

growthKit('notebook', notebook)
