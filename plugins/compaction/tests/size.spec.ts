import type { Context } from 'cordis'
import { expect, it } from 'vitest'
import { heuristicCounter } from '@headrace/tokens'
import { harness } from '@headrace/testing'
import { Scale } from '../src/size.ts'

const tools = { name: 'tools', inject: ['tools', 'agents'], apply: async (ctx: Context): Promise<void> => {
  ctx.tools.define({ name: 'dump', description: 'Says much.', parameters: { type: 'object' }, execute: (_input, { agent }) => {
    agent.inject({ key: 'inside', content: 'Told while it ran.' })
    return 'word '.repeat(50)
  } })
  ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), additionalContext: ['And this belongs to it.'] }))
} }

it('the weight of a history is the sum of its messages, asked for at every boundary, also behind replaces and rewinds', async () => {
  const h = await harness({ script: (_request, index) => (index % 2 === 0 ? { text: 'I look.', calls: [{ name: 'dump' }, { name: 'dump' }] } : 'Done.'), plugins: [tools] })
  const counter = heuristicCounter()
  const scale = new Scale()
  const same = (): void => {
    const { system = '', tools: declared } = h.agent.session.requestHeader() ?? {}
    const segments = { prefix: 0, before: 0, history: 0, after: 0 }
    const header = counter.countRequest({ system, ...(declared && { tools: declared }), messages: [], segments }).total
    expect(scale.request(h.agent)).toBe(header + counter.countMessages(h.agent.session.entries().map(({ message }) => message)))
  }
  let boundaries = 0
  h.ctx.on('agent/pre-step', async (_agent, _turn, _step, next) => {
    same()
    boundaries++
    return next()
  })
  same()
  for (const prompt of ['one', 'two', 'three']) {
    await h.run(prompt)
    same()
  }
  expect(boundaries).toBe(6)
  const entries = h.agent.session.entries()
  h.agent.replace(entries[0]!.id, entries.at(-1)!.id, ['All was done.'], { reason: 'test' })
  same()
  await h.run('four')
  same()
  await h.agent.rewind({ to: 3 })
  same()
  await h.dispose()
})
