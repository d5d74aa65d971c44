import { expect, it } from 'vitest'
import { override } from '@headrace/agent'
import type { SessionEvent } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { explainRequest } from '../src/cli/base/explanation.ts'
import { chooseDispatch, nameOf } from '../src/cli/base/explanation.ts'

async function explained(options: HarnessOptions, step: string | undefined, work: (app: Harness) => Promise<unknown> = ({ run }) => run('Hi')): Promise<ReturnType<typeof explainRequest>> {
  const app = await harness(options)
  await work(app)
  const events = await app.events()
  await app.dispose()
  return explainRequest(events, chooseDispatch(events, step))
}

const framing = {
  name: 'framing',
  inject: ['agents', 'system'],
  apply: async (ctx: import('cordis').Context): Promise<void> => {
    ctx.agents.prefix({ key: 'opener', content: () => 'Opener.' })
    ctx.agents.before({ key: 'frame', content: () => 'Frame.' })
    ctx.agents.after({ key: 'day', content: (_agent, _turn, step) => `Step ${step.number}.` })
    ctx.system.section({ key: 'who', content: 'You are one.' })
  },
}

it('messages stand in their segments, each with its owner, role and size', async () => {
  const { messages, system, rebuilds } = await explained({ plugins: [framing] }, undefined)
  expect(rebuilds).toBe(true)
  expect(messages.map(({ segment, role, owner }) => [segment, role, owner])).toEqual([
    ['prefix', 'system', 'framing/opener'], ['before', 'system', 'framing/frame'], ['history', 'user', 'user'], ['after', 'system', 'framing/day'],
  ])
  const [first] = messages
  expect(first).toMatchObject({
    bytes: Buffer.byteLength(JSON.stringify(first!.message)),
    tokens: Math.ceil(JSON.stringify(first!.message).length / 4),
  })
  expect(system).toEqual([{ name: '1', owner: 'framing/who', text: 'You are one.', bytes: 12, tokens: 3 }])
})

it('what changed in the header since the request before is named by field and owner', async () => {
  const { changes, drift, cached } = await explained({ plugins: [framing], script: [{ calls: [{ name: 'nothing' }] }, 'ok'] }, '1.2')
  expect(changes).toMatchObject([{ reason: 'delta' }])
  expect(drift).toEqual([{ field: 'after', item: '0', owner: 'framing/day', change: 'changed' }])
  expect(cached).toMatchObject({ against: '1.1.1', newFrom: 'message 4' })
})

it('a substitute is called one, and the request before it is the attempt that failed', async () => {
  const rescue = {
    name: 'rescue',
    apply: async (ctx: import('cordis').Context): Promise<void> => {
      ctx.on('agent/request-error', async (_agent, _turn, _step, failure, next) => (failure.status === 503 ? { retry: { config: { model: 'spare' } } } : next()))
    },
  }
  const explanation = await explained({ plugins: [rescue], script: [{ error: { status: 503, message: 'busy' } }, 'ok'] }, undefined)
  expect(explanation).toMatchObject({
    name: '1.1.2',
    changes: [{ reason: 'delta', substitute: true }],
    drift: [{ field: 'config', item: 'model', change: 'changed' }],
    cached: { against: '1.1.1', otherModel: true },
  })
  expect(explanation.cached!.bytes).toBe(explanation.cached!.of)
  expect(explanation.cached).not.toHaveProperty('newFrom')
})

it('an override is told with its plugin, seam and reason', async () => {
  const silencer = {
    name: 'silencer',
    apply: async (ctx: import('cordis').Context): Promise<void> => {
      ctx.on('agent/request-messages', async (_agent, _turn, _step, _messages, next) => override({ ...await next(), after: [] }, 'too loud'), { prepend: true })
    },
  }
  const { overrides, messages } = await explained({ plugins: [framing, silencer] }, undefined)
  expect(overrides).toContainEqual({ plugin: 'silencer', seam: 'agent/request-messages', reason: 'too loud', dropped: ['framing/day'] })
  expect(messages.map(({ segment }) => segment)).not.toContain('after')
})

it('a side request has what it asked in a segment of its own, and no after', async () => {
  const { name, dispatch, messages, seq } = await explained({ plugins: [framing] }, undefined, async ({ agent, run }) => {
    await run('Hi')
    await agent.ask(['A title, please.'], { purpose: 'title' })
  })
  expect(name).toBe(`#${seq}`)
  expect(dispatch.purpose).toBe('title')
  expect(messages.map(({ segment, owner }) => [segment, owner])).toEqual([
    ['prefix', 'framing/opener'], ['before', 'framing/frame'], ['history', 'user'], ['history', 'model'], ['asked', expect.stringMatching(/^app/)],
  ])
})

it('a step of the last turn is meant by its number alone; an attempt left out is the last', async () => {
  const dispatch = (seq: number, turn: number, step: number, attempt: number): SessionEvent => ({ seq, time: 0, type: 'request/dispatch', data: { turn, step, attempt, boundary: 0, history: '', digest: '' } })
  const events = [dispatch(0, 1, 1, 1), dispatch(1, 1, 1, 2), dispatch(2, 2, 1, 1), dispatch(3, 2, 2, 1)]
  const name = (step?: string): string => nameOf(chooseDispatch(events, step))
  expect([name(), name('1'), name('1.1'), name('1.1.1'), name('#1')]).toEqual(['2.2.1', '2.1.1', '1.1.2', '1.1.1', '1.1.2'])
})
