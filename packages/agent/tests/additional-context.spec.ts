import type { Context } from 'cordis'
import type { PostExecution } from '@headrace/agent'
import { textOf } from '@headrace/message'
import { type Harness, harness } from '@headrace/testing'
import { describe, expect, it } from 'vitest'

async function afterCall(additionalContext: unknown): Promise<Harness> {
  const plugin = {
    name: 'guide', inject: ['tools'],
    apply: async (ctx: Context) => {
      ctx.tools.define({ name: 'look', description: '', parameters: { type: 'object' }, execute: () => 'seen' })
      ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext } as PostExecution))
    },
  }
  // In strict, what is reported here ends the step (L15).
  const h = await harness({ plugins: [plugin], script: [{ calls: [{ name: 'look' }] }, 'ok'], settings: { strict: false } })
  await h.run('Go')
  return h
}

const entries = (h: Harness): readonly string[] => h.agent.session.entries().map(({ owner, message }) => `${owner}: ${textOf(message)}`)

describe('additionalContext', () => {
  it('is signed with the key that a message comes with, else with the seam; in the event of the result', async () => {
    const h = await afterCall([{ key: 'sub/', content: 'one' }, 'two', { key: 'user', role: 'user', content: 'three' }])
    expect(entries(h)).toEqual(['user: Go', 'model: ', 'tool: ', 'guide/sub/: one', 'guide/post-execute: two', 'guide/user: three', 'model: ok'])
    const result = (await h.events()).find(({ type }) => type === 'tool/result')
    expect(result?.data).toMatchObject({ additionalContext: [{ owner: 'guide/sub/' }, { owner: 'guide/post-execute' }, { owner: 'guide/user', message: { role: 'user' } }] })
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it.each([
    [{ key: '', content: 'x' }, '.key must be a name'],
    [{ key: 1, content: 'x' }, '.key must be a name'],
    [{ key: '\ud800', content: 'x' }, '.key must be a name'],
    [{ key: 'a', content: 'x', owner: 'user' }, '"owner"'],
    [{ key: 'a', message: 'x' }, '"message"'],
    [{ key: 'a' }, '.content must be a string or a list'],
  ])('that is %j is refused by name; the outcome stands', async (item, problem) => {
    const h = await afterCall([item])
    expect(h.reports).toMatchObject([{ plugin: 'guide', seam: 'tools/post-execute', problem: expect.stringContaining(problem) }])
    expect(entries(h)).toEqual(['user: Go', 'model: ', 'tool: ', 'model: ok'])
    await h.dispose()
  })
})
