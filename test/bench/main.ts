import { writeFile } from 'node:fs/promises'
import { arch, cpus, loadavg, platform, totalmem } from 'node:os'
import { appendMeasures } from './appends.ts'
import { bootMeasures } from './boot.ts'
import { cacheMeasures } from './cache.ts'
import { compactionMeasures } from './compaction.ts'
import { contextMeasures } from './context.ts'
import { inFolder } from './folder.ts'
import { idleMeasures } from './idle.ts'
import { latencyMeasures } from './latencies.ts'
import { type Figures, type Measure, takeFigures } from './measure.ts'
import { manyMeasures } from './many.ts'
import { mcpToolMeasures } from './mcp-tools.ts'
import { openMeasures, verifyMeasures } from './reading.ts'
import { render } from './render.ts'
import type { Performance } from './report.ts'
import { sizeMeasures } from './size.ts'
import { skillMeasures } from './skills.ts'
import { stepMeasures } from './steps.ts'
import { streamMeasures } from './stream.ts'
import { unitMeasure } from './unit.ts'

const loadNow = (): number => loadavg()[0]!

/** Groups to run; with some named, nothing is written. */
const only = process.argv.slice(2)
const start = loadNow()
const figures = await inFolder(async (folder) => {
  const closing: (() => Promise<void>)[] = []
  const groups: readonly (readonly [name: string, samples: number, () => readonly Measure[] | Promise<readonly Measure[]>])[] = [
    ['machine', 15, () => [unitMeasure()]],
    ['step', 25, stepMeasures],
    ['cache', 1, cacheMeasures],
    ['context', 25, () => contextMeasures(folder)],
    ['skills', 9, () => skillMeasures(folder)],
    ['mcp', 25, async () => {
      const { measures, close } = await mcpToolMeasures(folder, [10, 200])
      closing.push(close)
      return measures
    }],
    ['stream', 15, streamMeasures],
    ['append', 15, () => appendMeasures(folder)],
    ['latency', 9, () => latencyMeasures(folder)],
    ['open', 9, () => openMeasures(folder)],
    ['verify', 9, verifyMeasures],
    ['compaction', 5, compactionMeasures],
    ['boot', 9, () => bootMeasures(folder)],
    ['size', 1, sizeMeasures],
    ['many', 5, () => manyMeasures(folder)],
    ['idle', 5, idleMeasures],
  ]
  let all: Figures = {}
  for (const [name, samples, measures] of groups) {
    if (only.length > 0 && !only.includes(name)) continue
    const taken = await takeFigures(await measures(), samples)
    for (const close of closing.splice(0)) await close()
    for (const { title, median, mad, unit } of Object.values(taken)) console.log(`${title}: ${median.toPrecision(4)} ± ${mad.toPrecision(2)} ${unit}`)
    all = { ...all, ...taken }
  }
  return all
})

if (only.length === 0) await write(figures)

async function write(all: Figures): Promise<void> {
  const performance: Performance = {
    date: new Date().toISOString().slice(0, 10),
    node: process.version.slice(1),
    machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}`,
    load: [start, loadNow()],
    figures: all,
  }
  await writeFile(new URL('../../../docs/performance.json', import.meta.url), `${JSON.stringify(performance, null, 2)}\n`)
  await render()
}
