import { describe, expect, it } from 'vitest'
import type { Step } from '@headrace/agent'
import { type Harness, type Script } from '@headrace/testing'
import { app, calls, plugin, tool } from './help.ts'

/** Runs a turn and tells the order of boundary, seams and dispatches. */
async function traced(script: Script): Promise<{ readonly made: Harness; readonly trace: string[] }> {
  const trace: string[] = []
  const at = (name: string, step: Step): void => void trace.push(`${name} ${step.number}.${step.attempt}`)
  const made = await app({
    script,
    plugins: [plugin('tracer', (ctx) => {
      tool(ctx, 'look')
      // Registered in another order than they run.
      ctx.on('agent/request-messages', async (_agent, _turn, step, _messages, next) => {
        at('messages', step)
        return next()
      })
      ctx.on('agent/request', async (_agent, _turn, step, _config, next) => {
        at('request', step)
        return next()
      })
      ctx.on('agent/session-prefix', async (_agent, _turn, _prefix, next) => {
        trace.push('prefix')
        return next()
      })
      ctx.on('agent/request-error', async (_agent, _turn, step, failure) => {
        at('error', step)
        return failure.kind === 'overflow' ? 'restep' : 'retry'
      })
      ctx.on('session/event', (_agent, { type }) => {
        if (['step/start', 'request/dispatch', 'step/end'].includes(type)) trace.push(type)
      })
    })],
  })
  return { made, trace }
}

describe('L4 Three seams, one order', () => {
  it('inside the open step: session-prefix once, then request, then request-messages', async () => {
    const { made, trace } = await traced([calls('look'), 'Done.'])
    await made.run('Hi.')
    await made.run('Again.')
    const step = (number: number): string[] => ['step/start', `request ${number}.1`, `messages ${number}.1`, 'request/dispatch', 'step/end']
    expect(trace).toEqual(['step/start', 'prefix', ...step(1).slice(1), ...step(2), ...step(1)])
  })

  it('a further attempt runs request again and request-messages not, behind the same boundary', async () => {
    const { made, trace } = await traced([{ error: {} }, { error: {} }, 'Done.'])
    await made.run('Hi.')
    expect(trace).toEqual([
      'step/start', 'prefix', 'request 1.1', 'messages 1.1', 'request/dispatch', 'error 1.1',
      'request 1.2', 'request/dispatch', 'error 1.2', 'request 1.3', 'request/dispatch', 'step/end',
    ])
  })

  it('a step that is made anew runs all but the prefix, behind a new boundary', async () => {
    const { made, trace } = await traced([{ error: { kind: 'overflow' } }, 'Done.'])
    await made.run('Hi.')
    expect(trace).toEqual(['step/start', 'prefix', 'request 1.1', 'messages 1.1', 'request/dispatch', 'error 1.1', 'step/end', 'step/start', 'request 2.1', 'messages 2.1', 'request/dispatch', 'step/end'])
  })

  it('a new loop instance asks for its prefix once more', async () => {
    const { made, trace } = await traced(['ok'])
    await made.run('Hi.')
    await made.resume()
    await made.run('Hi.')
    await made.run('Hi.')
    expect(trace.filter((name) => name === 'prefix')).toHaveLength(2)
  })

  it('each is told of the open step', async () => {
    const steps: Step[] = []
    const { run, requests } = await app({
      plugins: [plugin('reader', (ctx) => {
        ctx.on('agent/request', async (_agent, _turn, step, _config, next) => (steps.push(step), next()))
        ctx.on('agent/request-messages', async (_agent, _turn, step, _messages, next) => (steps.push(step), next()))
      })],
    })
    await run('Hi.')
    expect(requests).toHaveLength(1)
    expect(steps).toEqual([{ number: 1, attempt: 1, boundary: 4 }, { number: 1, attempt: 1, boundary: 4 }])
    expect(steps.every((step) => Object.isFrozen(step))).toBe(true)
  })
})
