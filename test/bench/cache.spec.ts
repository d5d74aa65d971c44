import { describe, expect, it } from 'vitest'
import { RULES, type Way, cacheBills } from './cache.ts'
import { recordSessions } from './cache-session.ts'

const SLOW = { timeout: 60_000 }

describe('twenty turns with every context plugin, through simulated provider caches', SLOW, () => {
  it('with facts in history cost at most 2 % more at full price than a request that is only ever appended to; everywhere else they cost more', async () => {
    const bills = await cacheBills([1, 3])
    for (const rule of RULES) {
      const full = (way: Way): number => bills[way][rule].full
      expect(full('history') / full('ideal')).toBeLessThanOrEqual(1.02)
      expect(full('history') / full('bare')).toBeLessThanOrEqual(1.02)
      expect(full('history')).toBeGreaterThan(full('bare'))
      for (const way of ['prefix', 'after', 'system'] as const) expect(full(way)).toBeGreaterThan(full('history'))
    }
  })

  it('cost the same at every run', async () => {
    expect(await cacheBills([1])).toEqual(await cacheBills([1]))
  })

  it('have in them all that is said of them: each fact is told when it first holds, and again when it changes', async () => {
    const [{ requests }] = (await recordSessions('history', [2])) as [Awaited<ReturnType<typeof recordSessions>>[0]]
    const last = requests.at(-1)!
    const told = last.owners.filter((owner) => owner.includes('/'))
    expect(told.filter((owner) => owner === 'environment/environment')).toHaveLength(3)
    expect(told.filter((owner) => owner === 'agents-md/project')).toHaveLength(2)
    expect(told.filter((owner) => owner.startsWith('agents-md/packages/server/src/'))).toHaveLength(2)
    expect(told.filter((owner) => owner === 'skills/catalogue')).toHaveLength(1)
    expect(last.owners.filter((owner) => owner === 'user')).toHaveLength(20)
    const text = JSON.stringify(last.messages)
    for (const fact of ['2026-06-15', '2026-06-16', 'git branch: main', 'git branch: topic/rows', '- task-29: ']) expect(text).toContain(fact)
  })
})
