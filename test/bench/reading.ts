import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Agent } from '@headrace/agent'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { Session, rebuild, verify } from '@headrace/session'
import { makeApp } from './app.ts'
import { parseLines, recordLog } from './log.ts'
import { type Measure, timedAlone } from './measure.ts'

/** A turn of 25 steps takes 50 messages and about 200 events. */
const EVENTS_A_MESSAGE = 4

/** What it takes to open a log, against the least it could take: `JSON.parse` of its lines. */
export async function openMeasures(folder: string, events = 100_000): Promise<readonly Measure[]> {
  const store = new JsonlStore({ directory: folder, fsync: 'never' })
  const count = (await recordLog('long', Math.ceil(events / EVENTS_A_MESSAGE), store)).length
  const path = join(folder, 'long.jsonl')
  const of = `of ${count.toLocaleString('en')} events`
  return [
    {
      key: 'open', title: `opening a file ${of}`, unit: 'ms',
      async sample() {
        let session: Session | undefined
        const ms = await timedAlone(async () => (session = await Session.open(store, 'long')))
        await session!.close()
        return ms
      },
    },
    {
      key: 'resume', title: `resuming an agent over a file ${of}`, unit: 'ms',
      async sample() {
        const app = await makeApp({ store })
        let agent: Agent | undefined
        const ms = await timedAlone(async () => (agent = await app.resume('long')))
        await agent!.dispose()
        return ms
      },
    },
    {
      key: 'open-parse', title: `reading the file ${of} and \`JSON.parse\` of its lines`, unit: 'ms',
      sample: () => timedAlone(async () => (await readFile(path, 'utf8')).split('\n').map((line) => (line === '' ? undefined : JSON.parse(line) as unknown))),
    },
  ]
}

/** What it takes to prove a log, and to give its last request back. */
export async function verifyMeasures(requests = 1_000): Promise<readonly Measure[]> {
  const lines = await recordLog('proof', 2 * requests)
  const events = parseLines(lines)
  const dispatches = events.filter((event) => event.type === 'request/dispatch')
  const last = dispatches.at(-1)!.seq
  const of = `of ${dispatches.length.toLocaleString('en')} requests`
  return [
    {
      key: 'verify', title: `\`verify\`: every request ${of} rebuilt and compared`, unit: 'ms',
      async sample() {
        // Parsed anew: digests are kept beside values that were seen before.
        const fresh = parseLines(lines)
        return timedAlone(() => {
          const { requests: proven, difference } = verify(fresh)
          if (difference || proven !== dispatches.length) throw new Error(`the log does not verify: ${JSON.stringify(difference)}`)
        })
      },
    },
    {
      key: 'rebuild', title: `\`rebuild\` of the last ${of}, its messages read`, unit: 'ms',
      async sample() {
        const fresh = parseLines(lines)
        return timedAlone(() => rebuild(fresh, last).messages.length)
      },
    },
  ]
}
