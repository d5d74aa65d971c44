import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context } from 'cordis'
import { afterAll, describe, expect, it } from 'vitest'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import type { SessionEvent } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { settles } from '@headrace/testing/gate'
import { figure } from '../reliability/figures.ts'
import { some } from '../scale.ts'
import { DEPARTURES, type Departure, type Stage, open } from './guests.ts'
import { expectSound, unhandled } from './world.ts'

/** Where a turn stands when somebody goes. */
const SEAMS = [
  'agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request', 'agent/request-messages', 'agent/request-error',
  'tools/pre-execute', 'tools/ask', 'tools/execute', 'tools/post-execute', 'agent/turn-stopping',
] as const
const MOMENTS = [...SEAMS, 'llm/stream', 'a tool'] as const
type Moment = (typeof MOMENTS)[number]

const counts = { departures: 0, parked: 0 }
afterAll(() => figure('faults', 'departures', counts))

async function logOf(directory: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of new JsonlStore({ directory, fsync: 'never' }).load('s')) events.push(...batch)
  return events
}

/** Somebody of the app itself, who stands at a moment and stays. */
function stand(ctx: Context, moment: Moment, act: () => Promise<void>): void {
  if (moment === 'llm/stream') {
    ctx.on('llm/stream', async function* (_agent, _turn, _request, next) {
      const stream = next()
      for await (const chunk of stream) {
        await act()
        yield chunk
      }
    }, { prepend: true })
  } else if (moment !== 'a tool') {
    ctx.on(moment, (async (...args: unknown[]) => {
      await act()
      return moment === 'agent/turn-stopping' ? undefined : (args.at(-1) as () => unknown)()
    }) as never, { prepend: true })
  }
}

/** One turn in which somebody goes, at one moment; then they come back, and the session goes on. */
async function depart(moment: Moment, departure: Departure, waits: boolean): Promise<void> {
  const what = `${departure.who} goes at ${moment}, ${waits ? 'waited for' : 'not waited for'}`
  const directory = mkdtempSync(join(tmpdir(), 'headrace-depart-'))
  const ctx = new Context()
  let left: Promise<unknown> | undefined
  const act = async (): Promise<void> => {
    if (left) return
    counts.departures++
    left = Promise.resolve(departure.leave(stage))
    if (waits) await left
  }
  const stage: Stage = await open(directory, async () => void (moment === 'a tool' && await act()), ctx)
  try {
    stand(ctx, moment, act)
    const agent = await ctx.agents.create({ id: 's', model: 'own/model' })
    const { reason } = await settles(agent.prompt('Hi.').result, what)
    expect(departure.ends, what).toContain(reason)
    await settles(left!, `${what}: it goes`)
    if (reason === 'parked') counts.parked++
    else expectSound(await logOf(directory), what)
    await settles(Promise.resolve(departure.back(stage)), `${what}: it comes back`)
    await settles(loaded(ctx), `${what}: all are loaded`)
    await goOn(stage, what)
  } finally {
    await settles(ctx.fiber.dispose() as unknown as Promise<void>, `${what}: the end`)
    removeFolder(directory)
  }
  expect(await unhandled(), what).toEqual([])
}

/** The session goes on: what was parked ends, and the next turn has everything again. */
async function goOn({ ctx, directory, ran }: Stage, what: string): Promise<void> {
  const agent = ctx.agents.get('s') ?? await settles(ctx.agents.resume('s'), what)
  agent.wake()
  await settles(agent.idle(), `${what}: what was parked`)
  expectSound(await logOf(directory), what)
  expect(await settles(agent.prompt('Again.').result, what), `${what}: the next turn`).toMatchObject({ reason: 'done', text: 'Done.' })
  expect(agent.session.requestHeader()?.tools?.map(({ name }) => name), what).toEqual(['ask', 'look'])
  expect(new Set(ran).size, `${what}: a tool ran twice`).toBe(ran.length)
  await settles(agent.dispose(), what)
  expectSound(await logOf(directory), what)
}

async function loaded(ctx: Context): Promise<void> {
  for (const runtime of ctx.registry.values()) for (const fiber of runtime.fibers) await fiber.await()
}

describe.each(DEPARTURES)('$who goes in the middle of a turn', (departure) => {
  it.each(some(MOMENTS, 4))('at %s: nothing hangs, the log is sound, and the session goes on when it is back', async (moment) => {
    for (const waits of [false, true]) await depart(moment, departure, waits)
  })
})
