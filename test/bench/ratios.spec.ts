import { describe, expect, it } from 'vitest'
import { inFolder } from './folder.ts'
import { appendMeasure, pieceMeasure, rewindMeasure } from './items.ts'
import { mcpToolMeasures } from './mcp-tools.ts'
import { takeFigures } from './measure.ts'
import { openMeasures } from './reading.ts'
import { ratioOf } from './report.ts'
import { VARIANTS, stepMeasures } from './steps.ts'

// Twice the goals of `npm run bench`, and tried again: other work on the machine slows one side of a ratio more than the other.
const NOISY = { retry: 3, timeout: 600_000 }
const [step, , strict] = VARIANTS

describe('performance', () => {
  it('a step at 10,000 messages costs at most three times a step at 100, and with the strict check too', NOISY, async () => {
    const figures = await takeFigures(await stepMeasures([100, 10_000], [step!, strict!]), 7)
    expect(ratioOf(figures, 'step-10000', 'step-100')).toBeLessThan(3)
    expect(ratioOf(figures, 'step-strict-10000', 'step-strict-100')).toBeLessThan(3)
  })

  it('the strict check at most quadruples a step', NOISY, async () => {
    const figures = await takeFigures(await stepMeasures([1_000], [step!, strict!]), 7)
    expect(ratioOf(figures, 'step-strict-1000', 'step-1000')).toBeLessThan(4)
  })

  it('opening a log costs at most four times JSON.parse of its lines', NOISY, async () => {
    const figures = await inFolder(async (folder) => takeFigures(await openMeasures(folder, 30_000), 7))
    expect(ratioOf(figures, 'open', 'open-parse')).toBeLessThan(4)
  })

  it('a piece costs no more behind ten million characters, or 100,000 items, than behind few', NOISY, async () => {
    const figures = await takeFigures([pieceMeasure('few', 10, 1_000), pieceMeasure('long', 10, 10_000_000), pieceMeasure('many', 34_000, 1_000)], 5)
    expect(ratioOf(figures, 'long', 'few')).toBeLessThan(3)
    expect(ratioOf(figures, 'many', 'few')).toBeLessThan(3)
  })

  it('an append costs the items no more behind 270,000 events than behind 900', NOISY, async () => {
    const figures = await takeFigures([appendMeasure('short', 100), appendMeasure('long', 30_000)], 5)
    expect(ratioOf(figures, 'long', 'short')).toBeLessThan(3)
  })

  it('a rewind costs what it takes back, and to and fro no copy of the list', NOISY, async () => {
    const sizes = [['few', 300], ['many', 9_000]] as const
    const measures = sizes.flatMap(([name, turns]) => [rewindMeasure(name, turns, 'newest'), rewindMeasure(`far-${name}`, turns, 'far')])
    const figures = await takeFigures(measures, 5)
    // Thirty times as many turns.
    expect(ratioOf(figures, 'many', 'few')).toBeLessThan(6)
    expect(ratioOf(figures, 'far-many', 'far-few')).toBeLessThan(6)
  })

  it('a step with 200 tools of an MCP server costs at most one and a half of one with 10', NOISY, async () => {
    const figures = await inFolder(async (folder) => {
      const { measures, close } = await mcpToolMeasures(folder, [10, 200])
      return takeFigures(measures, 7).finally(close)
    })
    expect(ratioOf(figures, 'mcp-tools-200', 'mcp-tools-10')).toBeLessThan(1.5)
  })
})
