import { describe, expect, it } from 'vitest'
import { RULES, cacheBills } from './cache.ts'

describe('twenty turns with every context plugin, in a simulated provider cache', { timeout: 60_000 }, () => {
  it('cost at most 2 % more at full price than a request that is only ever appended to, and no fact moves what was sent', async () => {
    const bills = await cacheBills([4])
    console.log(JSON.stringify(bills, null, 1))
    for (const rule of RULES) {
      expect(bills.history[rule].full / bills.ideal[rule].full).toBeLessThanOrEqual(1.02)
    }
  })
})
