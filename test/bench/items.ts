import { type ItemFold, itemFold, itemsOf } from '@headrace/desk'
import type { EventDraft, SessionEvent } from '@headrace/session'
import { type Measure, timedAlone } from './measure.ts'

const EVENTS_PER_TURN = 9
const PIECES = 20_000
const REWINDS = 9_000
const DIGEST = '0'.repeat(64)

/** A log of turns, each a prompt and an answer; it may go on behind any event. */
class Turns {
  readonly events: SessionEvent[] = []
  private turn = 0

  constructor(turns: number) {
    for (let count = 0; count < turns; count++) this.add()
  }

  /** One turn more: its events. */
  add(): readonly SessionEvent[] {
    const turn = ++this.turn
    const first = this.events.length
    const [user, assistant] = (['user', 'assistant'] as const).map((role) => ({ role, content: [{ type: 'text', text: `Word of turn ${turn}.` }] }))
    this.push({ type: 'prompt/queued', data: { input: user, owner: 'user' } } as EventDraft)
    this.push({ type: 'turn/start', data: { turn, woke: 'prompt', prompt: first } })
    this.push({ type: 'user/message', data: { message: user, owner: 'user', prompt: first } } as EventDraft)
    this.push({ type: 'step/start', data: { turn, step: 1 } })
    const dispatch = this.dispatch()
    this.push({ type: 'request/end', data: { dispatch, outcome: 'ok', usage: { input: 9, cached: 0, written: 0, output: 9 } } })
    this.push({ type: 'assistant/message', data: { message: assistant, dispatch } } as EventDraft)
    this.push({ type: 'step/end', data: { turn, step: 1, reason: 'done', digest: DIGEST } })
    this.push({ type: 'turn/end', data: { turn, reason: 'done', settled: this.events.length - 1 } })
    return this.events.slice(first)
  }

  rewind(turn: number): SessionEvent {
    return this.push({ type: 'surface/rewind', data: { turn, owner: 'user', reason: 'back' } })
  }

  /** Its seq. */
  dispatch(): number {
    return this.push({ type: 'request/dispatch', data: { turn: this.turn, step: 1, attempt: 1, boundary: this.events.length - 1, history: DIGEST, digest: DIGEST } }).seq
  }

  private push(draft: EventDraft): SessionEvent {
    const event = { seq: this.events.length, time: 0, ...draft } as SessionEvent
    this.events.push(event)
    return event
  }
}

/** A piece of an answer, behind so much text, in a list of so many items. */
export function pieceMeasure(key: string, turns: number, length: number): Measure {
  return {
    key, title: `a piece behind ${length} characters, after ${turns} turns`, unit: 'µs',
    async sample() {
      const log = new Turns(turns)
      const dispatch = log.dispatch()
      const fold = folded(log.events)
      const say = (at: number, text: string): unknown => fold.piece({ type: 'text', dispatch, block: 0, at, text })
      say(0, 'x'.repeat(length))
      const ms = await timedAlone(() => {
        for (let count = 0; count < PIECES; count++) say(length + count * 6, 'token ')
      })
      return (ms * 1_000) / PIECES
    },
  }
}

/** An append, behind a log of so many turns. */
export function appendMeasure(key: string, turns: number): Measure {
  return {
    key, title: `an append behind ${turns * EVENTS_PER_TURN} events`, unit: 'µs',
    async sample() {
      const log = new Turns(turns)
      const fold = folded(log.events)
      const more = Array.from({ length: 1_000 }, () => log.add())
      return (await timedAlone(() => more.forEach((events) => fold.append(events))) * 1_000) / more.length
    },
  }
}

/** A rewind of the newest turn, told; and one to the first turn or back again, of a list that is read at the end. */
export function rewindMeasure(key: string, turns: number, how: 'newest' | 'far'): Measure {
  return {
    key, title: `a rewind among ${turns} turns`, unit: 'µs',
    async sample() {
      // As many in all, of however many turns: what is short is measured as long.
      const logs = Array.from({ length: REWINDS / turns }, () => new Turns(turns))
      const folds = logs.map(({ events }) => folded(events))
      for (const log of logs)
        for (let count = 0; count < turns; count++) log.rewind(how === 'newest' ? turns - count : count % 2 === 0 ? 1 : turns)
      const ms = await timedAlone(() => {
        for (const [index, { events }] of logs.entries()) {
          if (how === 'far') itemsOf(events)
          else for (const event of events.slice(turns * EVENTS_PER_TURN)) folds[index]!.append([event])
        }
      })
      return (ms * 1_000) / REWINDS
    },
  }
}


function folded(events: readonly SessionEvent[]): ItemFold {
  const fold = itemFold()
  fold.append(events)
  return fold
}
