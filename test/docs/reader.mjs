// A reader of logs written from docs/log-format.md alone: it imports nothing of ours, and knows nothing that the page does not say.
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

const H = (text) => createHash('sha256').update(text, 'utf8').digest('hex')
const digestOf = (value) => H(JSON.stringify(value))
const NOTHING = '0'.repeat(64)
const chainOf = (list = [], from = NOTHING) => list.reduce((link, value) => H(link + digestOf(value)), from)

/** "An export" and "Files of store-jsonl": the events of lines of either. */
export function readEvents(text) {
  const lines = text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line))
  return lines.flat().filter((line) => !('blob' in line))
}

/** "Files of store-jsonl": the numbers, from 1, of lines whose sum is not that of their bytes. */
export function badLines(text) {
  const id = /"id":"([^"]*)"/.exec(text)?.[1]
  return text.split('\n').flatMap((line, index) => {
    const [, bytes, sum] = /^(.*),"sum":"([0-9a-f]{8})"\}\]?$/s.exec(line) ?? []
    const seq = /^\[?\{"seq":(\d+)/.exec(line)?.[1]
    return line === '' || bytes !== undefined && crc32(`${id}/${seq}/${bytes}`).toString(16).padStart(8, '0') === sum ? [] : [index + 1]
  })
}

/** "History" */
class History {
  surface = []
  step = undefined
  turns = new Map()

  apply({ seq, type, data }) {
    const entry = (message, part = 0) => ({ id: part === 0 ? `${seq}` : `${seq}.${part}`, seq, message })
    switch (type) {
      case 'session/open': return void this.surface.push(...(data.seed ?? []).map(entry))
      case 'turn/start': return void this.turns.set(data.turn, [...this.surface])
      case 'user/message': return void this.surface.push(entry(data.message))
      case 'context/message': return void (this.step ? this.step.contexts : this.surface).push(entry(data.message))
      case 'step/start': return void (this.step = { boundary: seq, results: [], contexts: [] })
      case 'assistant/message': return void (this.step.answer = entry(data.message))
      case 'tool/result': return void (this.step.results[data.index] = { result: entry(data.message), contexts: (data.additionalContext ?? []).map(({ message }, index) => entry(message, index + 1)) })
      case 'step/end': return this.close()
      case 'surface/replace': {
        const [first, last] = [data.first, data.last].map((id) => this.surface.findIndex((one) => one.id === id))
        return void this.surface.splice(first, last - first + 1, ...data.messages.map(({ message }, part) => entry(message, part)))
      }
      case 'surface/rewind': this.surface = [...this.turns.get(data.turn)]
    }
  }

  close() {
    const { answer, results, contexts } = this.step
    if (answer && answer.message.content.length > 0) this.surface.push(answer)
    this.surface.push(...results.map(({ result }) => result), ...results.flatMap((one) => one.contexts), ...contexts)
    this.step = undefined
  }

  get messages() {
    return this.surface.map(({ message }) => message)
  }
}

const present = (value) => value === undefined || value.length === 0 ? undefined : value

/** "Header" */
class Header {
  fields = undefined
  events = new Map()

  apply({ seq, type, data }) {
    if (type === 'request/header') this.whole(seq, data)
    else if (type === 'request/header-delta') this.delta(seq, data.delta)
  }

  /** A value, or the one that it points to. */
  resolve(field, value) {
    return value !== undefined && typeof value === 'object' && 'in' in value ? this.events.get(value.in)[field] : value
  }

  whole(seq, { header }) {
    this.events.set(seq, header)
    this.fields = { config: header.config }
    for (const field of ['system', 'tools', 'prefix', 'before', 'after']) this.fields[field] = present(this.resolve(field, header[field]))
  }

  delta(seq, delta) {
    this.events.set(seq, delta)
    const { fields } = this
    if ('config' in delta) fields.config = delta.config
    if ('system' in delta) fields.system = this.system(delta.system)
    if ('tools' in delta) fields.tools = this.tools(delta.tools)
    for (const field of ['before', 'after']) if (field in delta) fields[field] = present(this.resolve(field, delta[field]))
  }

  system(delta) {
    if (delta === '') return undefined
    const old = this.fields.system === undefined ? [] : this.fields.system.split('\n')
    return [...old.slice(0, delta.head), ...delta.lines, ...old.slice(old.length - delta.tail)].join('\n')
  }

