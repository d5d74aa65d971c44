import type { Context, Plugin } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import { type HarnessOptions, harness } from '@headrace/testing'
import { describe, expect, it } from 'vitest'

const plugin = (apply: (ctx: Context) => void) => ({ name: 'bad', inject: ['agents', 'tools', 'system'], apply: async (ctx: Context) => apply(ctx) })
const throws = (): never => {
  throw new TypeError('boom')
}
const topic = { name: 'bad', inject: ['briefing'], apply: async (ctx: Context) => void ctx.briefing.topic({ key: 'rules', content: throws }) }

const reporting = {
  'a topic that throws': [BriefingService, topic],
  'a listener of agent/turn-stopping that throws': [plugin((ctx) => void ctx.on('agent/turn-stopping', throws))],
  'a listener of session/event that throws': [plugin((ctx) => void ctx.on('session/event', throws))],
  'an outcome that cannot be used': [plugin((ctx) => {
    ctx.tools.define({ name: 'dig', description: '', parameters: { type: 'object' }, execute: () => 'dug' })
    ctx.on('tools/execute', throws)
  })],
  'what the plugin reports itself': [plugin((ctx) => void ctx.on('agent/pre-step', async (agent, _turn, _step, next) => (agent.report('agent/pre-step', 'boom'), next())))],
} as unknown as Record<string, NonNullable<HarnessOptions['plugins']>>

describe('everything that is reported is an error', () => {
  it.each(Object.entries(reporting))('%s makes the next run() reject, naming plugin and problem', async (_, plugins) => {
    const made = await harness({ plugins, script: [{ calls: [{ name: 'dig' }] }, 'ok'] })
    expect((await made.run('Hi')).reason).toBe('done')
    const named = { code: 'REPORTED', message: expect.stringMatching(/^plugin bad in .*boom/) as string, reports: expect.arrayContaining([expect.objectContaining({ plugin: 'bad' })]) as unknown }
    await expect(made.run('Hi')).rejects.toMatchObject(named)
    await made.dispose()
  })

  it.each(Object.entries(reporting))('%s makes dispose() reject, when all is unloaded', async (_, plugins) => {
    const made = await harness({ plugins, script: [{ calls: [{ name: 'dig' }] }, 'ok'] })
    let unloaded = false
    await made.ctx.plugin({ name: 'beside', apply: async () => () => void (unloaded = true) })
    await made.run('Hi')
    await expect(made.dispose()).rejects.toMatchObject({ code: 'REPORTED' })
    expect(unloaded).toBe(true)
  })

  it('what a parked or resumed agent reports counts too', async () => {
    const made = await harness()
    await made.resume()
    made.agent.report('inbox', 'boom')
    await expect(made.run('Hi')).rejects.toThrow('boom')
    await made.dispose()
  })

  it('each report is thrown once', async () => {
    const made = await harness()
    made.agent.report('inbox', 'boom')
    await expect(made.run('Hi')).rejects.toThrow('boom')
    await made.run('Hi')
    await made.dispose()
  })

  it('but not what a test has read', async () => {
    const made = await harness()
    made.agent.report('inbox', 'boom')
    expect(made.reports).toMatchObject([{ problem: 'boom' }])
    await made.run('Hi')
    made.agent.report('inbox', 'again')
    await expect(made.run('Hi')).rejects.toThrow('again')
    await made.dispose()
  })

  it("and not with reports: 'allow'", async () => {
    const made = await harness({ plugins: reporting['a topic that throws']!, reports: 'allow' })
    const { reason } = await made.run('Hi')
    expect(reason).toBe('done')
    expect(made.reports[0]).toMatchObject({ plugin: 'bad', problem: expect.stringContaining('boom') as string })
    await made.dispose()
  })
})

describe('a turn that a plugin\'s seam broke', () => {
  const breaks: Plugin = { name: 'breaks', apply: async (ctx: Context) => void ctx.on('agent/pre-step', async () => { throw new Error('no moon') }) }
  const WORDS = 'plugin breaks in agent/pre-step: it threw: no moon; the turn ended with it'

  it('is an error of the next run, or of dispose(), as a host would see it fail', async () => {
    const made = await harness({ plugins: [breaks] })
    await made.run('one')
    await expect(made.run('two')).rejects.toThrow(WORDS)
    await made.run('three')
    await expect(made.dispose()).rejects.toThrow(WORDS)
  })

  it('is none where the test looked at how the turn ended', async () => {
    const made = await harness({ plugins: [breaks] })
    expect(await made.run('one')).toMatchObject({ reason: 'error', error: { code: 'SEAM_FAILED' } })
    expect((await made.run('two')).reason).toBe('error')
    await made.dispose()
  })
})
