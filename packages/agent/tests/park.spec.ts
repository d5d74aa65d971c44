import type { Context } from 'cordis'
import { onTestFinished, describe, expect, it } from 'vitest'
import type { Turn } from '@headrace/agent'
import { textOf } from '@headrace/message'
import { type SessionEvent, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'

async function app(options: HarnessOptions): Promise<Harness> {
  const made = await harness(options)
  onTestFinished(() => made.dispose())
  return made
}

/** Drives the session anew, where the agent has been parked. */
async function next(made: Harness): Promise<Harness['agent']> {
  const agent = await made.ctx.agents.resume(made.agent.id)
  onTestFinished(() => agent.dispose())
  return agent
}

const of = async (made: Harness, type: string): Promise<SessionEvent['data'][]> => (await made.events()).filter((event) => event.type === type).map(({ data }) => data)
/** A promise, and the call that resolves it. */
function signal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve!: () => void
  return { promise: new Promise((done) => (resolve = done)), resolve: () => resolve() }
}

const chunk = (made: Harness): Promise<unknown> => new Promise((resolve) => made.agent.session.on('chunk', resolve))

describe('park', () => {
  it('leaves the turn open and gives the session back: a resume finishes it, with the same request', async () => {
    const made = await app({ script: (_request, index) => (index === 0 ? { text: 'half of it', hang: true } : 'all of it') })
    const handle = made.agent.prompt('Go.')
    await chunk(made)
    await made.agent.park()
    expect(await handle.result).toMatchObject({ reason: 'parked', error: { code: 'PARKED' }, text: '' })
    expect(made.ctx.agents.get('test')).toBeUndefined()
    expect(await of(made, 'turn/end')).toEqual([])
    expect(await of(made, 'step/end')).toMatchObject([{ reason: 'lost' }])
    await (await next(made)).idle()
    expect(await of(made, 'turn/end')).toMatchObject([{ turn: 1, reason: 'done' }])
    // What was streamed of the first answer is not kept, as after a kill: it comes again.
    expect(made.requests[1]!.messages.map(textOf)).toEqual(made.requests[0]!.messages.map(textOf))
    expect(verify(await made.events())).not.toHaveProperty('difference')
  })

  it('tells the model honestly what became of calls that ran', async () => {
    const started = signal()
    const tools = { name: 'tools', inject: ['tools'], apply: async (ctx: Context) => {
      ctx.tools.define({ name: 'hangs', description: 'Hangs.', parameters: { type: 'object' }, execute: () => { started.resolve(); return new Promise<never>(() => undefined) } })
    } }
    const made = await app({ plugins: [tools], settings: { grace: 1 }, script: (_request, index) => (index === 0 ? { calls: [{ name: 'hangs' }] } : 'done') })
    made.agent.prompt('Go.')
    await started.promise
    await made.agent.park()
    await (await next(made)).idle()
    expect(await of(made, 'tool/result')).toMatchObject([{ outcome: 'unknown' }])
    expect(JSON.stringify(made.requests[1]!.messages.at(-1))).toContain('outcome is unknown')
    expect(await of(made, 'turn/end')).toMatchObject([{ turn: 1, reason: 'done' }])
  })

  it('parks a turn at whatever seam it stands; what was queued behind it waits for wake()', async () => {
    for (const seam of ['agent/prompt-submit', 'agent/pre-step', 'agent/request', 'agent/turn-stopping'] as const) {
      let hold = true
      const reached = signal()
      const holds = { name: 'holds', apply: async (ctx: Context) => {
        ctx.on(seam, (async (...args: unknown[]) => {
          reached.resolve()
          // One that makes an error of its own of the abort must not end the turn with it.
          const turn = args[1] as Turn
          if (hold) await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true }))
          const last = args.at(-1)
          return typeof last === 'function' ? (last as () => unknown)() : undefined
        }) as never)
      } }
      const made = await app({ plugins: [holds], script: ['one', 'two'] })
      made.agent.prompt('First.')
      const second = made.agent.prompt('Second.')
      await reached.promise
      hold = false
      await made.agent.park()
      expect(await second.result).toMatchObject({ reason: 'parked' })
      expect(await of(made, 'turn/end')).toEqual([])
      const agent = await next(made)
      await agent.idle()
      expect(await of(made, 'turn/end')).toMatchObject([{ turn: 1, reason: 'done' }])
      agent.wake()
      await agent.idle()
      expect(await of(made, 'turn/end')).toMatchObject([{ turn: 1, reason: 'done' }, { turn: 2, reason: 'done' }])
    }
  })

  it('does not bring back a turn that was cancelled before', async () => {
    const made = await app({ script: [{ text: 'half', hang: true }] })
    const handle = made.agent.prompt('Go.')
    await chunk(made)
    made.agent.cancel('enough')
    await made.agent.park()
    expect(await handle.result).toMatchObject({ reason: 'cancelled' })
    expect(await of(made, 'turn/end')).toMatchObject([{ reason: 'cancelled' }])
  })

  it('only gives the session back where nothing runs', async () => {
    const made = await app({ script: ['ok'] })
    expect(await made.run('Go.')).toMatchObject({ reason: 'done' })
    await made.agent.park()
    expect((await next(made)).session.owed).toBe(false)
  })
})
