import { describe, expect, it } from 'vitest'
import { copyJson } from '@headrace/message'
import { MemoryStore, Session } from '@headrace/session'
import { app, calls, eventsOf, expectRebuilds, plugin, textsOf, thrownBy, tool } from './help.ts'

declare module '@headrace/session' {
  interface EventMap {
    'test/note': { readonly value: unknown }
  }
}

class Point { x = 1 }

const everything = plugin('everything', (ctx) => {
  ctx.agents.prefix({ key: 'p', content: () => 'prefix' })
  ctx.agents.before({ key: 'b', content: () => 'before' })
  ctx.agents.after({ key: 'a', content: () => 'after' })
  ctx.system.section({ key: 's', content: 'section' })
  tool(ctx, 'look')
})

describe('L11 What enters is copied, what leaves is frozen: in', () => {
  it.each<[string, unknown, string]>([
    ['undefined', { a: [1, undefined] }, '.a[1]'],
    ['NaN', { n: NaN }, '.n'],
    ['-0', { n: -0 }, '.n'],
    ['a lone surrogate', { deep: { text: '\ud800' } }, '.deep.text'],
    ['a key with one', { '\udfff': 1 }, ''],
    ['a class instance', { at: new Point() }, '.at'],
    ['a date', { at: new Date(0) }, '.at'],
    ['a sparse array', { list: [, 1] }, '.list'],
    ['an accessor', { get now() { return 1 } }, '.now'],
    ['a function', { call: () => 1 }, '.call'],
    ['a bigint', { big: 1n }, '.big'],
    ['a symbol as key', { [Symbol.iterator]: 1 }, ''],
    ['a hidden property', Object.defineProperty({}, 'hidden', { value: 1 }), '.hidden'],
  ])('append refuses %s and names its path', async (_, value, path) => {
    const session = await Session.create(new MemoryStore(), { id: 'a' })
    expect(thrownBy(() => session.append({ type: 'test/note', data: { value } }))).toMatchObject({ code: 'JSON_LOSSY', path: `test/note.value${path}` })
    expect(session.length).toBe(1)
  })

  it('and a cycle', async () => {
    const session = await Session.create(new MemoryStore(), { id: 'a' })
    const cycle: Record<string, unknown> = {}
    cycle.self = { cycle }
    expect(thrownBy(() => session.append({ type: 'test/note', data: { value: cycle } }))).toMatchObject({ code: 'JSON_LOSSY' })
  })

  it('frozen means frozen by us: one that was frozen at the top only is copied too', async () => {
    const session = await Session.create(new MemoryStore(), { id: 'a' })
    const data = Object.freeze({ value: Object.freeze({ list: [1], inner: { text: 'as given' } }) })
    const event = session.append({ type: 'test/note', data })
    data.value.list.push(2)
    data.value.inner.text = 'changed'
    expect(event.data).toEqual({ value: { list: [1], inner: { text: 'as given' } } })
    expect(Object.isFrozen((event.data.value as { inner: object }).inner)).toBe(true)
    expect(copyJson(event.data)).toBe(event.data)
  })

  it('every seam’s result too, frozen at the top or not', async () => {
    const list = (text: string): { role: 'system'; content: { type: 'text'; text: string }[] }[] => [Object.freeze({ role: 'system' as const, content: [{ type: 'text' as const, text }] })]
    const kept = { prefix: list('prefix'), before: list('before'), submitted: list('submitted'), after: list('after the batch'), outcome: { content: [{ type: 'text' as const, text: 'outcome' }] }, injected: list('injected') }
    const spoil = (): void => {
      for (const [message] of [kept.prefix, kept.before, kept.submitted, kept.after, kept.injected]) message!.content[0]!.text = 'changed'
      kept.outcome.content[0]!.text = 'changed'
    }
    const made = await app({
      script: (_request, index) => {
        spoil()
        return index === 0 ? calls('look') : 'Done.'
      },
      plugins: [plugin('keeper', (ctx) => {
        tool(ctx, 'look')
        ctx.on('agent/prompt-submit', async (agent, _turn, _submission, next) => {
          agent.inject(kept.injected[0]!)
          return { ...await next(), additionalContext: kept.submitted }
        })
        ctx.on('agent/session-prefix', async (_agent, _turn, _prefix, next) => [...kept.prefix, ...await next()])
        ctx.on('agent/request-messages', async (_agent, _turn, step, _messages, next) => (step.number === 1 ? { ...await next(), before: kept.before } : next()))
        ctx.on('tools/execute', async (_agent, _turn, _call, next) => (await next(), kept.outcome))
        ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: kept.after }))
        ctx.on('session/event', (_agent, { type }) => {
          if (type === 'tool/result') spoil()
        })
      })],
    })
    await made.run('Hi.')
    expect(textsOf(made.requests[0]!)).toEqual(['prefix', 'before', 'injected', 'Hi.', 'submitted'])
    expect(textsOf(made.requests[1]!).at(-1)).toBe('changed')
    expect(JSON.stringify(made.requests[0])).not.toContain('changed')
    await expectRebuilds(made)
  })
})

