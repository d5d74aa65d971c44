import type { Context, Plugin } from 'cordis'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { type Message, textOf } from '@headrace/message'
import { type SessionEvent, unpaired } from '@headrace/session'
import { type Harness, type HarnessOptions, type Reply, harness } from '@headrace/testing'
import { gate, until } from '@headrace/testing/gate'

/** The rows of "Hooks and tools": small inputs that broke other systems. */

const plugin = (name: string, apply: (ctx: Context) => void): Plugin => ({ name, inject: ['agents', 'tools', 'system'], apply: async (ctx: Context) => apply(ctx) })
const app = (options: HarnessOptions = {}): Promise<Harness> =>
  harness({ ...options, settings: { grace: 50, seamTimeout: 100, ...options.settings } })
const call = (name: string, args: object | string = {}): Reply => ({ calls: [{ name, arguments: args }] })
const tool = (h: Harness, name: string, execute: (...args: never[]) => unknown, more: object = {}): (() => void) =>
  h.ctx.tools.define({ name, description: '', parameters: { type: 'object' }, execute: execute as never, ...more })
const results = (h: Harness): readonly string[] => h.agent.session.entries().flatMap(({ message }) => (message.role === 'tool' ? [message.content[0].content.map((block) => (block.type === 'text' ? block.text : '')).join('')] : []))
const outcomes = async (h: Harness): Promise<readonly string[]> => (await h.events()).flatMap((event) => (event.type === 'tool/result' ? [event.data.outcome] : []))

async function whole(h: Harness): Promise<void> {
  expect(unpaired(h.agent.session.deriveMessages())).toBeUndefined()
  expect((await h.verify()).difference).toBeUndefined()
  await h.dispose()
}

