import { describe, expect, it } from 'vitest'
import { override } from '@headrace/agent'
import type { Harness } from '@headrace/testing'
import { app, calls, eventsOf, expectRebuilds, plugin, textsOf } from './help.ts'
import { CULPRIT, type Listener, good, nextOf, run } from './listeners.ts'

const FULL = ['good prefix', 'good before', 'Hi.', 'good after']

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
    expect(made.reports).toMatchObject([{ kind: 'lost', plugin: 'bad', problem: expect.stringContaining('stop') as string }])
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
    expect(made.requests[0]!.config).toEqual({ model: 'scripted/model', temperature: 0.1 })
    expect(textsOf(made.requests[1]!)).toEqual(['mine', 'Hi.', '', 'look: fine', 'my context', 'my after'])
    const logged = eventsOf(await made.events(), 'agent/override').map(({ data }) => data)
    expect(logged).toEqual(expect.arrayContaining([
      { ...CULPRIT('agent/session-prefix'), reason: 'no prefix but mine', dropped: ['good/p'] },
      { ...CULPRIT('agent/request-messages'), reason: 'no framing', dropped: ['good/b', 'good/a'] },
      { ...CULPRIT('agent/request'), reason: 'my config', dropped: ['good/request', 'good/request'] },
      { ...CULPRIT('tools/post-execute'), reason: 'no contexts', dropped: ['good/post-execute'] },
    ]))
    // One note a listener and request: the prefix once, the others in both.
    expect(logged.map(({ seam }) => seam).filter((seam) => seam === 'agent/request-messages')).toHaveLength(2)
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
      ctx.agents.before({ key: 'z', content: () => `${name} z` })
      ctx.agents.before({ key: 'a', content: () => `${name} a` })
      ctx.agents.before({ key: 'first', order: -1, content: () => `${name} first` })
      ctx.agents.prefix({ key: 'p', content: () => [`${name} 2`, `${name} 1`] })
    })
    const seen = new Set<string>()
    for (const plugins of [['a', 'b'], ['b', 'a']]) {
      const made = await app({ plugins: plugins.map(named) })
      await made.run('Hi.')
      const again = made.ctx.plugin(named('c'))
      await again
      await again.dispose()
      await made.run('Hi.')
      for (const { messages, segments } of made.requests)
        seen.add(JSON.stringify(textsOf(messages.slice(0, segments.prefix + segments.before))))
    }
    expect([...seen]).toEqual([JSON.stringify(['a 2', 'a 1', 'b 2', 'b 1', 'a first', 'b first', 'a a', 'a z', 'b a', 'b z'])])
  })
})
