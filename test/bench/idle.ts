import type { Agent } from '@headrace/agent'
import { makeApp } from './app.ts'
import { type Measure, collect, timed } from './measure.ts'

const AGENTS = 1_000

/** What agents cost that do nothing. Memory needs `node --expose-gc`. */
export function idleMeasures(): readonly Measure[] {
  return [
    { key: 'idle-time', title: `making one of ${AGENTS.toLocaleString('en')} idle agents`, unit: 'µs', sample: async () => (await makeMany()).time },
    { key: 'idle-memory', title: `heap of one of ${AGENTS.toLocaleString('en')} idle agents, its log in memory included`, unit: 'bytes', sample: async () => (await makeMany()).memory },
  ]
}

async function makeMany(): Promise<{ readonly time: number; readonly memory: number }> {
  const app = await makeApp()
  const agents: Agent[] = []
  await collect()
  const before = process.memoryUsage().heapUsed
  const ms = await timed(async () => {
    for (let index = 0; index < AGENTS; index++) agents.push(await app.create(`idle-${index}`))
  })
  await collect()
  const memory = (process.memoryUsage().heapUsed - before) / AGENTS
  for (const agent of agents) await agent.dispose()
  return { time: (ms * 1_000) / AGENTS, memory }
}
