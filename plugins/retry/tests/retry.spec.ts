import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '@headrace/session'
import { type Harness, type Script, harness } from '@headrace/testing'
import * as retry from '../src/index.ts'

const app = (script: Script, config: object = {}): Promise<Harness> =>
  harness({ script, plugins: [[retry, { base: 1, ...config }]] as never })
const again = async (h: Harness): Promise<SessionEvent<'retry/again'>['data'][]> => (await h.events()).flatMap((event) => (event.type === 'retry/again' ? [event.data] : []))
const models = (h: Harness): string[] => h.requests.map((request) => request.config.model)
const bytes = (h: Harness): Set<string> =>
  new Set(h.requests.map(({ messages, system, tools }) => JSON.stringify([messages, system, tools])))

describe('what passes by itself', () => {
  it.each(['rate-limit', 'server', 'network', 'timeout'] as const)('a %s failure is tried again: same boundary, same bytes, new attempt', async (kind) => {
    const h = await app([{ text: 'half', error: { kind } }, { error: { kind } }, 'whole'])
    expect(await h.run('Go')).toMatchObject({ reason: 'done', text: 'whole', steps: 1 })
    expect(bytes(h).size).toBe(1)
    const dispatches = (await h.events()).flatMap((event) => (event.type === 'request/dispatch' ? [event.data] : []))
    expect(dispatches.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expect(new Set(dispatches.map(({ boundary }) => boundary)).size).toBe(1)
    expect(JSON.stringify(h.agent.session.deriveMessages())).not.toContain('half')
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('is tried so many times and no more', async () => {
    const h = await app([{ error: { kind: 'server' } }], { attempts: 3 })
    expect(await h.run('Go')).toMatchObject({ reason: 'error', error: { failure: { kind: 'server' } } })
    expect(h.requests).toHaveLength(3)
    await h.dispose()
  })

  it('of a turn, so many times in all its steps together', async () => {
    const h = await app((_request, index) => (index % 2 === 0 ? { error: { kind: 'server' } } : { calls: [{ name: 'none' }] }), { perTurn: 2 })
    expect(await h.run('Go')).toMatchObject({ reason: 'error', steps: 3 })
    expect(await again(h)).toHaveLength(2)
    await h.dispose()
  })

  it('does not hold a cancel', async () => {
    const h = await app([{ error: { kind: 'server' } }], { base: 60_000 })
    const handle = h.agent.prompt('Go')
    await expect.poll(() => again(h)).toHaveLength(1)
    handle.cancel()
    expect(await handle.result).toMatchObject({ reason: 'cancelled' })
    await h.dispose()
  })
})

describe('a substitute', () => {
  it('is tried when the attempts are used up, in order, and lasts for its step', async () => {
    const h = await app((request, index) => (request.config.model === 'scripted/model' && index < 3 || request.config.model === 'scripted/two' ? { error: { kind: 'server' } } : 'ok'), { attempts: 2, substitutes: ['scripted/two', 'scripted/three'] })
    expect(await h.run('Go')).toMatchObject({ reason: 'done' })
    await h.run('Again')
    expect(models(h)).toEqual(['scripted/model', 'scripted/model', 'scripted/two', 'scripted/three', 'scripted/model'])
    expect((await again(h)).map(({ substitute }) => substitute)).toEqual([undefined, 'scripted/two', 'scripted/three'])
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('is tried at once where the failure does not pass', async () => {
    const h = await app([{ error: { kind: 'auth', status: 401 } }, 'ok'], { substitutes: ['scripted/two'] })
    await h.run('Go')
    expect(models(h)).toEqual(['scripted/model', 'scripted/two'])
    await h.dispose()
  })
})

it('an overflow makes the step anew, where compaction acts, once', async () => {
  const h = await app([{ error: { kind: 'overflow' } }, { error: { kind: 'overflow' } }])
  let steps = 0
  h.ctx.on('agent/pre-step', (_agent, _turn, _step, next) => { steps++; return next() })
  expect(await h.run('Go')).toMatchObject({ reason: 'error', error: { failure: { kind: 'overflow' } }, steps: 2 })
  expect(steps).toBe(2)
  await h.dispose()
})

describe('the delay', () => {
  const config = { base: 1_000, most: 10_000 }
  it.each([[1, 0, 500], [1, 1, 1_500], [3, 0.5, 4_000], [9, 0, 10_000], [9, 1, 10_000]])('before retry %i with luck %d is %i ms', (attempt, luck, delay) => {
    expect(delayOf(attempt, {}, config, luck)).toBe(delay)
  })
  it('is what the provider asks for; one that asks for more than one waits is not waited for', () => {
    expect(retry.delayOf(1, { retryAfter: 7_000 }, config)).toBe(7_000)
    expect(retry.delayOf(1, { retryAfter: 70_000 }, config)).toBeUndefined()
  })
})

function delayOf(
  attempt: number,
  failure: { retryAfter?: number },
  config: { base: number; most: number },
  luck: number,
): number | undefined {
  return retry.delayOf(attempt, failure, config, () => luck)
}
