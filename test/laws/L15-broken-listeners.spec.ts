import { describe, expect, it } from 'vitest'
import { stopClock } from '@headrace/testing/clock'
import { gate, until } from '@headrace/testing/gate'
import { app, calls, eventsOf, plugin, textsOf } from './help.ts'
import { CULPRIT, type Listener, bad, good, nextOf, run } from './listeners.ts'

const faults: readonly (readonly [string, Listener])[] = [
  ['throws', () => { throw new Error('broken') }],
  ['rejects', async () => { throw new Error('broken') }],
  ['is late', () => new Promise(() => undefined)],
  ['calls next() twice', async (...args) => {
    const next = nextOf(args)
    const value = await next()
    await next().catch(() => undefined)
    return value
  }],
  ['returns nothing', async (...args) => void await nextOf(args)()],
  ['returns a wrong type', async () => 17],
]

/** The faults of a seam, but for what is none there. */
function faultsOf(seam: string, ...fine: readonly string[]): [string, string, Listener][] {
  return faults.filter(([what]) => !fine.includes(what)).map(([what, listener]) => [seam, what, listener])
}

describe('L15 Nobody is dropped: a listener that breaks the contract', () => {
  it.each(faultsOf('agent/prompt-submit'))('%s: one that %s blocks the prompt, and the turn ends with an error', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener)
    expect(result).toMatchObject({ reason: 'error', error: CULPRIT(seam), steps: 0 })
    expect(made.agent.session.deriveMessages()).toEqual([])
    expect(made.agent.session.owed).toBe(false)
  })

  it.each(faultsOf('agent/pre-step', 'is late'))('%s: after one that %s no step is opened, and the turn ends with an error', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener)
    expect(result).toMatchObject({ reason: 'error', error: CULPRIT(seam) })
    expect(eventsOf(await made.events(), 'step/start')).toEqual([])
  })

  it.each([...faultsOf('agent/session-prefix'), ...faultsOf('agent/request'), ...faultsOf('agent/request-messages')])('%s: one that %s ends the step with an error', async (seam, _, listener) => {
    for (const strict of [true, false]) {
      const { made, result } = await run(seam, listener, { strict })
      expect(result).toMatchObject({ reason: 'error', error: CULPRIT(seam) })
      expect(eventsOf(await made.events(), 'step/end')[0]!.data).toMatchObject({ reason: 'error', error: CULPRIT(seam) })
      expect(made.requests).toHaveLength(0)
    }
  })

  it.each([...faultsOf('agent/request-error', 'is late'), ['agent/request-error', 'returns a wrong config', async () => ({ retry: { config: { model: 17 } } })] as [string, string, Listener]])('%s: one that %s means fail', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener, { script: [{ error: { kind: 'rate-limit' } }] })
    expect(result).toMatchObject({ reason: 'error', error: { code: 'MODEL_FAILED', failure: { kind: 'rate-limit' } } })
    expect(made.requests).toHaveLength(1)
    expect(made.reports).toMatchObject([CULPRIT(seam)])
  })

  it.each([...faultsOf('tools/pre-execute'), ...faultsOf('tools/ask', 'is late')])('%s: one that %s means deny', async (seam, _, listener) => {
    let ran = false
    const asks = plugin('asks', (ctx) => ctx.tools.define({ name: 'danger', description: '', parameters: { type: 'object' }, ask: true, execute: () => void (ran = true) }))
    const { made, result } = await run(seam, listener, { script: [calls('danger'), 'Done.'], plugins: [asks, bad(seam, listener)] })
    expect(result.reason).toBe('done')
    expect(eventsOf(await made.events(), 'tool/result')[0]!.data.outcome).toBe('denied')
    expect(made.reports).toMatchObject([CULPRIT(seam)])
    expect(ran).toBe(false)
  })

  it('tools/ask has no deadline, and nobody to answer means deny', async () => {
    const clock = stopClock()
    const asks = plugin('asks', (ctx) => ctx.tools.define({ name: 'danger', description: '', parameters: { type: 'object' }, ask: true, execute: () => 'ran' }))
    const nobody = await app({ script: [calls('danger'), 'Done.'], plugins: [asks] })
    await nobody.run('Hi.')
    expect(textsOf(nobody.requests[1]!).at(-1)).toContain('danger: The call was denied')
    const slow = await run('tools/ask', () => clock.pass(90).then(() => 'allow'), { script: [calls('danger'), 'Done.'], plugins: [asks, bad('tools/ask', () => clock.pass(90).then(() => 'allow'))] })
    expect(textsOf(slow.made.requests[1]!).at(-1)).toBe('danger: ran')
  })

  it('agent/pre-step and agent/request-error have none either: the signal only', async () => {
    const clock = stopClock()
    const { result } = await run('agent/pre-step', (...args) => clock.pass(90).then(nextOf(args)))
    expect(result.reason).toBe('done')
    const retried = await run('agent/request-error', () => clock.pass(90).then(() => 'retry'), { script: [{ error: {} }, 'Done.'] })
    expect(retried.result.reason).toBe('done')
    const started = gate()
    const made = await app({ plugins: [bad('agent/pre-step', () => (started.open(), new Promise(() => undefined)))] })
    const handle = made.agent.prompt('Hi.')
    await started.promise
    handle.cancel()
    expect(await handle.result).toMatchObject({ reason: 'cancelled' })
  })

  it.each(faultsOf('tools/execute', 'returns a wrong type'))('%s: one that %s gives an error result', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener)
    expect(result.reason).toBe('done')
    expect(eventsOf(await made.events(), 'tool/result')[0]!.data).toMatchObject({ outcome: 'error', message: { content: [{ error: true }] } })
    expect(made.reports).toMatchObject([CULPRIT(seam)])
  })

  it.each([
    ...faultsOf('llm/stream', 'is late', 'rejects', 'calls next() twice', 'returns nothing'),
    ['llm/stream', 'throws while it streams', async function* () { yield { type: 'text', text: 'x' }; throw new Error('broken') }],
    ['llm/stream', 'returns nothing', () => undefined],
    ['llm/stream', 'calls next() twice', (...args) => (nextOf(args)(), nextOf(args)())],
  ] as [string, string, Listener][])('%s: after one that %s the attempt fails', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener)
    expect(result).toMatchObject({ reason: 'error', error: { code: 'MODEL_FAILED', failure: { kind: 'plugin', message: expect.stringMatching(/plugin bad in llm\/stream/) as unknown } } })
    expect(eventsOf(await made.events(), 'request/end')[0]!.data).toMatchObject({ outcome: 'error', error: { kind: 'plugin' } })
  })

  it('but what the model itself says goes through a listener as it is', async () => {
    const { result } = await run('llm/stream', async function* (...args) { yield* nextOf(args)() as unknown as AsyncIterable<never> }, { script: [{ error: { kind: 'rate-limit' } }] })
    expect(result).toMatchObject({ error: { failure: { kind: 'rate-limit' } } })
  })

  it.each(faultsOf('tools/post-execute'))('%s: after one that %s the outcome is kept, and it is reported', async (seam, _, listener) => {
    for (const strict of [true, false]) {
      const { made, result } = await run(seam, listener, { strict })
      expect(eventsOf(await made.events(), 'tool/result')[0]!.data).toMatchObject({ outcome: 'done', message: { content: [{ content: [{ text: 'fine' }] }] } })
      if (strict) expect(result).toMatchObject({ reason: 'error', error: CULPRIT(seam) })
      else {
        expect(result.reason).toBe('done')
        expect(made.reports).toMatchObject([CULPRIT(seam)])
      }
    }
  })

  it.each(faultsOf('agent/turn-stopping', 'calls next() twice', 'returns nothing', 'returns a wrong type'))('%s: one that %s is reported, and ignored', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener)
    expect(result.reason).toBe('done')
    expect(made.reports).toMatchObject([CULPRIT(seam)])
  })

  it.each(faultsOf('session/event', 'is late', 'calls next() twice', 'returns nothing', 'returns a wrong type'))('%s: one that %s is reported, and ignored', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener)
    expect(result.reason).toBe('done')
    expect(made.reports.length).toBe(made.agent.session.length - 1)
    expect(made.reports[0]).toMatchObject(CULPRIT(seam))
  })

  it('a clock stops while a listener waits in next(): a slow one inside is not blamed on the outer', async () => {
    const clock = stopClock()
    const { made, result } = await run('agent/session-prefix', async (...args) => {
      await clock.pass(25)
      const below = await nextOf(args)()
      return below
    }, { plugins: [plugin('inner', (ctx) => ctx.agents.prefix({ key: 'p', content: () => clock.pass(25).then(() => 'inner') })), bad('agent/session-prefix', async (...args) => {
      const below = await nextOf(args)()
      await clock.pass(25)
      return below
    })] })
    expect([result.reason, made.reports]).toEqual(['done', []])
    const slow = await app({ settings: { seamTimeout: 40 }, plugins: [plugin('inner', (ctx) => ctx.agents.prefix({ key: 'p', content: () => clock.pass(200).then(() => 'inner') })), bad('agent/session-prefix', (...args) => nextOf(args)())] })
    expect(await slow.run('Hi.')).toMatchObject({ reason: 'error', error: { plugin: 'inner' } })
  })

  it('a seam that ended refuses a late next(), and ignores a late result', async () => {
    const clock = stopClock()
    const late: unknown[] = []
    const { made, result } = await run('agent/request-messages', async (...args) => {
      await clock.pass(60)
      late.push(await nextOf(args)().catch((error: unknown) => error))
      return { before: ['too late'], after: [] }
    }, { strict: false })
    expect(result).toMatchObject({ reason: 'error', error: CULPRIT('agent/request-messages') })
    await until(() => late.length === 1)
    expect(late).toMatchObject([{ code: 'SEAM_FAILED', message: expect.stringContaining('ended') as unknown }])
    expect(made.requests).toHaveLength(0)
    expect(JSON.stringify(await made.events())).not.toContain('too late')
  })

  it('a report is an event, and a line in Cordis’ log', async () => {
    const lines: string[] = []
    const made = await app({ settings: { strict: false }, plugins: [good, bad('agent/session-prefix', async () => [])] })
    made.ctx.logger.exporter({ levels: { default: 3 }, export: (message: object) => void lines.push(JSON.stringify(message)) } as never)
    await made.run('Hi.')
    expect(made.reports).toMatchObject([{ kind: 'lost', ...CULPRIT('agent/session-prefix') }])
    expect(lines.filter((line) => line.includes('bad') && line.includes('agent/session-prefix'))).toHaveLength(1)
  })
})
