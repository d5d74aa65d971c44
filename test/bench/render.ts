import { readFile, writeFile } from 'node:fs/promises'
import { withChannelCosts } from './channel-costs.ts'
import { type Performance, report } from './report.ts'

const docs = new URL('../../../docs/', import.meta.url)

/** Writes `docs/performance.md`, and the figures of `docs/channels.md`, from `docs/performance.json`. */
export async function render(): Promise<void> {
  const performance = JSON.parse(await readFile(new URL('performance.json', docs), 'utf8')) as Performance
  await writeFile(new URL('performance.md', docs), report(performance))
  const channels = new URL('channels.md', docs)
  await writeFile(channels, withChannelCosts(await readFile(channels, 'utf8'), performance.figures))
}

if (import.meta.filename === process.argv[1]) await render()
