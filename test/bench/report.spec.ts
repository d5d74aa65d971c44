import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { type Performance, LIMITS, RATIOS, ratioOf, report } from './report.ts'

const docs = new URL('../../docs/', import.meta.url)

it('docs/performance.md says what docs/performance.json holds, where every promise is kept', async () => {
  const performance = JSON.parse(await readFile(new URL('performance.json', docs), 'utf8')) as Performance
  expect(await readFile(new URL('performance.md', docs), 'utf8')).toBe(report(performance))
  const { figures } = performance
  const broken = RATIOS.filter(({ of, to, goal = Infinity }) => figures[of] && figures[to] && ratioOf(figures, of, to) > goal)
  expect(broken).toEqual([])
  expect(LIMITS.filter(({ of, most }) => (figures[of]?.median ?? 0) > most)).toEqual([])
})
