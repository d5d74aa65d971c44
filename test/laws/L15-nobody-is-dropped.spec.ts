import { describe, expect, it } from 'vitest'
import { override } from '@headrace/agent'
import type { Harness, HarnessOptions } from '@headrace/testing'
import { app, calls, delay, eventsOf, expectRebuilds, gate, plugin, textsOf, tool } from './help.ts'

type Next = () => Promise<never>
type Listener = (...args: unknown[]) => unknown
const nextOf = (args: readonly unknown[]): Next => args.at(-1) as Next

/** Contributes to everything, and is the one who must not be dropped. */
const good = plugin('good', (ctx) => {
  tool(ctx, 'look')
  ctx.agents.prefix('p', () => 'good prefix')
  ctx.agents.before('b', () => 'good before')
  ctx.agents.after('a', () => 'good after')
  ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), topP: 0.5, stop: ['END'] }))
  ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: ['good context'] }))
})

/** A plugin with one listener, outside all others. */
function bad(seam: string, listener: Listener): ReturnType<typeof plugin> {
  return plugin('bad', (ctx) => void ctx.on(seam as 'agent/pre-step', listener as never, { prepend: true }))
}

async function run(seam: string, listener: Listener, { strict = true, script = [calls('look'), 'Done.'], ...more }: { strict?: boolean; script?: HarnessOptions['script'] } & Partial<HarnessOptions> = {}): Promise<{ readonly made: Harness; readonly result: Awaited<ReturnType<Harness['run']>> }> {
  const made = await app({ script: script!, plugins: [good, bad(seam, listener)], settings: { strict, seamTimeout: 40, toolTimeout: 40, grace: 5 }, ...more })
  const result = await made.run('Hi.')
  expect(await made.verify()).not.toHaveProperty('difference')
  return { made, result }
}

const FULL = ['good prefix', 'good before', 'Hi.', 'good after']
const CULPRIT = (seam: string): object => ({ plugin: 'bad', seam })

