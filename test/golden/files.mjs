// The golden files as they are made: logs and what a reader makes of each, and logs that a reader refuses or finds changed.
import { createHash } from 'node:crypto'
import { Log, lineOf, text } from './builder.mjs'
import { LOGS } from './logs.mjs'

/** A good log, with one event changed; `null` leaves it out. Its sums are right: only what the events say is wrong. */
function changed(seq, change) {
  const log = new Log('refused')
  log.say('Hello.', 'Hello.')
  const events = log.events
    .map((event) => (event.seq === seq ? change(JSON.parse(JSON.stringify(event))) : event))
    .filter((event) => event !== null)
  return events.map((event) => lineOf('refused', [event]))
}

/** The same log, its lines changed after they were summed. */
function relined(change) {
  const log = new Log('refused')
  log.say('Hello.', 'Hello.')
  return change(log.lines)
}
const other = new Log('other')
other.say('Hello.', 'Hello.')

const data = (more) => (event) => ({ ...event, data: { ...event.data, ...more } })
const REFUSED = {
  'version-1': ['old', changed(0, (event) => ({ ...event, data: { version: 1, id: 'refused' } }))],
  'version-3': ['newer', changed(0, data({ version: 3 }))],
  'another-format': ['damage', changed(0, data({ format: 'diary' }))],
  'another-hash': ['newer', changed(0, data({ digest: 'sha3-256' }))],
  'required-type': ['newer', changed(1, (event) => ({ ...event, type: 'prompt/sung', required: true }))],
  'required-field': ['newer', changed(1, (event) => ({ ...event, required: true, echo: 1 }))],
  'required-data': ['newer', changed(1, (event) => ({ ...data({ echo: 1 })(event), required: true }))],
  'another-block': ['newer', changed(3, data({ message: { role: 'user', content: [{ type: 'video' }] } }))],
  'another-role': ['newer', changed(3, data({ message: text('developer', 'x') }))],
  'rewind-not-required': ['damage', changed(10, () => ({ seq: 10, time: 0, type: 'surface/rewind', data: { turn: 1, owner: 'app', reason: 'r' } }))],
  'gap': ['damage', changed(2, () => null)],
  'no-beginning': ['damage', changed(0, () => null)],
  'second-beginning': ['damage', changed(1, (event) => ({ ...event, type: 'session/open', data: { version: 2, format: 'headrace', writer: 'headrace/1.0.0', digest: 'sha-256', id: 'refused' } }))],
  'message-changed': ['differs', changed(3, data({ message: text('user', 'Hallo.') }))],
  'config-changed': ['differs', changed(5, (event) => ({ ...event, data: { ...event.data, header: { config: { model: 'lab/two' } } } }))],
  'answer-changed': ['differs', changed(8, data({ message: text('assistant', 'Goodbye.') }))],
  'coordinates': ['differs', changed(6, data({ turn: 7, step: 9 }))],
  'lone-surrogate': ['damage', changed(1, (event) => ({ ...event, type: 'note/half', data: { half: '\ud800' } }))],
  'nested-129': ['damage', changed(1, (event) => ({ ...event, type: 'note/deep', data: { deep: JSON.parse('['.repeat(127) + ']'.repeat(127)) } }))],
  'byte-changed': ['damage', relined((lines) => lines.with(1, lines[1].replace('"owner":"user"', '"owner":"uses"')))],
  'line-of-another-log': ['damage', relined((lines) => lines.with(2, other.lines[2]))],
  'lines-exchanged': ['damage', relined((lines) => lines.with(8, lines[9]).with(9, lines[8]))],
  'line-at-another-place': ['damage', relined((lines) => lines.with(8, lines[9].replace('"seq":10', '"seq":9')))],
  'result-missing': ['damage', changed(8, (event) => ({ ...event, data: { ...event.data, message: { role: 'assistant', content: [{ type: 'tool-call', id: '1', name: 'read', arguments: '{}' }] } } }))],
}

/** Every golden file, by its path in this folder: text or bytes. */
export function goldenFiles() {
  const files = new Map()
  for (const [name, make] of Object.entries(LOGS)) {
    const { blobs, lines, expected } = make()
    files.set(`logs/${name}.jsonl`, `${lines.join('\n')}\n`)
    files.set(`logs/${name}.json`, `${JSON.stringify(expected, null, 1)}\n`)
    for (const bytes of blobs) files.set(`logs/${name}.blobs/${createHash('sha256').update(bytes).digest('hex')}`, bytes)
  }
  for (const [name, [, lines]] of Object.entries(REFUSED)) files.set(`refused/${name}.jsonl`, `${lines.join('\n')}\n`)
  return files.set('refused/expected.json', `${JSON.stringify(Object.fromEntries(Object.entries(REFUSED).map(([name, [why]]) => [name, why])), null, 1)}\n`)
}
