// Another process, on the built lib: rebuilds every request of a log that it reads from a file. Argument: the file, JSON lines.
import { readFileSync } from 'node:fs'
import { rebuild, verify } from '@headrace/session'

const events = readFileSync(process.argv[2], 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line))
const { difference } = verify(events)
if (difference) throw new Error(difference.what)
for (const { type, seq } of events) {
  if (type !== 'request/dispatch') continue
  const { session, dispatch, config, system, tools, messages, segments, owners } = rebuild(events, seq)
  process.stdout.write(`${JSON.stringify({ session, dispatch, config, system, tools, messages, segments, owners })}\n`)
}
