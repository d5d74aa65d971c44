import { afterEach, describe, expect, it, vi } from 'vitest'
import { BriefingService } from '@headrace/briefing'
import * as environment from '@headrace/plugin-environment'
import { type EventDraft, type SessionEvent, rebuild } from '@headrace/session'
import type { Harness } from '@headrace/testing'
import { app, bytesOf, calls, eventsOf, expectRebuilds, plugin, textsOf, tool } from './help.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Turns with what tells the time, by a clock of its own: `time` is given how many events are in the log. */
async function timed(time: (length: number) => number): Promise<Harness & { readonly nows: readonly number[] }> {
  const begun: Harness[] = []
  vi.spyOn(Date, 'now').mockImplementation(() => time(begun[0]?.agent.session.length ?? 0))
  const nows: number[] = []
  const clock = plugin('clock', (ctx) => {
    ctx.system.section({ key: 'since', content: (agent) => `It is ${agent.now}.` })
    ctx.agents.after({ key: 'time', content: (agent) => `It is ${agent.now}.` })
    ctx.tools.define({ name: 'time', description: 'The time.', parameters: { type: 'object' }, execute: (_input, { agent }) => `${agent.now}` })
    ctx.on('session/event', (agent) => void nows.push(agent.now))
  })
  const made = await app({ script: [calls('time'), 'Done.', calls('time'), 'Done.'], plugins: [BriefingService, clock, [environment, { git: false, timeZone: 'UTC' }]] })
  begun.push(made)
  for (const prompt of ['One.', 'Two.']) await made.run(prompt)
  return Object.assign(made, { nows })
}

describe('L2 A request is a pure function', () => {
  it('of the log\'s time too: agent.now is that of the newest turn/start, step/start or step/end, and run again over it all is the same', async () => {
    let hours = Date.parse('2026-03-09T12:00:00Z')
    const first = await timed(() => (hours += 3_600_000))
    const log = await first.events()
    const ticks = log.map((_, seq) => log.slice(0, seq + 1).findLast(({ type }) => /^(session\/open|turn\/start|step\/(start|end))$/.test(type))!.time)
    expect(first.nows).toEqual(ticks.slice(1))
    expect(new Set(first.nows).size).toBeGreaterThan(6)
    expect(first.requests.flatMap(textsOf).filter((text) => text.startsWith('The environment has changed')).length).toBeGreaterThan(0)
    const again = await timed((length) => (log[length] ?? log.at(-1)!).time)
    expect(again.nows).toEqual(first.nows)
    expect(again.requests.map(bytesOf)).toEqual(first.requests.map(bytesOf))
    expect(await again.events()).toEqual(log)
  })

  it('of the events before its boundary and the folded header: what came later changes nothing', async () => {
    const { run, agent, requests, events } = await app({ script: [calls('look'), 'Done.'], plugins: [plugin('tools', (ctx) => tool(ctx, 'look'))] })
    await run('One.')
    await run('Two.')
    agent.inject('Later.')
    const log = await events()
    for (const request of requests) {
      const { dispatch } = request
      expect(bytesOf(rebuild(log.slice(0, dispatch! + 1), dispatch!))).toBe(bytesOf(request))
      expect(bytesOf(rebuild(log, dispatch!))).toBe(bytesOf(request))
    }
  })

  it('what stands between its boundary and its dispatch, beside header events, is no part of it', async () => {
    const { run, requests, events } = await app({
      plugins: [plugin('late', (ctx) => {
        ctx.on('agent/request', async (agent, _turn, _step, _config, next) => {
          agent.inject('from inside the open step')
          return next()
        })
      })],
    })
    await run('Hi.')
    const [request] = requests
    expect(textsOf(request!)).toEqual(['Hi.'])
    const log = await events()
    const [injected] = eventsOf(log, 'context/message')
    expect(injected!.seq).toBeLessThan(request!.dispatch!)
    // The same events without it give the same request.
    const without = renumber(log.slice(0, request!.dispatch! + 1).filter(({ type }) => type !== 'context/message'))
    expect(bytesOf({ ...rebuild(without, without.length - 1), dispatch: request!.dispatch! })).toBe(bytesOf(request!))
  })

  it('is built from the fold: the header event is appended first, in the same append', async () => {
    const told: string[][] = []
    const { run, agent, requests } = await app({ script: (request) => {
      const header = agent.session.requestHeader()!
      expect(request.config).toBe(header.config)
      expect(request.tools).toBe(header.tools)
      expect(request.messages[0]).toBe(header.before![0])
      return 'ok'
    }, plugins: [plugin('framing', (ctx) => {
      tool(ctx, 'look')
      ctx.agents.before({ key: 'frame', content: () => 'the same words, said anew each time' })
    })] })
    const frame: string[] = []
    agent.session.on('event', ({ type }) => {
      if (frame.length === 0) queueMicrotask(() => told.push(frame.splice(0)))
      frame.push(type)
    })
    await run('One.')
    await run('Two.')
    expect(told.filter((types) => types.includes('request/dispatch'))).toEqual([['request/header', 'request/dispatch'], ['request/dispatch']])
    // The second time the plugin returned an equal message; sent was the one in the log.
    expect(requests[1]!.messages[0]).toBe(requests[0]!.messages[0])
  })

  it('never from the values that the plugins returned: what they keep and change is theirs alone', async () => {
    const message = { role: 'system' as const, content: [{ type: 'text' as const, text: 'as returned' }] }
    const kept = {
      prefix: [structuredClone(message)],
      framing: { before: [structuredClone(message)], after: [structuredClone(message)] },
      config: { model: 'scripted/model', stop: ['END'], providerOptions: { deep: { list: [1] } } },
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
      injected: structuredClone(message),
    }
    const spoil = (): void => {
      kept.prefix[0]!.content[0]!.text = 'changed'
      kept.framing.before[0]!.content[0]!.text = 'changed'
      kept.framing.after.push(structuredClone(message))
      kept.config.stop.push('changed')
      kept.config.providerOptions.deep.list.push(2)
      kept.parameters.properties.path.type = 'changed'
      kept.injected.content[0]!.text = 'changed'
    }
    const made = await app({
      script: () => {
        spoil()
        return 'ok'
      },
      plugins: [plugin('keeper', (ctx) => {
        ctx.tools.define({ name: 'look', description: 'Looks.', parameters: kept.parameters, execute: () => 'x' })
        ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
          agent.inject(kept.injected)
          return next()
        })
        ctx.on('agent/session-prefix', async (_agent, _turn, _prefix, next) => [...kept.prefix, ...await next()])
        ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), ...kept.config }))
        ctx.on('agent/request-messages', async (_agent, _turn, _step, _messages, next) => {
          await next()
          return kept.framing
        })
        ctx.on('llm/stream', (_agent, _turn, _request, next) => {
          spoil()
          return next()
        })
      })],
    })
    await made.run('One.')
    expect(textsOf(made.requests[0]!)).toEqual(['as returned', 'as returned', 'One.', 'as returned', 'as returned'])
    expect(JSON.stringify(made.requests[0])).not.toContain('changed')
    expect(made.requests[0]!.config.providerOptions).toEqual({ deep: { list: [1] } })
    await expectRebuilds(made)
  })
})

/** The same events under new numbers; for logs whose references all point to what stands before the gap. */
function renumber(events: readonly SessionEvent[]): readonly SessionEvent[] {
  return events.map((event, seq) => ({ ...event, seq }) as SessionEvent & EventDraft)
}
