import { getEventListeners } from 'node:events'
import type { Context, Plugin } from 'cordis'
import { expect } from 'vitest'
import { type SessionEvent, Fold, unpaired, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, type Script, harness } from '@headrace/testing'
import { textOf } from '@headrace/message'
import { settles } from '@headrace/testing/gate'
import { plugin } from '../laws/help.ts'
import { good } from '../laws/listeners.ts'

export type Result = Awaited<ReturnType<Harness['run']>>

/** A run with a plugin that misbehaves, and what came of it. */
export interface Ran {
  readonly made: Harness
  readonly result: Result
  readonly log: readonly SessionEvent[]
}

/** Faults that were injected, told in docs/reliability.md. */
export const injected = { faults: 0, departures: 0 }

/** Asks, and is answered further in. */
const asking = plugin('asking', (ctx) => {
  ctx.tools.define({ name: 'ask', description: '', parameters: { type: 'object' }, ask: true, execute: () => 'asked' })
  ctx.on('tools/ask', async () => 'allow')
})

/** Compacts ahead of the second step: somebody must, for `compaction/keep` to be asked. */
export const compactor = plugin('compactor', (ctx) => void ctx.on('agent/pre-step', async (agent, turn, step, next) => {
  const [first] = agent.session.entries()
  if (step.number === 2 && first) agent.replace(first.id, first.id, ['Summary.', ...await agent.keep([first], { signal: turn.signal })], { reason: 'test' })
  return next()
}))

/** Calls both tools to the first prompt, after a failure where `fails`; says a word to any other. */
export function modelOf(fails: boolean): Script {
  return ({ messages }, index) => {
    const said = messages.filter(({ role }) => role !== 'system')
    if (said.at(-1)?.role === 'tool' || textOf(said.at(-1)!) !== 'Hi.') return { text: 'Done.', pieces: 2 }
    return fails && index === 0 ? { error: { kind: 'rate-limit' } } : { text: 'Looking.', calls: [{ name: 'look' }, { name: 'ask' }] }
  }
}

/** Timers, sockets and the like that keep a process alive. */
const resources = (): number => process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length

/** Rejections that nobody handled, since the last look. */
const rejections: string[] = []
process.on('unhandledRejection', (error) => void rejections.push(String(error)))

export async function unhandled(): Promise<readonly string[]> {
  await new Promise((resolve) => setImmediate(resolve))
  return rejections.splice(0)
}

/** The log is whole: it verifies, what began has ended, every call has its result. */
export function expectSound(log: readonly SessionEvent[], what: string): void {
  expect(verify(log).difference, what).toBeUndefined()
  const { ledger, surface } = Fold.of(log)
  expect([ledger.turn, ledger.owed, ledger.openDispatches], `${what}: nothing is open`).toEqual([undefined, false, []])
  expect(unpaired(surface.snapshot().entries.map(({ message }) => message)), what).toBeUndefined()
  const count = (type: string): number => log.filter((event) => event.type === type).length
  expect([count('turn/start'), count('step/start'), count('request/dispatch')], what).toEqual([count('turn/end'), count('step/end'), count('request/end')])
}

export interface RunOptions extends Partial<HarnessOptions> {
  readonly what: string
  readonly seam: string
  readonly strict?: boolean
  /** Cancels the turn when the fault was reached: nothing else would end it. */
  readonly cancels?: boolean
  /** Services that the bad plugin takes beside the agent's. */
  readonly inject?: readonly string[]
  /** Loaded when the bad one is gone. */
  readonly after?: Plugin
  /** What the bad plugin registers. */
  apply(ctx: Context, reached: () => void): unknown
  /** What must hold of the first turn. */
  check(ran: Ran): unknown
}

/**
 * One turn with a plugin that misbehaves, and one without it. Whatever the fault: both end, the second one well, the log is sound, and
 * nothing is left behind.
 */
export async function withFault(options: RunOptions): Promise<void> {
  const { what, seam, strict = false, cancels = false, apply, check, after, inject = [], plugins = [good, asking], ...more } = options
  injected.faults++
  const before = resources()
  const signals: AbortSignal[] = []
  const watch = plugin('watch', (ctx) => void ctx.on('agent/prompt-submit', (_agent, turn, _submission, next) => {
    signals.push(turn.signal)
    return next()
  }))
  const made = await harness({ reports: 'allow', script: modelOf(seam === 'agent/request-error'), plugins: [watch, ...plugins, ...(seam === 'compaction/keep' ? [compactor] : [])], settings: { strict, seamTimeout: 30, toolTimeout: 30, grace: 5 }, ...more })
  try {
    const hooks = counts(made)
    let reach = (): void => undefined
    const reached = new Promise<void>((resolve) => (reach = resolve))
    const bad = plugin('bad', (ctx) => void apply(ctx, reach))
    const fiber = made.ctx.plugin({ ...bad, inject: [...bad.inject, ...inject] })
    await fiber
    const handle = made.agent.prompt('Hi.')
    if (cancels) void reached.then(() => handle.cancel())
    const result = await settles(handle.result, what)
    await settles(made.agent.idle(), what)
    const log = await made.events()
    expectSound(log, what)
    await check({ made, result, log })
    await settles(Promise.resolve(fiber.dispose()), what)
    expect(counts(made), `${what}: listeners are left`).toEqual(hooks)
    if (after) await (made.ctx.plugin as (plugin: Plugin) => PromiseLike<unknown>)(after)
    expect(await settles(made.run('Again.'), what), `${what}: the next turn`).toMatchObject({ reason: 'done', text: 'Done.' })
    expectSound(await made.events(), what)
    for (const signal of signals) expect(getEventListeners(signal, 'abort').length, `${what}: abort listeners are left`).toBe(0)
  } finally {
    await settles(made.dispose(), what)
  }
  expect(await unhandled(), what).toEqual([])
  expect(resources(), `${what}: timers are left`).toBeLessThanOrEqual(before)
}

/** How many listeners stand at each event. */
function counts({ ctx }: Harness): Readonly<Record<string, number>> {
  const lists = Object.entries(ctx.events._hooks as Record<string, readonly unknown[] | undefined>)
  return Object.fromEntries(lists.map(([name, list]) => [name, list?.length ?? 0]).filter(([, length]) => length !== 0))
}
