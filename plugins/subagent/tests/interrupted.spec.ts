import type { Context } from 'cordis'
import type { SessionStore } from '@headrace/session'
import { type Gate, gate, settles, until } from '@headrace/testing/gate'
import { describe, expect, it } from 'vitest'
import { type Answers, childrenOf, expectSound, killed, logOf, resultsIn, setup, task, tools } from './kit.ts'

/** A child calls `look` and says a word in front of it; its agent gives it `Go`, and goes on with what a result names. */
const answers: Answers = ({ prompt, answered, child, request }) => {
  if (child) return answered === 0 && prompt === 'Go' ? { text: 'I look first.', calls: [{ name: 'look' }] } : `did: ${prompt}`
  const said = /session ([\w-]+) worked for it/.exec(JSON.stringify(request.messages.filter(({ role }) => role === 'tool')))?.[1]
  const mayAsk = request.tools?.some(({ name }) => name === 'subagent') && !JSON.stringify(request.messages).includes('did: ')
  if (said !== undefined && mayAsk) return { calls: [task('Finish', { session: said })] }
  return answered === 0 ? { calls: [task('Go')] } : 'ok'
}

/** A tool that waits, so that what runs it can be ended in its midst; and whether it was told to stop. */
function waiting(): { readonly started: Gate<void>; readonly plugin: never; readonly stopped: () => boolean } {
  const started = gate()
  let stopped = false
  const look = (signal: AbortSignal): Promise<string> => new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      stopped = true
      resolve('stopped')
    })
    started.open()
  })
  return { started, plugin: tools({ look }), stopped: () => stopped }
}

async function onlyChild(store: SessionStore): Promise<string> {
  const [id, ...more] = await childrenOf(store)
  expect(more).toEqual([])
  return id!
}

describe('a cancel of the agent\'s turn', () => {
  it('cancels the child in a tool; both turns end, and both sessions are given back', async () => {
    const { started, plugin, stopped } = waiting()
    const h = await setup(answers, { plugins: [plugin] })
    const turn = h.agent.prompt('Go')
    await started.promise
    turn.cancel('enough')
    expect((await settles(turn.result)).reason).toBe('cancelled')
    const id = await onlyChild(h.store)
    await until(() => h.ctx.agents.get(id) === undefined)
    expect(stopped()).toBe(true)
    expect((await logOf(h.store, id)).find(({ type }) => type === 'turn/cancel')?.data).toMatchObject({ reason: expect.stringContaining('enough') as string })
    expect((await h.store.card(id)).turn).toMatchObject({ reason: 'cancelled' })
    expect(await resultsIn(h.store, 'test')).toMatchObject([{ error: true, text: expect.stringContaining(`[subagent session ${id}]`) as string }])
    await expectSound(h.store)
    await h.dispose()
  })

  it('cancels it in its stream, and before it has begun to wait its turn', async () => {
    const began = gate()
    const h = await setup((asked) => {
      if (!asked.child) return asked.answered === 0 ? { calls: [task('a'), task('b')] } : 'ok'
      began.open()
      return { text: 'I begin', hang: true }
    }, {}, { atOnce: 1 })
    const turn = h.agent.prompt('Go')
    await began.promise
    turn.cancel()
    expect((await settles(turn.result)).reason).toBe('cancelled')
    const id = await onlyChild(h.store)
    await until(() => h.ctx.agents.get(id) === undefined)
    expect(await resultsIn(h.store, 'test')).toHaveLength(2)
    await expectSound(h.store)
    await h.dispose()
  })
})

describe.each(['tool/start', 'agent/child'] as const)('a cancel as %s comes', (type) => {
  it('leaves nothing running, and nothing that waits to run', async () => {
    const h = await setup(answers, { plugins: [tools({ look: () => 'seen' })] })
    const turn = h.agent.prompt('Go')
    h.agent.session.on('event', (event) => {
      if (event.type === type) turn.cancel()
    })
    expect((await settles(turn.result)).reason).toBe('cancelled')
    await until(() => h.ctx.agents.ids().length === 1)
    expect(h.requests).toHaveLength(1)
    expect(await resultsIn(h.store, 'test')).toMatchObject([{ error: true }])
    for (const id of await childrenOf(h.store)) expect(await h.store.card(id)).toMatchObject({ queued: 0 })
    await expectSound(h.store)
    await h.dispose()
  })
})

describe('the plugin unloaded in the midst of a call', () => {
  it('parks the child; the call gets a result that says so and names the session', async () => {
    const { started, plugin } = waiting()
    const h = await setup(answers, { plugins: [plugin] })
    const turn = h.agent.prompt('Go')
    await started.promise
    const fiber = [...h.ctx.registry.values()].flatMap(({ fibers }) => [...fibers]).find(({ name }) => name === 'subagent')!
    await fiber.dispose()
    await settles(turn.result)
    const id = await onlyChild(h.store)
    expect(await resultsIn(h.store, 'test')).toMatchObject([{ error: true, text: expect.stringContaining(`unloaded while it ran. It may have had its effect. The session ${id} worked for it`) as string }])
    expect(await h.store.card(id)).toMatchObject({ state: 'parked' })
    await h.dispose()
  })
})