  tools(delta) {
    if (Array.isArray(delta)) return undefined
    const tools = new Map((this.fields.tools ?? []).map((tool) => [tool.name, tool]))
    for (const name of delta.remove ?? []) tools.delete(name)
    for (const tool of delta.set ?? []) tools.set(tool.name, tool)
    return present([...tools.values()].sort((a, b) => a.name < b.name ? -1 : 1))
  }
}

/** "A request" */
function requestOf(dispatch, header, history) {
  const { config, system, tools, prefix = [], before = [], after = [] } = header
  if (dispatch.purpose === undefined) return { config, system, tools, prefix, before, history, after }
  const own = (dispatch.messages ?? []).map(({ message }) => message)
  const { output: _, ...rest } = config
  return { config: { ...rest, ...dispatch.config }, system, tools: dispatch.tools === 'none' ? undefined : tools, prefix, before, history: [...history, ...own], after: [] }
}

/** "Digests" */
function digestOfRequest({ config, system, tools, prefix, before, history, after }) {
  const lines = [digestOf(config), system === undefined ? '' : digestOf(system), chainOf(tools), chainOf(prefix), chainOf(before), chainOf(history), chainOf(after)]
  return H(lines.map((line) => `${line}\n`).join(''))
}

const KNOWN = {
  'session/open': 'version format writer digest id cwd config parent at seed under kind title tools limits',
  'session/title': 'title owner',
  'prompt/queued': 'input owner steer context key letter config output',
  'prompt/withdrawn': 'prompt reason letter',
  'turn/start': 'turn woke prompt',
  'turn/cancel': 'turn reason letter',
  'turn/end': 'turn reason settled finish error',
  'step/start': 'turn step',
  'step/end': 'turn step reason digest error budget timing',
  'user/message': 'message owner prompt',
  'context/message': 'message owner steer',
  'run/context': 'turn digest template facts sections',
  'request/header': 'reason header owners substitute',
  'request/header-delta': 'delta substitute',
  'request/dispatch': 'boundary history digest turn step attempt purpose messages config tools',
  'request/end': 'dispatch outcome usage wire finish error answer adapter firstChunk response',
  'assistant/message': 'message dispatch interrupted',
  'approval/decided': 'assistant index rule decision',
  'question/asked': 'assistant index kind question options schema',
  'question/answered': 'question answer by remember letter',
  'tool/start': 'assistant index',
  'tool/result': 'assistant index message outcome owner additionalContext details progress endTurn',
  'surface/replace': 'first last messages owner reason',
  'surface/rewind': 'turn owner reason',
  'letter/refused': 'letter reason',
}

/** "Events": what a reader that does not know everything refuses. */
function refuseUnknown({ seq, time: _, type, data, required, sum: __, ...more }) {
  if (!required) return
  const newer = (what) => { throw new Error(`event ${seq}: ${what} is unknown, and required: a newer headrace made this log`) }
  if (!Object.hasOwn(KNOWN, type)) newer(type)
  const known = ['blobs', ...KNOWN[type].split(' ')]
  for (const field of [...Object.keys(more), ...Object.keys(data).filter((each) => !known.includes(each))]) newer(field)
}

/** Rebuilds every request of a log, by the seq of its dispatch, and says what is not as the log has it. */
export function readRequests(events) {
  const history = new History()
  const header = new Header()
  const requests = new Map()
  const differences = []
  const compare = (seq, what, found, recorded) => {
    if (found !== recorded) differences.push(`event ${seq}: ${what}`)
  }
  for (const [index, event] of events.entries()) {
    const { seq, type, data } = event
    compare(seq, 'seq', seq, index)
    refuseUnknown(event)
    if (index === 0 && (type !== 'session/open' || data.format !== 'headrace' || data.version !== 2 || data.digest !== 'sha-256')) throw new Error('no log of version 2')
    history.apply(event)
    header.apply(event)
    if (type === 'step/end') compare(seq, 'digest of the step', chainOf(history.messages), data.digest)
    if (type !== 'request/dispatch') continue
    const request = requestOf(data, header.fields, history.messages)
    requests.set(seq, request)
    compare(seq, 'boundary', data.boundary, history.step?.boundary ?? seq)
    compare(seq, 'history', chainOf(request.history), data.history)
    compare(seq, 'digest', digestOfRequest(request), data.digest)
  }
  return { requests, differences, chain: chainOf(history.messages) }
}
