import { type Compacted, CompactionService, type Config } from '@headrace/plugin-compaction'
import { MemoryStore } from '@headrace/session'
import { makeApp } from './app.ts'
import { putLog, recordLog } from './log.ts'
import { type Measure, timedAlone } from './measure.ts'

const MESSAGES = 10_000

/** What it takes to compact a long history, without the model that writes the summary. */
export async function compactionMeasures(): Promise<readonly Measure[]> {
  const lines = await recordLog('long', MESSAGES)
  const of = `of ${MESSAGES.toLocaleString('en')} messages`
  const measure = (key: string, title: string, config: Partial<Config>): Measure => {
    let run = 0
    return { key: `compaction-${key}`, title, unit: 'ms', sample: () => compacting(lines, `compaction-${++run}`, { threshold: 0, ...config }) }
  }
  return [
    measure('summary', `a history ${of}, all but the newest summarised`, {}),
    measure('both', `a history ${of}, every old result trimmed first, which is not enough`, { result: 20 }),
  ]
}

async function compacting(lines: readonly string[], id: string, config: Partial<Config>): Promise<number> {
  const store = new MemoryStore()
  await putLog(store, id, lines)
  let service: CompactionService | undefined
  const grab = { name: 'bench-compaction', inject: ['compaction'], apply: (ctx: { readonly compaction: CompactionService }) => void (service = ctx.compaction) }
  const app = await makeApp({ store, bare: true, plugins: [[CompactionService, config], [grab, {}]] })
  const agent = await app.resume(id)
  let compacted: Compacted | undefined
  const ms = await timedAlone(async () => (compacted = await service!.compact(id)))
  await agent.dispose()
  if (compacted?.how !== 'summarised') throw new Error(`the history was ${compacted?.how}: ${compacted?.before} to ${compacted?.after} tokens`)
  return ms
}