describe('parked with its agent', () => {
  it('the child is parked too, and its result names it', async () => {
    const { started, plugin } = waiting()
    const h = await setup(answers, { plugins: [plugin] })
    h.agent.prompt('Go')
    await started.promise
    await h.agent.park()
    const id = await onlyChild(h.store)
    await until(() => h.ctx.agents.get(id) === undefined)
    expect(await h.store.card(id)).toMatchObject({ state: 'parked' })
    expect(await resultsIn(h.store, 'test')).toMatchObject([{ error: true, text: expect.stringMatching(`stopped with its app[^]*${id}`) as string }])
    await h.ctx.fiber.dispose()
  })
})

describe('after a kill', () => {
  it('the call is unknown; its result names the child, its state and its last words; nobody drives it until the model does', async () => {
    const { started, plugin } = waiting()
    const h = await setup(answers, { plugins: [plugin] })
    h.agent.prompt('Go')
    await started.promise
    const store = await killed(h.store)
    await h.agent.park()
    await h.ctx.fiber.dispose()

    const later = await setup(answers, { store, agent: { id: 'second' }, plugins: [tools({ look: () => 'seen' })] })
    const id = await onlyChild(store)
    const agent = await later.ctx.agents.resume('test')
    expect(await resultsIn(store, 'test')).toEqual([{
      outcome: 'unknown', error: true,
      text: expect.stringMatching(`outcome is unknown.*The session ${id} worked for it: it was cut off in the middle of its turn, and nobody goes on with it by itself. It said last:\n\nI look first.`) as string,
    }])
    expect(later.ctx.agents.get(id)).toBeUndefined()
    await agent.idle()
    expect((await resultsIn(store, 'test'))[1]).toEqual({ text: `did: Finish\n\n[subagent session ${id}]`, error: false, outcome: 'done' })
    expect(await resultsIn(store, id)).toMatchObject([{ outcome: 'unknown' }])
    await agent.dispose()
    await expectSound(store)
    await later.dispose()
  })

  it('what the child had used by then counts in the turn that goes on, and what it uses later once', async () => {
    const usage = { input: 1_000, output: 10 }
    const settings = { models: { 'scripted/model': { context: 100_000, rates: { input: 10, cached: 1, output: 100 } } } }
    const { started, plugin } = waiting()
    const paid: Answers = async (asked) => {
      const reply = await answers(asked)
      return typeof reply === 'string' ? { text: reply, usage } : { ...reply, usage } as never
    }
    const h = await setup(paid, { plugins: [plugin], settings })
    h.agent.prompt('Go')
    await started.promise
    const store = await killed(h.store)
    await h.agent.park()
    await h.ctx.fiber.dispose()

    const later = await setup(paid, { store, settings, agent: { id: 'second' }, plugins: [tools({ look: () => 'seen' })] })
    const agent = await later.ctx.agents.resume('test')
    const result = await agent.turn!.result
    const id = await onlyChild(store)
    const details = (await logOf(store, 'test')).flatMap((event) => (event.type === 'tool/result' ? [event.data.details] : []))
    expect(details).toMatchObject([
      { kind: 'subagent', session: id, reason: 'lost', steps: 1, usage: { input: 1_000, output: 10 }, cost: 0.011 },
      { kind: 'subagent', session: id, reason: 'done', usage: { input: 1_000, output: 10 }, cost: 0.011 },
    ])
    // Three requests of its own, one of the child before the kill and one after.
    expect(result.cost).toBeCloseTo(5 * 0.011, 6)
    await agent.dispose()
    await expectSound(store)
    await later.dispose()
  })

  it('of a child that was done, its result says what that answered; of one that had not begun, that', async () => {
    const [done, hold] = [gate(), gate()]
    const h = await setup(({ prompt, answered, child }) => {
      if (child) return `done: ${prompt}`
      return answered === 0 ? { calls: [task('a')] } : 'ok'
    }, {
      plugins: [{
        name: 'late', apply: async (ctx: Context) => void ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => {
          done.open()
          await hold.promise
          return next()
        }),
      } as never],
    })
    h.agent.prompt('Go')
    await done.promise
    const store = await killed(h.store)
    hold.open()
    await h.agent.idle()
    await h.dispose()
    const later = await setup(() => 'ok', { store, agent: { id: 'second' } })
    const agent = await later.ctx.agents.resume('test')
    expect((await resultsIn(store, 'test'))[0]!.text).toMatch(/its turn was done\. It said last:\n\ndone: a/)
    await agent.dispose()
    await later.dispose()
  })
})
