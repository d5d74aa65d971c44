import { describe, expect, it } from 'vitest'
import type { Request } from '@headrace/message'
import { eventsOf, app, calls, expectRebuilds, plugin, textsOf, tool } from './help.ts'
import { expectAppendOnly } from '@headrace/testing'

/** The parts of a request as text; `body` is the messages without its `after`. */
function parts({ system, tools, messages, segments: { prefix, before, after } }: Request): {
  readonly frame: string
  readonly body: string
} {
  const lines = messages.map((message) => JSON.stringify(message))
  return {
    frame: JSON.stringify([system, tools, lines.slice(0, prefix), lines.slice(prefix, prefix + before)]),
    body: lines.slice(0, lines.length - after).join('\n'),
  }
}

describe('L12 Append-extension', () => {
  it('over turns with tools, steers, injects, retries, a changing after and config, each request begins with the one before, byte for byte', async () => {
    let count = 0
    const made = await app({
      script: (_request, index) => {
        if (index === 1) made.agent.steer('A steer.')
        if (index === 2) made.agent.inject('An inject.')
        return [calls('look', 'look'), { text: 'Then', calls: [{ name: 'look' }] }, { error: {} }, 'Done.'][index] ?? `Answer ${index}.`
      },
      plugins: [plugin('busy', (ctx) => {
        tool(ctx, 'look', () => {
          ctx.agents.get('test')!.inject('while it runs')
          return `seen ${++count}`
        })
        ctx.agents.prefix({ key: 'p', content: () => 'prefix' })
        ctx.agents.before({ key: 'b', content: () => 'before' })
        ctx.agents.after({ key: 'a', content: (_agent, _turn, step) => (step.number % 2 === 1 ? [] : [`after ${++count}`, 'and more']) })
        ctx.on('agent/request-error', async () => 'retry')
        ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), temperature: ++count / 1000 }))
        ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: [`context ${count}`] }))
        ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => ({ ...await next(), additionalContext: ['submitted'] }))
      })],
    })
    for (const prompt of ['One.', 'Two.', 'Three.']) await made.run(prompt)
    await made.resume()
    await made.run('Four.')
    expect(made.requests.length).toBeGreaterThan(6)
    expect(new Set(made.requests.map((request) => parts(request).frame)).size).toBe(1)
    for (let index = 1; index < made.requests.length; index++) {
      const [earlier, later] = [parts(made.requests[index - 1]!).body, parts(made.requests[index]!).body]
      expect(later.slice(0, earlier.length)).toBe(earlier)
    }
    expectAppendOnly(made.requests)
    await expectRebuilds(made)
  })

  it('a tool that comes, or other framing, ends one run and begins another', async () => {
    let words = 'before'
    const made = await app({ plugins: [plugin('frames', (ctx) => ctx.agents.before({ key: 'b', content: () => words }))] })
    await made.run('One.')
    await made.run('Two.')
    words = 'other'
    tool(made.ctx, 'look')
    await made.run('Three.')
    await made.run('Four.')
    const frames = made.requests.map((request) => parts(request).frame)
    expect([frames[0] === frames[1], frames[1] === frames[2], frames[2] === frames[3]]).toEqual([true, false, true])
    expectAppendOnly(made.requests)
    // History itself goes on through it.
    const bodies = made.requests.map(({ messages }) => messages.slice(1).map((message) => JSON.stringify(message)).join('\n'))
    for (let index = 1; index < bodies.length; index++) expect(bodies[index]!.startsWith(bodies[index - 1]!)).toBe(true)
  })

  it('only surface/replace rewrites what was said, and from there on the law holds again', async () => {
    const made = await app()
    await made.run('One.')
    await made.run('Two.')
    const [first, , third] = made.agent.session.entries()
    made.agent.replace(first!.id, third!.id, ['A summary.'], { reason: 'compaction' })
    await made.run('Three.')
    await made.run('Four.')
    expect(made.requests.map(textsOf)).toEqual([['One.'], ['One.', 'ok', 'Two.'], ['A summary.', 'ok', 'Three.'], ['A summary.', 'ok', 'Three.', 'ok', 'Four.']])
    expect(() => expectAppendOnly(made.requests.slice(0, 3))).toThrow('request 2 does not begin with request 1')
    expectAppendOnly(made.requests.slice(2))
    expect(eventsOf(await made.events(), 'surface/replace')).toHaveLength(1)
    await expectRebuilds(made)
  })

  it('the kit sees a byte that changed, a message that went, and one that came in between', async () => {
    const made = await app()
    for (const prompt of ['One.', 'Two.', 'Three.']) await made.run(prompt)
    const [, earlier, later] = made.requests as [Request, Request, Request]
    const with_ = (messages: Request['messages']): Request => ({ ...later, messages })
    for (const messages of [later.messages.slice(1), [later.messages[1]!, ...later.messages], later.messages.with(1, later.messages[0]!)]) {
      expect(() => expectAppendOnly([earlier, with_(messages)])).toThrow('does not begin with')
    }
    expectAppendOnly([earlier, later])
  })
})
