import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { GrowthBench } from './growth-bench.ts'
import { growthCases, readmeCase } from './growth-cases.ts'
import type { GrowthOptions } from './growth-options.ts'

export type { GrowthOptions, Loaded } from './growth-options.ts'

/**
 * Tests that a plugin lets a request grow only at its end, whatever happens around it: load order, resume, hot reload, time that goes on,
 * midnight, time zone and locale, another workspace; that its config listeners are idempotent; that nothing is reported and no turn fails;
 * and that its README says what the model sees.
 *
 * ```ts
 * growthKit('clock', { plugin: clock })
 * ```
 */
export function growthKit(name: string, options: GrowthOptions): void {
  describe(`${name}: requests grow only at their end`, () => {
    const bench = new GrowthBench(name, options)
    const { TZ, LANG } = process.env

    beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-06-15T12:00:00') }))
    afterEach(async () => {
      vi.useRealTimers()
      restore('TZ', TZ)
      restore('LANG', LANG)
      await bench.close()
    })

    for (const [sentence, holds] of Object.entries(growthCases)) it(sentence, () => holds(bench))
    const { chapter } = options
    if (chapter) it('and its README says what the model sees', () => readmeCase(bench, chapter))
  })
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
