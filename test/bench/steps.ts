import type { Agent } from '@headrace/agent'
import { MemoryStore } from '@headrace/session'
import { type App, makeApp } from './app.ts'
import { putLog, recordLog } from './log.ts'
import { type Measure, timed } from './measure.ts'

export const SIZES = [100, 1_000, 10_000] as const

/** Steps of a measured turn. */
const STEPS = 50

export interface Variant {
  readonly name: string
  readonly title: string
  readonly strict?: boolean
  readonly reads?: boolean
}

export const VARIANTS: readonly Variant[] = [
  { name: 'step', title: 'a step' },
  { name: 'step-reads', title: 'a step whose adapter reads `request.messages`', reads: true },
  { name: 'step-strict', title: 'a step with the strict check', strict: true },
]

/** What the loop adds to a step, without a model, at several lengths of history. One agent each, kept at its length. */
export async function stepMeasures(sizes: readonly number[] = SIZES, variants: readonly Variant[] = VARIANTS): Promise<readonly Measure[]> {
  const store = new MemoryStore()
  const app = await makeApp({ store })
  const measures: Measure[] = []
  for (const size of sizes) {
    const lines = await recordLog('log', size)
    for (const { name, title, strict = false, reads = false } of variants) {
      const key = `${name}-${size}`
      await putLog(store, key, lines)
      const agent = await app.resume(key, { strict })
      measures.push({ key, title: `${title}, ${size.toLocaleString('en')} messages of history`, unit: 'µs', sample: () => oneTurn(app, agent, size, reads) })
    }
  }
  return measures
}

/** Microseconds a step. Afterwards the history is what it was before, and a note. */
async function oneTurn({ answers }: App, agent: Agent, size: number, reads: boolean): Promise<number> {
  Object.assign(answers, { steps: STEPS, reads })
  let steps = 0
  const ms = await timed(async () => ({ steps } = await agent.prompt('Go on with the work, please.').result))
  if (steps !== STEPS) throw new Error(`the turn had ${steps} steps, not ${STEPS}`)
  const entries = agent.session.entries()
  agent.replace(entries[size]!.id, entries.at(-1)!.id, ['The work went on.'], { reason: 'to measure again' })
  return (ms * 1_000) / steps
}
