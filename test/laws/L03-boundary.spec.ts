import { describe, expect, it } from 'vitest'
import { app, calls, eventsOf, expectRebuilds, plugin, textsOf, tool } from './help.ts'

const names = (tools: readonly { readonly name: string }[] | undefined): readonly string[] => (tools ?? []).map(({ name }) => name)

describe('L3 The boundary is step/start', () => {
  it.each(['agent/session-prefix', 'agent/request', 'agent/request-messages'] as const)('what %s adds to tools, system and history joins the next step’s requests', async (seam) => {
    const made = await app({
      script: [calls('first'), 'Done.'],
      plugins: [plugin('late', (ctx) => {
        tool(ctx, 'first')
        let done = false
        ctx.on(seam, async (...args: unknown[]) => {
          const [agent, next] = [args[0] as { inject(text: string): void }, args.at(-1) as () => Promise<never>]
          if (!done) {
            tool(ctx, 'second')
            ctx.system.section({ key: 'late', content: 'A late section.' })
            agent.inject('A late message.')
          }
          done = true
          return next()
        })
      })],
    })
    await made.run('Hi.')
    const [one, two] = made.requests
    expect([names(one!.tools), one!.system, textsOf(one!)]).toEqual([['first'], undefined, ['Hi.']])
    expect([names(two!.tools), two!.system]).toEqual([['first', 'second'], 'A late section.'])
    expect(textsOf(two!)).toEqual(['Hi.', '', 'first: fine', 'A late message.'])
    await expectRebuilds(made)
  })

  it('so does an inject while the model streams, while a tool runs, and one that hears step/start itself', async () => {
    const made = await app({
      script: (_request, index) => {
        made.agent.inject(`while ${index} streams`)
        return index === 0 ? calls('look') : 'Done.'
      },
      plugins: [plugin('injector', (ctx) => {
        tool(ctx, 'look', () => {
          made.agent.inject('while the tool runs')
          return 'seen'
        })
        ctx.on('session/event', (agent, event) => {
          if (event.type === 'step/start' && event.data.step === 1) agent.inject('at the boundary')
        })
      })],
    })
    await made.run('Hi.')
    expect(textsOf(made.requests[0]!)).toEqual(['Hi.'])
    expect(textsOf(made.requests[1]!)).toEqual(['Hi.', '', 'look: seen', 'at the boundary', 'while 0 streams', 'while the tool runs'])
    await expectRebuilds(made)
  })

  it('while a step is open, the history is what it was at its boundary', async () => {
    const seen: (readonly string[])[] = []
    const { run, agent } = await app({
      script: (_request, index) => {
        agent.inject(`inside ${index}`)
        seen.push(textsOf(agent.session.deriveMessages()))
        return 'Done.'
      },
    })
    await run('Hi.')
    expect(seen).toEqual([['Hi.']])
    expect(textsOf(agent.session.deriveMessages())).toEqual(['Hi.', 'Done.', 'inside 0'])
  })

  it('agent/pre-step is the seam for content that must reach this request: messages, tools, sections', async () => {
    const made = await app({
      plugins: [plugin('early', (ctx) => {
        ctx.on('agent/pre-step', async (agent, _turn, step, next) => {
          if (step.number === 1) {
            tool(ctx, 'early')
            ctx.system.section({ key: 'early', content: 'An early section.' })
          }
          agent.inject('An early message.')
          expect(step.boundary).toBeUndefined()
          return next()
        })
      })],
    })
    await made.run('Hi.')
    const [request] = made.requests
    expect([names(request!.tools), request!.system, textsOf(request!)]).toEqual([['early'], 'An early section.', ['Hi.', 'An early message.']])
    await expectRebuilds(made)
  })

  it('the three snapshots are taken in one synchronous frame, immediately before step/start', async () => {
    const frame: string[] = []
    const { run } = await app({
      plugins: [plugin('watcher', (ctx) => {
        ctx.on('agent/pre-step', async (_agent, _turn, _step, next) => {
          const decision = await next()
          return decision
        })
        ctx.system.section({ key: 'clock', content: () => {
          frame.push('system')
          queueMicrotask(() => frame.push('the frame is over'))
          return 'x'
        } })
        ctx.on('session/event', (_agent, { type }) => {
          if (type === 'step/start') frame.push(type)
        })
      })],
    })
    await run('Hi.')
    expect(frame).toEqual(['system', 'step/start', 'the frame is over'])
  })

  it('what a section adds while it is read is before the boundary, in the log and in the request', async () => {
    const made = await app({
      plugins: [plugin('odd', (ctx) => {
        ctx.system.section({ key: 'odd', content: (agent) => {
          agent.inject('from a section')
          return 'x'
        } })
      })],
    })
    await made.run('Hi.')
    const [boundary] = eventsOf(await made.events(), 'step/start')
    expect(eventsOf(await made.events(), 'context/message')[0]!.seq).toBeLessThan(boundary!.seq)
    expect(textsOf(made.requests[0]!)).toEqual(['Hi.', 'from a section'])
    await expectRebuilds(made)
  })
})