it.each<[string, () => unknown]>([
  ['throws', () => { throw new Error('broken') }], ['rejects', () => Promise.reject(new Error('broken'))],
  ['times out', () => new Promise(() => undefined)], ['returns nonsense', () => 'yes'],
])('a permission listener that %s: the call is denied, and says why', async (_what, judge) => {
  const h = await app({ reports: 'allow', script: [call('act'), 'ok'], plugins: [plugin('guard', (ctx) => void ctx.on('tools/pre-execute', judge as never))] })
  const ran = vi.fn(() => 'ran')
  tool(h, 'act', ran)
  expect(await h.run('Go')).toMatchObject({ reason: 'done', text: 'ok' })
  expect(ran).not.toHaveBeenCalled()
  expect(results(h)[0]).toMatch(/^The call was denied: what decides on it failed \(plugin guard in tools\/pre-execute: /)
  expect(await outcomes(h)).toEqual(['denied'])
  await whole(h)
})

describe('additionalContext', () => {
  const helper = plugin('helper', (ctx) => {
    ctx.on('agent/prompt-submit', async (_a, _t, _s, next) => ({ ...await next(), additionalContext: ['with the prompt'] }))
    ctx.on('tools/post-execute', async (_a, _t, _c, _o, next) => ({ ...await next(), additionalContext: [{ key: 'note', content: 'with the result' }] }))
  })
  const count = (messages: readonly Message[], text: string): number => messages.filter((message) => textOf(message) === text).length

  it('from each seam that offers it, with a crash right after any event, reaches the model exactly once', async () => {
    const first = await app({ script: [call('act'), 'ok'], plugins: [helper] })
    tool(first, 'act', () => 'done')
    await first.run('Go')
    const parent = await first.events()
    for (let at = parent.findIndex((event) => event.type === 'turn/start'); at < parent.length; at++) {
      // One append, so no crash comes between.
      if (parent[at + 1]?.type === 'context/message') continue
      // A fork is what a crash leaves: the log up to an event, repaired.
      const agent = await first.ctx.agents.fork('test', { at, id: `at-${at}` })
      await agent.idle()
      await agent.prompt('More').result
      const seen = first.requests.at(-1)!.messages
      const what = `crash after event ${at} (${parent[at]!.type})`
      // Two prompts went through the seam; the tool's context comes with its result, where there is one, once.
      expect(count(seen, 'with the prompt'), what).toBe(2)
      const withResult = parent.slice(0, at + 1).some((event) => event.type === 'tool/result')
      const again = agent.session.entries().filter(({ owner }) => owner === 'helper/note').length
      expect(count(seen, 'with the result'), what).toBe(again)
      if (withResult) expect(again, what).toBe(1)
      await agent.dispose()
    }
    await whole(first)
  })
})

describe('agent/turn-stopping', () => {
  it('asks both of two listeners, also where the first returns a value', async () => {
    const asked: string[] = []
    const h = await app({ plugins: [plugin('one', (ctx) => void ctx.on('agent/turn-stopping', (() => { asked.push('one'); return true }) as never)), plugin('two', (ctx) => void ctx.on('agent/turn-stopping', () => void asked.push('two')))] })
    await h.run('Go')
    expect(asked).toEqual(['one', 'two'])
    await whole(h)
  })

  it('that always steers keeps the turn alive, to its limit', async () => {
    const h = await app({ settings: { limits: { steps: 4 } }, plugins: [plugin('pusher', (ctx) => void ctx.on('agent/turn-stopping', (agent) => void agent.steer('More!')))] })
    expect(await h.run('Go')).toMatchObject({ reason: 'limit', steps: 4, error: { code: 'LIMIT_REACHED' } })
    await whole(h)
  })
})

it('a UI listener that throws on step/start, one that appends from inside: the log is whole and in order for everyone', async () => {
  const seen: number[] = []
  const h = await app()
  h.agent.session.on('event', (event) => { if (event.type === 'step/start') throw new Error('UI broke') })
  h.agent.session.on('event', (event) => { if (event.type === 'step/start') h.agent.inject('from the UI') })
  h.agent.session.on('event', (event) => void seen.push(event.seq))
  await h.run('Go')
  const all = (await h.events()).map(({ seq }) => seq)
  expect(seen).toEqual(all.slice(1))
  expect(h.reports).toMatchObject([{ kind: 'failed', seam: 'session.live', problem: 'UI broke' }])
  await whole(h)
})

describe('a tool', () => {
  // Held open until the tests of this block are over.
  const over = gate()
  afterAll(() => over.open())

  it.each<[string, (...args: never[]) => unknown, RegExp, object?]>([
    ['throws', () => { throw new Error('it broke') }, /^it broke$/],
    ['throws what is no error', () => { throw 'a string' }, /^a string$/], // oxlint-disable-line typescript/only-throw-error -- that is the case
    ['hangs', () => new Promise(() => undefined), /did not finish within 60 ms and was told to stop/, { timeout: 60 }],
    ['ignores its abort signal', () => over.promise.then(() => 'late'), /did not finish within 60 ms/, { timeout: 60 }],
    ['returns a function', () => () => 1, /not JSON: .* is a function/],
    ['returns a cycle', () => { const a: Record<string, unknown> = {}; a.a = a; return a }, /not JSON: .* is a cycle/],
    ['returns a class instance', () => new Map([[1, 2]]), /not JSON: .* is a Map; give Object\.fromEntries/],
    ['returns NaN', () => NaN, /not JSON: .* is NaN/],
  ])('that %s: an error result the model can read, and the turn goes on', async (_what, execute, text, more) => {
    const h = await app({ script: [call('act'), 'ok'] })
    tool(h, 'act', execute, more)
    expect(await h.run('Go')).toMatchObject({ reason: 'done', text: 'ok' })
    expect(results(h)[0]).toMatch(text)
    expect(await outcomes(h)).toEqual(['error'])
    await whole(h)
  })

  it('that is unloaded while it runs: an error result that says so, and the turn goes on', async () => {
    const h = await app({ script: [call('act'), 'ok'] })
    const fiber = await h.ctx.plugin(plugin('owner', (ctx) => void ctx.tools.define({ name: 'act', description: '', parameters: { type: 'object' }, execute: () => new Promise(() => undefined) })))
    const handle = h.agent.prompt('Go')
    await until(async () => (await h.events()).some((event) => event.type === 'tool/start'))
    await fiber.dispose()
    expect(await handle.result).toMatchObject({ reason: 'done', text: 'ok' })
    expect(results(h)[0]).toMatch(/The tool act is gone: its plugin was unloaded while it ran/)
    expect(h.requests[1]!.tools).toBeUndefined()
    await whole(h)
  })

  it('that gives back 50 MB: the result is bounded, with a visible note', async () => {
    const h = await app({ script: [call('act'), 'ok'] })
    tool(h, 'act', () => 'x'.repeat(50_000_000))
    await h.run('Go')
    expect(results(h)[0]!.length).toBeLessThan(210_000)
    expect(results(h)[0]).toMatch(/\[… 49800000 characters left out …\]/)
    await whole(h)
  })

  it('with the name of another is refused, and both are named', async () => {
    const h = await app()
    await h.ctx.plugin(plugin('first', (ctx) => void ctx.tools.define({ name: 'act', description: '', parameters: { type: 'object' }, execute: () => '' })))
    await expect(h.ctx.plugin(plugin('second', (ctx) => void ctx.tools.define({ name: 'act', description: '', parameters: { type: 'object' }, execute: () => '' })))).rejects.toThrow(/a tool "act" of plugin first already; plugin second/)
    await whole(h)
  })
})

it.each([
  ['not JSON', '{"a": 1', /The arguments are not JSON/], ['of the wrong shape', '{"a":"x","b":1}', /do not fit: a must be number/], ['null', 'null', /must be a JSON object/], ['a list', '[1]', /must be a JSON object/],
])('arguments that are %s: an error result that says so; the tool does not run', async (_what, args, text) => {
  const h = await app({ script: [call('act', args), 'ok'] })
  const ran = vi.fn(() => 'ran')
  tool(h, 'act', ran, { parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] } })
  await h.run('Go')
  expect(ran).not.toHaveBeenCalled()
  expect(results(h)[0]).toMatch(text)
  await whole(h)
})

