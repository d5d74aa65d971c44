import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import type { Request } from '@headrace/message'
import { type Harness, expectAppendOnly, harness } from '@headrace/testing'

const line = (value: unknown): string => JSON.stringify(value)
const history = ({ messages, segments: { prefix, before, after } }: Request): readonly string[] =>
  messages.slice(prefix + before, messages.length - after).map(line)

async function proven(h: Harness): Promise<void> {
  expect((await h.verify()).difference).toBeUndefined()
  await h.dispose()
}

describe('named properties beside the theorem', () => {
  it('append-extension: over turns with tools, steers and injects, each request begins with the one before, whatever after says', async () => {
    let count = 0
    const moving = { name: 'moving', inject: ['agents', 'tools'], apply: async (ctx: Context) => {
      ctx.agents.after({ key: 'count', content: () => `request ${count++}` })
      ctx.agents.before({ key: 'frame', content: () => 'Framing.' })
      ctx.tools.define({ name: 'note', description: '', parameters: { type: 'object' }, execute: (_input, { agent }) => { agent.inject('noted'); return 'ok' } })
    } }
    const h = await harness({ plugins: [moving], script: (_request, index) => (index % 3 === 2 ? 'done' : { calls: [{ name: 'note' }, { name: 'note' }] }) })
    for (const prompt of ['one', 'two', 'three']) {
      h.agent.inject(`before ${prompt}`)
      const handle = h.agent.prompt(prompt)
      h.agent.steer(`steer ${prompt}`)
      await handle.result
      await h.agent.idle()
    }
    expect(h.requests.length).toBeGreaterThan(8)
    expectAppendOnly(h.requests)
    expect(new Set(h.requests.map((request) => line(request.messages.at(-1)))).size).toBe(h.requests.length)
    await proven(h)
  })

  it('frozen end to end: no part of a request can be changed, in the mutator\'s own frame', async () => {
    const problems: string[] = []
    const h = await harness({
      plugins: [{ name: 'tools', inject: ['tools', 'system', 'agents'], apply: async (ctx: Context) => {
        ctx.tools.define({ name: 'note', description: '', parameters: { type: 'object', properties: { a: {} } }, execute: () => 'ok' })
        ctx.system.section({ key: 's', content: 'System.' })
        ctx.agents.after({ key: 'a', content: () => 'After.' })
      } }],
      script: (request) => {
        walk(request as unknown as Record<string, unknown>, 'request', problems)
        return request.segments.history < 3 ? { calls: [{ name: 'note', arguments: '{"a":[1]}' }] } : 'ok'
      },
    })
    await h.run('Go')
    expect(h.requests).toHaveLength(2)
    expect(problems).toEqual([])
    await proven(h)
  })

  it('resend after a replace: what is behind the replaced part goes out again as it was, the rest is the replacement', async () => {
    const h = await harness({ script: ['one', 'two', 'three', 'four'] })
    for (const prompt of ['a', 'b', 'c']) await h.run(prompt)
    const entries = h.agent.session.entries()
    h.agent.replace(entries[0]!.id, entries[3]!.id, [{ role: 'user', content: 'Summary.' }], { reason: 'test' })
    await h.run('d')
    const [before, after] = [history(h.requests[2]!), history(h.requests[3]!)]
    expect(after[0]).toBe(line({ role: 'user', content: [{ type: 'text', text: 'Summary.' }] }))
    expect(after.slice(1, 2)).toEqual(before.slice(4))
    expect(after).toHaveLength(4)
    await proven(h)
  })

  it('prompt change: a new system prompt is a delta of the changed lines; history goes out as it was', async () => {
    let text = Array.from({ length: 50 }, (_, index) => `line ${index}`).join('\n')
    const h = await harness({ plugins: [{ name: 'who', inject: ['system'], apply: async (ctx: Context) => void ctx.system.section({ key: 's', content: () => text }) }] })
    await h.run('a')
    text = text.replace('line 25', 'line twenty-five')
    await h.run('b')
    const deltas = (await h.events()).filter((event) => event.type === 'request/header-delta')
    expect(deltas.map(({ data }) => data.delta.system)).toEqual([{ head: 25, tail: 24, lines: ['line twenty-five'] }])
    expect(history(h.requests[1]!).slice(0, 1)).toEqual(history(h.requests[0]!))
    expect(h.requests[1]!.system).toBe(text)
    await proven(h)
  })

  it('tool insertion: a tool in the middle of the list is a small delta; history goes out as it was', async () => {
    const define = (ctx: Context, name: string): (() => void) => ctx.tools.define({ name, description: `Tool ${name}.`.repeat(20), parameters: { type: 'object' }, execute: () => 'ok' })
    const h = await harness({ plugins: [{ name: 'many', inject: ['tools'], apply: async (ctx: Context) => { for (const name of ['z', 'a', 'c', 'd', 'e']) define(ctx, name) } }] })
    await h.run('a')
    define(h.ctx, 'b')
    await h.run('b')
    const deltas = (await h.events()).filter((event) => event.type === 'request/header-delta')
    expect(deltas).toHaveLength(1)
    expect(line(deltas[0]).length).toBeLessThan(600)
    expect(h.requests[1]!.tools!.map((tool) => tool.name)).toEqual(['a', 'b', 'c', 'd', 'e', 'z'])
    expect(history(h.requests[1]!).slice(0, 1)).toEqual(history(h.requests[0]!))
    await proven(h)
  })
})

/** Tries to change everything there is. */
function walk(value: Record<string, unknown>, at: string, problems: string[]): void {
  if (value instanceof AbortSignal) return
  for (const key of [...Object.keys(value), 'added']) {
    try {
      value[key] = 'changed'
      problems.push(`${at}.${key} could be set`)
    } catch {
      // As it should be.
    }
    const inner = value[key]
    if (typeof inner === 'object' && inner !== null) walk(inner as Record<string, unknown>, `${at}.${key}`, problems)
  }
}