describe('L15 Nobody is dropped: what next() returned, or would have, stands', () => {
  const losses: [string, string, Listener][] = [
    ['agent/session-prefix', 'does not call next()', async () => ['mine']],
    ['agent/session-prefix', 'drops what it returned', async (...args) => (await nextOf(args)(), ['mine'])],
    ['agent/session-prefix', 'repeats what it returned', async (...args) => { const below = await nextOf(args)() as never[]; return ['mine', ...below, ...below] }],
    ['agent/request-messages', 'does not call next()', async () => ({ before: ['mine'], after: [] })],
    ['agent/request-messages', 'drops what it returned', async (...args) => (await nextOf(args)(), { before: ['mine'] })],
    ['agent/request-messages', 'repeats what it returned', async (...args) => { const { before, after } = await nextOf(args)() as { before: never[]; after: never[] }; return { before: ['mine', ...before], after: [...after, ...after] } }],
    ['agent/request', 'does not call next()', async (...args) => ({ ...args[3] as object, temperature: 0.1 })],
    ['agent/request', 'drops what it returned', async (...args) => (await nextOf(args)(), { ...args[3] as object, temperature: 0.1, topP: 0.9 })],
  ]

  it.each(losses)('in %s, one that %s: an error in strict, that names plugin and seam and ends the step', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener)
    expect(result).toMatchObject({ reason: 'error', error: CULPRIT(seam) })
    expect(eventsOf(await made.events(), 'step/end')[0]!.data).toMatchObject({ reason: 'error', error: CULPRIT(seam) })
    expect(made.requests).toHaveLength(0)
  })

  it.each(losses)('in %s, one that %s: otherwise the others’ stand, beside its own, and it is reported', async (seam, _, listener) => {
    const { made, result } = await run(seam, listener, { strict: false })
    expect(result.reason).toBe('done')
    expect(made.reports[0]).toMatchObject({ kind: 'lost', ...CULPRIT(seam) })
    const [request] = made.requests
    for (const text of FULL) expect(textsOf(request!).filter((one) => one === text)).toHaveLength(1)
    if (seam === 'agent/request') expect(request!.config).toMatchObject({ stop: ['END'], temperature: 0.1 })
    else expect(textsOf(request!)).toContain('mine')
    await expectRebuilds(made)
  })

  it('field by field: a field that it changed is its own, one that came back as in the seed was lost', async () => {
    const { made } = await run('agent/request', losses[7]![2], { strict: false })
    const [header] = eventsOf(await made.events(), 'request/header')
    expect(header!.data.header.config).toMatchObject({ topP: 0.9, stop: ['END'], temperature: 0.1 })
    expect(header!.data.owners.config).toMatchObject({ topP: 'bad/request', stop: 'good/request', temperature: 'bad/request' })
  })

  it('two that set one field: the outer one’s stands, step after step, and nobody is blamed for the state it left', async () => {
    const { made, result } = await run('agent/request', async (...args) => ({ ...await nextOf(args)() as object, topP: 0.9 }))
    expect(result.reason).toBe('done')
    await made.run('Again.')
    expect(made.requests.map(({ config }) => config.topP)).toEqual([0.9, 0.9, 0.9])
  })

  it.each<[string, Listener]>([
    ['does not call next()', async () => ({ outcome: 'mine' })],
    ['drops what it returned', async (...args) => (await nextOf(args)(), { outcome: 'mine' })],
  ])('in tools/post-execute, one that %s: the contexts of the others stand, and it is reported', async (_, listener) => {
    const { made, result } = await run('tools/post-execute', listener, { strict: false })
    expect(result.reason).toBe('done')
    expect(textsOf(made.requests[1]!)).toEqual(expect.arrayContaining(['look: mine', 'good context']))
    expect(made.reports[0]).toMatchObject({ kind: 'lost', ...CULPRIT('tools/post-execute') })
    const strict = await run('tools/post-execute', listener)
    expect(strict.result).toMatchObject({ reason: 'error', error: CULPRIT('tools/post-execute') })
    expect(eventsOf(await strict.made.events(), 'tool/result')[0]!.data).toMatchObject({ outcome: 'done', message: { content: [{ content: [{ text: 'fine' }] }] } })
  })

  it('a copy of another’s message is that message; a downstream message that is mutated throws in the mutator', async () => {
    const copied = await run('agent/session-prefix', async (...args) => ['mine', ...structuredClone(await nextOf(args)() as never[])])
    expect(copied.result.reason).toBe('done')
    expect(textsOf(copied.made.requests[0]!).slice(0, 2).toSorted()).toEqual(['good prefix', 'mine'])
    expect(copied.made.requests[0]!.owners).toContain('good/p')
    const mutated = await run('agent/session-prefix', async (...args) => {
      const below = await nextOf(args)() as { content: { text: string }[] }[]
      below[0]!.content[0]!.text = 'mine'
      return below
    })
    expect(mutated.result).toMatchObject({ reason: 'error', error: CULPRIT('agent/session-prefix') })
  })

  it.each<[string, string, Listener, (made: Harness) => unknown]>([
    ['agent/prompt-submit', 'a block', async () => ({ block: 'no' }), ({ requests }) => expect(requests).toHaveLength(0)],
    ['agent/pre-step', 'a stop', async () => ({ stop: 'no' }), ({ requests }) => expect(requests).toHaveLength(0)],
    ['tools/pre-execute', 'a denial', async () => ({ deny: 'no' }), ({ requests }) => expect(textsOf(requests[1]!)).toContain('look: The call was denied: no')],
    ['tools/execute', 'a sandbox', async () => 'from the sandbox', ({ requests }) => expect(textsOf(requests[1]!)).toContain('look: from the sandbox')],
    ['llm/stream', 'a replay', async function* () { yield { type: 'text', text: 'replayed' }; yield { type: 'finish', reason: 'stop' } }, ({ agent }) => expect(textsOf(agent.session.deriveMessages())).toContain('replayed')],
  ])('where %s decides, not calling next() is a decision: %s', async (seam, _, listener, check) => {
    const { made } = await run(seam, listener)
    check(made)
    expect(made.reports).toEqual([])
  })

  it('unless it says so with override(value, reason), which is logged', async () => {
    const made = await app({ script: [calls('look'), 'Done.'], plugins: [good, plugin('bad', (ctx) => {
      ctx.on('agent/session-prefix', async () => override(['mine'], 'no prefix but mine'), { prepend: true })
      ctx.on('agent/request-messages', async () => override({ before: [], after: ['my after'] }, 'no framing'), { prepend: true })
      ctx.on('agent/request', async (_agent, _turn, _step, config) => override({ ...config, temperature: 0.1 }, 'my config'), { prepend: true })
      ctx.on('tools/post-execute', async () => override({ additionalContext: ['my context'] }, 'no contexts'), { prepend: true })
    })] })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done' })
    expect(textsOf(made.requests[0]!)).toEqual(['mine', 'Hi.', 'my after'])
    expect(made.requests[0]!.config).toEqual({ provider: 'scripted', model: 'model', temperature: 0.1 })
    expect(textsOf(made.requests[1]!)).toEqual(['mine', 'Hi.', '', 'look: fine', 'my context', 'my after'])
    const logged = eventsOf(await made.events(), 'agent/override').map(({ data }) => data)
    expect(logged).toEqual(expect.arrayContaining([
      { ...CULPRIT('agent/session-prefix'), reason: 'no prefix but mine', dropped: ['good/p'] },
      { ...CULPRIT('agent/request-messages'), reason: 'no framing', dropped: ['good/b'] },
      { ...CULPRIT('agent/request'), reason: 'my config', dropped: ['good/request', 'good/request'] },
      { ...CULPRIT('tools/post-execute'), reason: 'no contexts', dropped: ['good/post-execute'] },
    ]))
    expect(made.reports).toEqual([])
    await expectRebuilds(made)
  })

  it('logged at once, also where no request follows', async () => {
    const { made, result } = await run('tools/post-execute', async () => override({ outcome: 'mine' }, 'no contexts'), { settings: { limits: { steps: 1 } } })
    expect(result.reason).toBe('limit')
    expect(eventsOf(await made.events(), 'agent/override')).toMatchObject([{ data: { ...CULPRIT('tools/post-execute'), reason: 'no contexts', dropped: ['good/post-execute'] } }])
  })

  it('neither load order nor a hot reload moves a byte: (order, plugin, key) decides', async () => {
    const named = (name: string): ReturnType<typeof plugin> => plugin(name, (ctx) => {
      ctx.agents.before('z', () => `${name} z`)
      ctx.agents.before('a', () => `${name} a`)
      ctx.agents.before('first', () => `${name} first`, { order: -1 })
      ctx.agents.prefix('p', () => [`${name} 2`, `${name} 1`])
    })
    const seen = new Set<string>()
    for (const plugins of [['a', 'b'], ['b', 'a']]) {
      const made = await app({ plugins: plugins.map(named) })
      await made.run('Hi.')
      const again = made.ctx.plugin(named('c'))
      await again
      await again.dispose()
      await made.run('Hi.')
      for (const { messages, segments } of made.requests) seen.add(JSON.stringify(textsOf(messages.slice(0, segments.prefix + segments.before))))
    }
    expect([...seen]).toEqual([JSON.stringify(['a 2', 'a 1', 'b 2', 'b 1', 'a first', 'b first', 'a a', 'a z', 'b a', 'b z'])])
  })
})

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

