import { BlockCache, BreakpointCache, type Prompt, type PromptCache, UnitCache, simulateCache } from '@headrace/model-server'
import type { Channel } from './cache-channel.ts'
import { idealPrompts, promptsOf } from './cache-prompt.ts'
import { recordSessions } from './cache-session.ts'
import type { Measure } from './measure.ts'

export const RULES = ['block', 'unit', 'breakpoint'] as const
export type Rule = (typeof RULES)[number]

/** What is billed for: `ideal` and `bare` are requests that are only ever appended to. */
export const WAYS = ['bare', 'ideal', 'history', 'prefix', 'after', 'system'] as const
export type Way = (typeof WAYS)[number]

export interface Bill {
  /** Tokens that were in no cache. */
  readonly full: number
  readonly cached: number
}

const CACHES: Readonly<Record<Rule, () => PromptCache>> = {
  block: () => new BlockCache(),
  unit: () => new UnitCache(),
  breakpoint: () => new BreakpointCache(),
}

/** What the sessions cost under each rule, each session with an empty cache. */
export async function cacheBills(sessions?: readonly number[]): Promise<Readonly<Record<Way, Readonly<Record<Rule, Bill>>>>> {
  const recordings = new Map<Channel, Awaited<ReturnType<typeof recordSessions>>>()
  for (const channel of ['history', 'prefix', 'after', 'system'] as const) recordings.set(channel, await recordSessions(channel, sessions))
  const prompts = (way: Way): readonly (readonly Prompt[])[] => (
    way === 'ideal' || way === 'bare' ? recordings.get('history')!.map((recording) => idealPrompts(recording, way === 'bare')) : recordings.get(way)!.map(promptsOf)
  )
  return record(WAYS, (way) => {
    const sent = prompts(way)
    return record(RULES, (rule) => bill(rule, sent))
  })
}

function bill(rule: Rule, sessions: readonly (readonly Prompt[])[]): Bill {
  const totals = sessions.map((prompts) => simulateCache(CACHES[rule](), prompts).total)
  return totals.reduce((sum, { input, cached }) => ({ full: sum.full + input - cached, cached: sum.cached + cached }), {
    full: 0,
    cached: 0,
  })
}

function record<K extends string, V>(keys: readonly K[], value: (key: K) => V): Readonly<Record<K, V>> {
  return Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>
}

/** The bills as figures: `cache-<rule>-<way>-full` and `-cached`. The same at every run. */
export async function cacheMeasures(): Promise<readonly Measure[]> {
  const bills = await cacheBills()
  return RULES.flatMap((rule) => WAYS.flatMap((way) => (['full', 'cached'] as const).map((part): Measure => ({
    key: `cache-${rule}-${way}-${part}`, title: `${rule} cache, ${way}: tokens ${part === 'full' ? 'at full price' : 'cached'}`, unit: 'tokens',
    sample: async () => bills[way][rule][part],
  }))))
}