describe('L11 What enters is copied, what leaves is frozen: out', () => {
  it('a request, to its last part; the AbortSignal is exempt', async () => {
    const { run, requests } = await app({ plugins: [everything] })
    await run('Hi.')
    const [request] = requests
    expect(loose(request!)).toEqual(['$.signal'])
    expect(request!.signal.addEventListener).toBeInstanceOf(Function)
  })

  it('mutating a request throws in the mutator’s own frame, and harms nobody else', async () => {
    const thrown: unknown[] = []
    const made = await app({ plugins: [everything, plugin('mutator', (ctx) => {
      ctx.on('llm/stream', (_agent, _turn, request, next) => {
        const it = request as unknown as {
          messages: { content: { text: string }[] }[]; config: { model: string }; tools: { parameters: object }[]
          owners: string[]; segments: { after: number }; system: string
        }
        for (const mutate of [
          () => it.messages.push(it.messages[0]!), () => it.messages.splice(0), () => void (it.messages[0]!.content[0]!.text = 'x'), () => it.messages[0]!.content.pop(),
          () => void (it.messages = []), () => void (it.config.model = 'x'), () => Object.assign(it.tools[0]!.parameters, { x: 1 }), () => it.tools.pop(),
          () => void (it.owners[0] = 'user'), () => void (it.segments.after = 0), () => void (it.system = 'x'), () => Object.assign(it, { extra: 1 }),
        ]) thrown.push(thrownBy(mutate))
        return next()
      })
    })] })
    expect(await made.run('Hi.')).toMatchObject({ reason: 'done' })
    expect(thrown).toHaveLength(12)
    for (const error of thrown) expect(error).toBeInstanceOf(TypeError)
    await expectRebuilds(made)
  })

  it('what seams and tools are shown: turn, step, submission, seed, failure, call, outcome, what next() gave', async () => {
    const shown: unknown[] = []
    const { run } = await app({
      script: [{ error: {} }, { calls: [{ name: 'look', arguments: { deep: { list: [1] } } }] }, 'Done.'],
      plugins: [plugin('reader', (ctx) => {
        ctx.tools.define({ name: 'look', description: '', parameters: { type: 'object' }, execute: (input, { call }) => {
          shown.push(call)
          ;(input as { deep: { list: number[] } }).deep.list.push(2)
          return 'x'
        } })
        for (const seam of ['agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request', 'agent/request-messages', 'tools/pre-execute', 'tools/execute', 'tools/post-execute'] as const) {
          ctx.on(seam, async (...args: unknown[]) => {
            const result = await (args.at(-1) as () => Promise<unknown>)()
            shown.push(...args.slice(1, -1), result)
            return result as never
          })
        }
        ctx.on('agent/request-error', async (_agent, _turn, _step, failure) => {
          shown.push(failure)
          return 'retry'
        })
      })],
    })
    expect(await run('Hi.')).toMatchObject({ reason: 'done' })
    expect(shown.length).toBeGreaterThan(20)
    for (const value of shown) expect(loose(value).filter((path) => !path.endsWith('.signal'))).toEqual([])
    expect(shown.filter((value) => JSON.stringify(value)?.includes('"list":[1,2]'))).toEqual([])
  })

  it('events, history, header, and what a turn results in', async () => {
    const { run, agent } = await app({ script: [calls('look'), 'Done.'], plugins: [everything] })
    const heard: unknown[] = []
    agent.session.on('event', (event) => heard.push(event))
    const result = await run('Hi.')
    const { session } = agent
    const given = [...heard, ...session.events(), session.deriveMessages(), session.entries(), session.requestHeader(), result]
    for (const value of given) expect(loose(value)).toEqual([])
  })

  it('the signal tells of a cancel: it was not copied', async () => {
    const { agent, requests } = await app({ script: [{ text: 'Hm', hang: true }] })
    const handle = agent.prompt('Hi.')
    for await (const event of handle) if (event.type === 'text') handle.cancel()
    expect(requests[0]!.signal.aborted).toBe(true)
  })

  it('a log that was loaded gives out frozen events', async () => {
    const made = await app()
    await made.run('Hi.')
    await made.agent.dispose()
    const session = await Session.open(made.store, 'test')
    for (const event of session.events()) expect(loose(event)).toEqual([])
    expect(eventsOf([...session.events()], 'turn/end')).toHaveLength(1)
    await session.close()
  })
})

/** Paths of what is not frozen. */
function loose(value: unknown, path = '$', seen = new Set<unknown>()): string[] {
  if (typeof value !== 'object' || value === null || seen.has(value)) return []
  seen.add(value)
  if (value instanceof AbortSignal) return [path]
  const inside = Object.entries(value).flatMap(([key, item]) => loose(item, `${path}.${key}`, seen))
  return Object.isFrozen(value) ? inside : [path, ...inside]
}