it('an unknown tool where there are very many, or with a name without end: the near one, and not all', async () => {
  const h = await app({ script: [{ calls: [{ name: 'tool_31_' }, { name: 'x'.repeat(100_000) }] }, 'ok'] })
  for (let index = 100; index < 600; index++) tool(h, `tool_${index}`, () => 'ok')
  await h.run('Go')
  const [near, long] = results(h)
  expect(near).toMatch(/^There is no tool "tool_31_"; did you mean "tool_31\d"\? There is: tool_100, [\w, ]+ tool_139 and 460 more\.$/)
  expect(long!.length).toBeLessThan(1_000)
  await whole(h)
})

it('an unknown tool: an error result that says which there are', async () => {
  const h = await app({ script: [call('nothing'), 'ok'] })
  tool(h, 'act', () => 'ok')
  await h.run('Go')
  expect(results(h)[0]).toBe('There is no tool "nothing". There is: act.')
  await whole(h)
})

it.each<[string, Reply, string, number]>([
  ['no text and no call', '', 'empty', 0], ['reasoning only', { reasoning: 'Hm.' }, 'empty', 1], ['its output limit reached', { text: 'and then', finish: 'length' }, 'length', 1], ['a refusal', { text: 'I will not.', finish: 'refusal' }, 'refusal', 1],
])('the model ends with %s: the turn ends with that reason, and what there was is kept', async (_what, reply, finish, kept) => {
  const h = await app({ script: [reply, 'ok'] })
  expect(await h.run('Go')).toMatchObject({ reason: 'done', finish })
  expect(h.agent.session.deriveMessages().filter((message) => message.role === 'assistant')).toHaveLength(kept)
  expect(await h.run('And now?')).toMatchObject({ reason: 'done', text: 'ok' })
  await whole(h)
})

describe('calls and results', () => {
  const of = (events: readonly SessionEvent[], type: SessionEvent['type']): number => events.filter((event) => event.type === type).length

  it('ids that repeat in a later turn, or in one answer, or are missing: each call has its result, by position', async () => {
    const h = await app({ script: [{ calls: [{ name: 'act', id: 'same' }, { name: 'act', id: 'same' }, { name: 'act', id: '' }] }, 'one', { calls: [{ name: 'act', id: 'same' }] }, 'two'] })
    let count = 0
    tool(h, 'act', () => `result ${count++}`)
    await h.run('Go')
    await h.run('Again')
    expect(results(h)).toEqual(['result 0', 'result 1', 'result 2', 'result 3'])
    for (const request of h.requests) expect(unpaired(request.messages)).toBeUndefined()
    await whole(h)
  })

  it('a cancel after the first of three calls: the others are told honestly, and the next request is well-formed', async () => {
    const h = await app({ script: [{ calls: [{ name: 'fast' }, { name: 'slow' }, { name: 'last' }] }, 'ok'] })
    tool(h, 'fast', () => 'quick')
    tool(h, 'slow', () => new Promise(() => undefined), { sequential: true })
    tool(h, 'last', () => 'never', { sequential: true })
    const handle = h.agent.prompt('Go')
    await expect.poll(async () => of(await h.events(), 'tool/result')).toBe(1)
    handle.cancel()
    expect(await handle.result).toMatchObject({ reason: 'cancelled' })
    expect(results(h)).toEqual(['quick', expect.stringMatching(/its outcome is unknown/) as string, expect.stringMatching(/was not started/) as string])
    expect(await h.run('And now?')).toMatchObject({ reason: 'done' })
    await whole(h)
  })

  it('a call cut by the output limit is an error result that the model can mend', async () => {
    const h = await app({ script: [{ calls: [{ name: 'act', arguments: '{"path": "/tm' }], finish: 'length' }, 'ok'] })
    tool(h, 'act', () => 'ran')
    expect(await h.run('Go')).toMatchObject({ reason: 'done', text: 'ok' })
    expect(results(h)[0]).toMatch(/The arguments are not JSON/)
    await whole(h)
  })

  it.each(['prompt', 'tool output', 'model output', 'inject'] as const)('a lone surrogate in %s is never stored or sent, made well-formed at the border, and said so', async (where) => {
    const broken = 'half \ud83d'
    const h = await app({ reports: 'allow', script: (_request, index) => (index === 0 ? { text: where === 'model output' ? broken : 'look', calls: [{ name: 'act' }] } : 'ok') })
    tool(h, 'act', () => (where === 'tool output' ? broken : 'fine'))
    if (where === 'inject') h.agent.inject(broken)
    await h.run(where === 'prompt' ? broken : 'Go')
    expect(JSON.stringify(await h.events())).toContain('half \ufffd')
    expect(JSON.stringify([...h.requests.map((request) => request.messages), await h.events()])).not.toMatch(/\\ud83d/i)
    expect(h.reports).toMatchObject([{ kind: 'repaired' }])
    await whole(h)
  })
})
