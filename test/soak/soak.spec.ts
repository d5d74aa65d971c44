import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Context, Fiber } from 'cordis'
import { Context as App } from 'cordis'
import { expect, it } from 'vitest'
import * as agentPlugin from '@headrace/agent'
import { BriefingService } from '@headrace/briefing'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import * as retry from '@headrace/plugin-retry'
import { Verifier } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { scriptedAdapter } from '@headrace/testing'
import { figure } from '../reliability/figures.ts'
import { amount } from '../scale.ts'

const SECONDS = Number(process.env.HEADRACE_SOAK_SECONDS ?? amount(60, 60, 600))
const AGENTS = 200
/** Turns that an agent lives. */
const LIFE = 6

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** What the process holds now. */
function sample(): { readonly heap: number; readonly handles: number } {
  gc()
  return { heap: process.memoryUsage().heapUsed, handles: process.getActiveResourcesInfo().length }
}

/** A plugin that is loaded and unloaded all the time. */
const visitor = { name: 'visitor', inject: ['agents', 'tools', 'briefing', 'system'], apply: async (ctx: Context) => {
  ctx.agents.after({ key: 'now', content: () => 'A visitor is here.' })
  ctx.tools.define({ name: 'visit', description: 'Visits.', parameters: { type: 'object' }, execute: () => 'visited' })
  ctx.briefing.topic({ key: 'visit', content: () => 'The visitor has rules.' })
} }

it(`${AGENTS} agents for ${SECONDS} seconds, with tools, injects, cancels and reloads: memory and handles are flat, every log verifies`, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'headrace-soak-'))
  const store = new JsonlStore({ directory, fsync: 'never' })
  const ctx = new App()
  await ctx.plugin(agentPlugin, { strict: true, grace: 20 })
  await ctx.plugin(BriefingService, {})
  // One call in thirteen fails, whoever makes it: some step is unlucky four times in a row.
  await ctx.plugin(retry, { base: 1, attempts: 15, perTurn: 100 })
  ctx.sessions.store(store)
  ctx.tools.define({ name: 'work', description: 'Works.', parameters: { type: 'object' }, execute: async (_input, { agent }) => {
    agent.inject('Noted while working.')
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4))
    return 'x'.repeat(500)
  } })
  let calls = 0
  const script = scriptedAdapter(() => {
    calls++
    if (calls % 13 === 0) return { text: 'half', error: { kind: 'server' } }
    return calls % 3 === 0 ? { text: 'Working.', pieces: 5, calls: [{ name: 'work' }, { name: 'visit' }] } : { text: 'Done. '.repeat(20), pieces: 5 }
  })
  // The scripted adapter keeps what it got: here that would be the leak.
  ctx.llm.adapter('soak', { async *stream(request, tools) {
    yield* script.stream(request, tools)
    ;(script.requests as unknown[]).length = 0
  } })

  const end = Date.now() + SECONDS * 1_000
  const totals = { turns: 0, cancelled: 0, sessions: 0, reloads: 0, requests: 0 }
  const live = async (lane: number): Promise<void> => {
    for (let round = 0; Date.now() < end; round++) {
      const id = `s-${lane}-${round}`
      const agent = await ctx.agents.create({ id, model: 'soak/model' })
      for (let turn = 0; turn < LIFE; turn++) {
        const handle = agent.prompt(`Turn ${turn}.`)
        if (Math.random() < 0.2) setTimeout(() => handle.cancel(), Math.random() * 10)
        const { reason, error } = await handle.result
        totals.turns++
        // Withdrawn: it still waited for a place among the turns that run at once.
        if (reason === 'cancelled' || reason === 'withdrawn') totals.cancelled++
        else expect(reason, `${id}: ${error?.message}`).toBe('done')
      }
      await agent.dispose()
      const verifier = new Verifier()
      for await (const batch of store.load(id)) for (const event of batch) verifier.feed(event)
      totals.requests += verifier.result().requests
      await store.remove(id)
      totals.sessions++
    }
  }
  const reload = async (): Promise<void> => {
    let fiber: Fiber | undefined
    while (Date.now() < end) {
      await fiber?.dispose()
      fiber = await ctx.plugin(visitor)
      totals.reloads++
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await fiber?.dispose()
  }
  const samples: { readonly heap: number; readonly handles: number }[] = []
  const watch = async (): Promise<void> => {
    const every = Math.max(500, (SECONDS * 1_000) / 30)
    while (Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, every))
      samples.push(sample())
    }
  }
  const before = sample()
  try {
    // All of them end before what one of them threw is told.
    const lanes = await Promise.allSettled([...Array.from({ length: AGENTS }, (_, lane) => live(lane)), reload(), watch()])
    for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason
    await ctx.fiber.dispose()
    const after = sample()
    const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]!
    const third = Math.floor(samples.length / 3)
    const [early, late] = [samples.slice(0, third), samples.slice(-third)].map((part) =>
      median(part.map(({ heap }) => heap)),
    ) as [number, number]
    console.info(`soak: ${JSON.stringify(totals)}, heap ${[before.heap, early, late, after.heap].map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`).join(' → ')}`)
    expect(totals.sessions).toBeGreaterThan(AGENTS)
    expect(totals.cancelled).toBeGreaterThan(0)
    expect(late, 'the heap grows').toBeLessThan(early * 1.3)
    expect(after.heap, 'something is kept').toBeLessThan(before.heap + 30e6)
    expect(after.handles, 'handles are left').toBeLessThanOrEqual(before.handles)
    figure('soak', '200 agents', totals)
  } finally {
    removeFolder(directory)
  }
}, (SECONDS + 120) * 1_000)