describe('L15 A listener that breaks the contract', () => {
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
    const asks = plugin('asks', (ctx) => ctx.tools.define({ name: 'danger', description: '', parameters: { type: 'object' }, ask: true, execute: () => 'ran' }))
    const nobody = await app({ script: [calls('danger'), 'Done.'], plugins: [asks] })
    await nobody.run('Hi.')
    expect(textsOf(nobody.requests[1]!).at(-1)).toContain('danger: The call was denied')
    const slow = await run('tools/ask', () => delay(90).then(() => 'allow'), { script: [calls('danger'), 'Done.'], plugins: [asks, bad('tools/ask', () => delay(90).then(() => 'allow'))] })
    expect(textsOf(slow.made.requests[1]!).at(-1)).toBe('danger: ran')
  })

  it('agent/pre-step and agent/request-error have none either: the signal only', async () => {
    const { result } = await run('agent/pre-step', (...args) => delay(90).then(nextOf(args)))
    expect(result.reason).toBe('done')
    const retried = await run('agent/request-error', () => delay(90).then(() => 'retry'), { script: [{ error: {} }, 'Done.'] })
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
    const { made, result } = await run('agent/session-prefix', async (...args) => {
      await delay(25)
      const below = await nextOf(args)()
      return below
    }, { plugins: [plugin('inner', (ctx) => ctx.agents.prefix('p', () => delay(25).then(() => 'inner'))), bad('agent/session-prefix', async (...args) => {
      const below = await nextOf(args)()
      await delay(25)
      return below
    })] })
    expect([result.reason, made.reports]).toEqual(['done', []])
    const slow = await app({ settings: { seamTimeout: 40 }, plugins: [plugin('inner', (ctx) => ctx.agents.prefix('p', () => delay(200).then(() => 'inner'))), bad('agent/session-prefix', (...args) => nextOf(args)())] })
    expect(await slow.run('Hi.')).toMatchObject({ reason: 'error', error: { plugin: 'inner' } })
  })

  it('a seam that ended refuses a late next(), and ignores a late result', async () => {
    const late: unknown[] = []
    const { made, result } = await run('agent/request-messages', async (...args) => {
      await delay(60)
      late.push(await nextOf(args)().catch((error: unknown) => error))
      return { before: ['too late'], after: [] }
    }, { strict: false })
    expect(result).toMatchObject({ reason: 'error', error: CULPRIT('agent/request-messages') })
    await delay(60)
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
