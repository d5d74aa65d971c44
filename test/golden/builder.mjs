// Writes one golden log by hand, as the loop would: it numbers the events, and has our fold compute headers and digests.
import { Fold, proveRequest, rebuild, seededSum, sumText } from '../../packages/session/lib/index.js'

export const text = (role, words, more = {}) => ({ role, content: [{ type: 'text', text: words }], ...more })
export const call = (id, name, args = '{}') => ({ type: 'tool-call', id, name, arguments: args })
export const result = (id, name, words, more = {}) => ({ role: 'tool', content: [{ type: 'tool-result', id, name, content: words === '' ? [] : [{ type: 'text', text: words }], ...more }] })
export const tool = (name, more = {}) => ({ name, description: `Does ${name}.`, parameters: { type: 'object', properties: { path: { type: 'string' } }, additionalProperties: false }, ...more })
export const FORMAT = { version: 2, format: 'headrace', writer: 'headrace/1.0.0', digest: 'sha-256' }

export class Log {
  appends = []
  blobs = []
  fold = new Fold()
  header = { config: { model: 'lab/one' }, owners: {} }
  attempt = 0
  length = 0

  constructor(id, open = {}) {
    this.id = id
    this.add('session/open', { ...FORMAT, id, ...open })
  }

  /** One event, an append of its own. Gives its seq. */
  add(type, data, more = {}) {
    return this.list([[type, data, more]])
  }

  /** Events that are one append. Gives the seq of the last; data may be a function, called when those before it are folded. */
  list(drafts) {
    const events = []
    for (const [type, data, more = {}] of drafts) {
      const event = { seq: this.length, time: 1_796_000_000_000 + this.length * 1000, type, data: typeof data === 'function' ? data() : data, ...more }
      this.fold.apply(event)
      this.length++
      events.push(event)
    }
    this.appends.push(events)
    return this.length - 1
  }

  prompt(words, more = {}) {
    const prompt = this.add('prompt/queued', { input: text('user', words), owner: 'user', ...more })
    this.add('turn/start', { turn: this.fold.ledger.turns + 1, woke: 'prompt', prompt })
    return this.add('user/message', { message: text('user', words), owner: 'user', prompt })
  }

  step() {
    const { number, steps } = this.fold.ledger.turn
    this.attempt = 0
    return this.add('step/start', { turn: number, step: steps + 1 })
  }

  /** The header event that is owed, and a dispatch: one append. */
  dispatch({ header = this.header, anchor, substitute, attempt = this.attempt + 1 } = {}) {
    this.header = header
    this.attempt = attempt
    const owed = this.fold.headers.owed(header, anchor, substitute)
    const { turn } = this.fold.ledger
    const place = () => ({ turn: turn.number, step: turn.step.number, attempt, boundary: this.fold.surface.boundary })
    const data = () => ({ ...place(), ...proveRequest(this.fold.headers.header, this.fold.surface.chain()) })
    return this.list([...(owed ? [[owed.type, owed.data]] : []), ['request/dispatch', data]])
  }

  side(purpose, messages, more = {}) {
    const side = { messages: messages.map((message) => ({ message, owner: 'app' })), ...more }
    const own = {
      boundary: this.fold.surface.boundary ?? this.length,
      purpose,
      ...(messages.length > 0 && { messages: side.messages }),
      ...more,
    }
    return this.add('request/dispatch', { ...own, ...proveRequest(this.fold.headers.header, this.fold.surface.chain(), side) })
  }

  ok(dispatch, more = {}) {
    return this.add('request/end', { dispatch, outcome: 'ok', usage: { input: 100, cached: 0, written: 0, output: 10 }, finish: 'stop', ...more })
  }

  answer(message, options) {
    const dispatch = this.dispatch(options)
    this.ok(dispatch)
    return this.add('assistant/message', { message, dispatch })
  }

  endStep(reason = 'done', more = {}) {
    const { number, step } = this.fold.ledger.turn
    return this.add('step/end', { turn: number, step: step.number, reason, digest: this.fold.surface.closingChain(), ...more })
  }

  endTurn(reason = 'done', more = {}) {
    return this.add('turn/end', { turn: this.fold.ledger.turn.number, reason, settled: this.length - 1, ...more })
  }

  /** A turn of one step without calls. */
  say(words, answer, options) {
    this.prompt(words)
    this.step()
    this.answer(text('assistant', answer), options)
    this.endStep()
    return this.endTurn('done', { finish: 'stop' })
  }

  get events() {
    return this.appends.flat()
  }

  /** As store-jsonl has it: a line an append, each with its sum. */
  get lines() {
    return this.appends.map((events) => lineOf(this.id, events))
  }

  /** What a reader makes of it. */
  get expected() {
    const requests = {}
    for (const { seq, type } of this.events) if (type === 'request/dispatch') requests[seq] = partsOf(rebuild(this.events, seq))
    const { surface } = this.fold
    return {
      events: this.length,
      requests,
      history: surface.snapshot().entries.map(({ id, owner }) => [id, owner]),
      chain: surface.chain(),
    }
  }
}

export function lineOf(id, events) {
  const body = (events.length > 1 ? `[${events.map((event) => JSON.stringify(event)).join(',')}` : JSON.stringify(events[0])).slice(0, -1)
  return `${body},"sum":"${sumText(seededSum(id, events[0].seq, body))}"}${events.length > 1 ? ']' : ''}`
}

function partsOf({ config, system, tools, messages, owners, segments }) {
  const parts = { config, ...(system !== undefined && { system }), ...(tools && { tools }) }
  let from = 0
  for (const name of ['prefix', 'before', 'history', 'after']) {
    parts[name] = messages.slice(from, from + segments[name])
    from += segments[name]
  }
  return { ...parts, owners }
}
