// A fresh process that has nothing but the files: rebuilds every request of every log in a folder. A line a request.
import { createReadStream, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { checkEvent, rebuild } from '../../packages/session/lib/index.js'

const [folder] = process.argv.slice(2)
for (const file of readdirSync(folder).filter((name) => name.endsWith('.jsonl')).sort()) {
  const events = []
  for await (const line of createInterface({ input: createReadStream(join(folder, file)), crlfDelay: 0 })) {
    for (const { sum: _sum, ...event } of [JSON.parse(line)].flat()) events.push(checkEvent(event))
  }
  for (const { type, seq } of events) {
    if (type === 'request/dispatch') process.stdout.write(`${JSON.stringify([file.slice(0, -6), seq, JSON.stringify(rebuild(events, seq))])}\n`)
  }
}
