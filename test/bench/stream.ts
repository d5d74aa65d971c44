import type { Chunk } from '@headrace/message'
import { makeApp } from './app.ts'
import { type Measure, timedAlone } from './measure.ts'

const CHUNKS = 100_000

/** What one streamed delta costs on its way through the loop to whoever watches the turn, and what it costs to be yielded at all. */
export async function streamMeasures(): Promise<readonly Measure[]> {
  const app = await makeApp({ adapter: { stream: reply } })
  let session = 0
  return [
    {
      key: 'delta', title: `a streamed delta through the loop, of a reply of ${CHUNKS.toLocaleString('en')}`, unit: 'µs',
      async sample() {
        const agent = await app.create(`stream-${++session}`)
        const ms = await timedAlone(() => agent.prompt('Tell me a long story.').result)
        await agent.dispose()
        await app.store.remove(agent.id)
        return (ms * 1_000) / CHUNKS
      },
    },
    {
      key: 'delta-bare', title: 'the same reply read by `for await` alone', unit: 'µs',
      sample: async () => (await timedAlone(readAll) * 1_000) / CHUNKS,
    },
  ]
}

async function* reply(): AsyncIterable<Chunk> {
  for (let index = 0; index < CHUNKS; index++) yield { type: 'text', text: 'token ' }
  yield { type: 'usage', usage: { input: 1_000, cached: 0, written: 0, output: CHUNKS } }
  yield { type: 'finish', reason: 'stop' }
}

async function readAll(): Promise<number> {
  let size = 0
  for await (const chunk of reply()) if (chunk.type === 'text') size += chunk.text.length
  return size
}
