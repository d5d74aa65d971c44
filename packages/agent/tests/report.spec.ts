import { expect, it } from 'vitest'
import { harness } from '@headrace/testing'

it.each([
  ['agent/turn-stopping', 'Done.'], ['agent/request-error', { error: { kind: 'server', message: 'no' } }],
] as const)('a report of a listener of %s that throws names plugin and seam in its fields, and not again in its problem', async (seam, answer) => {
  const made = await harness({
    script: [answer],
    plugins: [{ name: 'bad', apply: async (ctx) => { ctx.on(seam, async () => { throw new Error('boom') }) } }],
  })
  await made.agent.prompt('Hi').result
  expect(made.reports).toEqual([{ kind: 'failed', plugin: 'bad', seam, problem: 'it threw: boom' }])
  await made.dispose()
})
