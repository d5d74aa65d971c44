import { describe, expect, it } from 'vitest'
import type { ContentBlock } from '@headrace/message'
import type { AnswerPiece, EventDraft, EventType, Piece, ProgressPiece, SessionEvent } from '@headrace/session'
import { type Item, type ItemChange, ShownItems, itemFold, itemsOf, saidItems } from '../src/index.ts'

const DIGEST = '0'.repeat(64)
const user = (text: string): { role: 'user'; content: ContentBlock[] } => ({ role: 'user', content: [{ type: 'text', text }] })
const place = { turn: 1, step: 1, attempt: 1, boundary: 3, history: DIGEST, digest: DIGEST }
const usage = { input: 3, cached: 0, written: 0, output: 1 }

/** A log from the drafts behind its beginning, with a turn that is open: the next seq is 4. */
function logOf(...drafts: readonly EventDraft[]): readonly SessionEvent[] {
  const begin: EventDraft[] = [
    { type: 'session/open', data: { version: 2, format: 'headrace', writer: 'headrace/1', digest: 'sha-256', id: 's', config: { model: 'lab/one' } } },
    { type: 'prompt/queued', data: { input: user('Go.'), owner: 'user' } },
    { type: 'turn/start', data: { turn: 1, woke: 'prompt', prompt: 1 } },
    { type: 'user/message', data: { message: user('Go.'), owner: 'user', prompt: 1 } },
  ]
  return [...begin, ...drafts].map((draft, seq) => ({ seq, time: 1_000 + seq, ...draft }) as SessionEvent)
}

const header = (model: string, more = {}): EventDraft => ({ type: 'request/header', data: { reason: 'fallback', header: { config: { model } }, owners: {}, ...more } })
const say = (at: number, text: string, more: Partial<AnswerPiece> = {}): AnswerPiece => ({ type: 'text', dispatch: 5, block: 0, at, text, ...more })
/** A dispatch, 5, that is open; what stands behind it begins with 6. */
const asked: readonly EventDraft[] = [header('lab/one'), { type: 'request/dispatch', data: place }]
const ended = (more = {}): EventDraft => ({ type: 'request/end', data: { dispatch: 5, outcome: 'ok', ...more } })
const answered = (...content: readonly object[]): EventDraft => ({ type: 'assistant/message', data: { message: { role: 'assistant', content }, dispatch: 5 } }) as EventDraft
/** An answer with two calls: its seq is 7. */
const called = [...asked, ended(), answered({ type: 'tool-call', id: 'a', name: 'cut', arguments: '{"x":1}' }, { type: 'tool-call', id: 'b', name: 'cut', arguments: '{"x"' })]
const result = (index: number, more = {}): EventDraft => ({ type: 'tool/result', data: {
  assistant: 7, index, outcome: 'done', message: { role: 'tool', content: [{ type: 'tool-result', id: 'a', name: 'cut', content: [{ type: 'text', text: 'ok' }] }] }, ...more,
} })
const progress = (text: string, more: Partial<ProgressPiece> = {}): ProgressPiece => ({ type: 'progress', dispatch: 5, block: 0, assistant: 7, index: 0, at: 0, from: 0, text, ...more })

const shown = (items: readonly Item[]): readonly string[] => items.map(({ id, kind }) => `${id} ${kind}`)
const told = (changes: readonly ItemChange[]): readonly string[] => changes.map((change) => (
  change.type === 'put' ? `put ${change.item.id} ${'state' in change.item ? change.item.state : ''}${change.after === undefined ? '' : ` after ${change.after}`}`
    : change.type === 'text' ? `text ${change.id} ${change.at} ${change.text}` : `remove ${change.id} ${change.why}`))

describe('what events say', () => {
  it('an answer: its blocks where its dispatch stands, its usage behind them, and what came meanwhile behind that', () => {
    const items = itemsOf(logOf(
      ...asked, { type: 'context/message', data: { message: user('By the way.'), owner: 'a/b' } }, ended({ usage }),
      answered({ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: 'Yes.' }, { type: 'text', text: '' }, { type: 'tool-call', id: 'a', name: 'cut', arguments: '' }),
    ))
    expect(shown(items)).toEqual(['1 message', '5.0 thought', '5.1 message', '5.3 call', '7 usage', '6 message'])
    expect(items.slice(1)).toMatchObject([
      { seq: 8, time: 1_008, turn: 1, owner: 'model', text: 'Hm.', state: 'done' },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }], state: 'done', model: 'lab/one' },
      { name: 'cut', arguments: '', input: {}, call: { assistant: 8, index: 0 }, state: 'pending' },
      { model: 'lab/one', usage },
      { context: true, owner: 'a/b', role: 'user' },
    ])
  })

  it('an answer that was cut off is interrupted; the messages of a seed are there, each call with its result', () => {
    const [open, ...rest] = logOf(...asked, { type: 'assistant/message', data: { message: { role: 'assistant', content: [{ type: 'text', text: 'Ye' }] }, dispatch: 5, interrupted: true } })
    const seed = [user('Look.'), { role: 'assistant', content: [{ type: 'text', text: 'I do.' }, { type: 'tool-call', id: 'x', name: 'look', arguments: '{}' }] }, { role: 'tool', content: [{ type: 'tool-result', id: 'x', name: 'look', content: [], error: true }] }]
    const items = itemsOf([{ ...open!, data: { ...open!.data, seed } } as SessionEvent, ...rest])
    expect(shown(items)).toEqual(['0.0 message', '0.1 message', '0.2 call', '1 message', '5.0 message'])
    expect([items[2], items[4]]).toMatchObject([{ state: 'error', output: [] }, { state: 'interrupted' }])
  })

  it('a call: judged, asked about, running, with progress and children, to its result, details and plan', () => {
    const fold = itemFold()
    const states: unknown[] = []
    const call = (): Record<string, unknown> => fold.items.find(({ id }) => id === '5.0') as never
    for (const event of logOf(
      ...called,
      { type: 'approval/decided', data: { assistant: 7, index: 0, rule: 'approval/cut', decision: 'ask' } },
      { type: 'question/asked', data: { assistant: 7, index: 0, kind: 'permission', question: 'May it?', options: [{ answer: 'allow' }] } },
      { type: 'question/answered', data: { question: 9, answer: 'allow', by: 'user' } },
      { type: 'question/answered', data: { question: 9, answer: 'deny', by: 'late' } },
      { type: 'tool/start', data: { assistant: 7, index: 0 } },
      { type: 'agent/child' as EventType, data: { assistant: 7, index: 0, session: 'kid' } } as unknown as EventDraft,
      { type: 'question/asked', data: { assistant: 7, index: 0, kind: 'input', question: 'How many?' } },
      result(0, { details: { kind: 'plan', entries: [{ content: 'a', status: 'completed' }] }, progress: { done: 1 }, additionalContext: [{ message: user('See also.'), owner: 'a/b' }] }),
      { type: 'question/answered', data: { question: 14, answer: 5, by: 'late' } },
    )) {
      fold.append([event])
      const { state } = call() ?? {}
      if (state !== undefined && states.at(-1) !== state) states.push(state)
    }
    expect(states).toEqual(['pending', 'asks', 'pending', 'running', 'asks', 'done'])
    expect(call()).toMatchObject({ input: { x: 1 }, decided: { rule: 'approval/cut', decision: 'ask' }, children: ['kid'], output: [{ text: 'ok' }], progress: { text: '{"done":1}', state: { done: 1 } } })
    expect(fold.items.slice(2)).toMatchObject([
      { id: '5.1', state: 'pending' },
      { id: '9', kind: 'question', question: 9, about: 'permission', text: 'May it?', state: 'answered', answer: 'allow', by: 'user', owner: 'loop' },
      { id: '14', about: 'input', state: 'closed', owner: 'tool' },
      { id: '15', kind: 'plan', entries: [{ content: 'a', status: 'completed' }] },
      { id: '15.1', context: true },
    ])
    expect(fold.items[2]).not.toHaveProperty('input')
  })

  it('a steer waits behind everything, and moves to its place when it is taken; a prompt that its turn did not take is withdrawn', () => {
    const log = logOf(
      { type: 'prompt/queued', data: { input: user('Later.'), owner: 'user' } },
      { type: 'prompt/queued', data: { input: user('Now.'), owner: 'user', steer: true } },
      { type: 'session/title', data: { title: 'A title', owner: 'user' } },
      { type: 'user/message', data: { message: user('Now!'), owner: 'a/prompt-submit', prompt: 5 } },
      { type: 'turn/end', data: { turn: 1, reason: 'done', settled: 7 } },
      { type: 'turn/start', data: { turn: 2, woke: 'prompt', prompt: 4 } },
      { type: 'turn/end', data: { turn: 2, reason: 'blocked', settled: 9, error: { code: 'BLOCKED', message: 'not here' } } },
    )
    const fold = itemFold()
    expect(log.map((event) => told(fold.append([event])).join(', '))).toEqual([
      '', 'put 1 queued', '', 'remove 1 taken, put 1 done', 'put 4 queued after 1', 'put 5 queued after 4', 'put 6  after 1',
      'remove 5 taken, put 5 done after 6', '', '', 'remove 4 withdrawn, put 10  after 5',
    ])
    expect(fold.items).toMatchObject([{ seq: 3 }, { notice: 'title', text: 'A title' }, { steer: true, seq: 7, owner: 'a/prompt-submit', content: [{ text: 'Now!' }] }, { notice: 'ended', reason: 'blocked', text: 'not here', turn: 2 }])
  })

  it('a withdrawal, and why; a change of the model, and none where a substitute stood in', () => {
    const items = itemsOf(logOf(
      { type: 'prompt/queued', data: { input: user('Later.'), owner: 'user' } }, { type: 'prompt/withdrawn', data: { prompt: 4, reason: 'blocked: no' } },
      header('lab/one'), header('lab/two', { substitute: true }), header('lab/one'),
      { type: 'request/header-delta', data: { delta: { config: { model: 'lab/three' }, owners: { config: { model: 'user' } } } } } as unknown as EventDraft,
    ))
    expect(items.slice(1)).toMatchObject([{ id: '5', notice: 'withdrawn', text: 'blocked: no' }, { id: '9', notice: 'model', text: 'lab/three', owner: 'user' }])
  })

  it('a side request: nothing but its usage, also where it ends after its turn', () => {
    const items = itemsOf(logOf(
      ...asked, { type: 'request/dispatch', data: { boundary: 3, history: DIGEST, digest: DIGEST, purpose: 'title', config: { model: 'lab/small' } } },
      { type: 'turn/end', data: { turn: 1, reason: 'done', settled: 6 } },
      { type: 'request/end', data: { dispatch: 6, outcome: 'ok', usage, answer: { role: 'assistant', content: [{ type: 'text', text: 'A title' }] } } },
    ))
    expect(items.slice(1)).toMatchObject([{ id: '8', kind: 'usage', purpose: 'title', model: 'lab/small' }])
  })

  it('compaction: a notice, one for many that say the same; it hides nothing', () => {
    const trim: EventDraft = { type: 'surface/replace', data: { first: '3', last: '3', messages: [], owner: 'compaction/trim', reason: 'trimmed' } }
    const items = itemsOf(logOf(...called, trim, trim, trim, { type: 'session/title', data: { title: 't', owner: 'user' } }, trim))
    expect(shown(items)).toEqual(['1 message', '5.0 call', '5.1 call', '8 notice', '11 notice', '12 notice'])
  })
})

describe('pieces', () => {
  it('grow an open item by their own text; late, twice, with a gap or of another block they change nothing', () => {
    const fold = itemFold()
    fold.append(logOf(...asked))
    expect(told(fold.piece(say(0, 'Hel')))).toEqual(['put 5.0 open after 1'])
    expect(told(fold.piece(say(3, 'lo')))).toEqual(['text 5.0 3 lo'])
    expect([say(3, 'lo'), say(0, 'Hello'), say(9, 'gap'), say(5, 'x', { type: 'reasoning' }), say(0, 'x', { dispatch: 4 }), say(2, 'x', { block: 1 })].flatMap((piece) => told(fold.piece(piece)))).toEqual([])
    expect(told(fold.piece(say(3, 'lo you')))).toEqual(['text 5.0 5  you'])
    expect(told(fold.piece(say(0, '', { type: 'arguments', block: 1, name: 'cut' })))).toEqual(['put 5.1 writing after 5.0'])
    expect(fold.items.slice(1)).toMatchObject([{ content: [{ text: 'Hello you' }], state: 'open', turn: 1, model: 'lab/one' }, { name: 'cut', arguments: '' }])
    expect(told(fold.append([...logOf(...asked, ended(), answered({ type: 'text', text: 'Hello you' }))].slice(6)))).toEqual(['remove 5.1 failed', 'put 5.0 done'])
    expect(told(fold.piece(say(9, ' late')))).toEqual([])
  })

  it('of a failed attempt are taken back at its end, before another begins', () => {
    const fold = itemFold()
    fold.append(logOf(...asked))
    fold.piece(say(0, 'Hel'))
    expect(told(fold.append(logOf(...asked, ended({ outcome: 'error', usage })).slice(6)))).toEqual(['remove 5.0 failed', 'put 6  after 1'])
  })

  it('of progress show the present state, and its end where it is long; with the result they are over', () => {
    const fold = itemFold()
    const log = logOf(...called, { type: 'tool/start', data: { assistant: 7, index: 0 } }, result(0))
    fold.append(log.slice(0, 9))
    const shows = (piece: Piece): unknown => (fold.piece(piece), (fold.items[1] as { progress?: unknown }).progress)
    expect(shows(progress('one\n'))).toEqual({ text: 'one\n' })
    expect(shows(progress('two\n', { at: 4 }))).toEqual({ text: 'one\ntwo\n' })
    expect(shows(progress('one\n'))).toEqual({ text: 'one\ntwo\n' })
    expect(shows(progress('{"a":1}', { at: 8, from: 8, state: { a: 1 } }))).toEqual({ text: '{"a":1}', state: { a: 1 } })
    expect(shows(progress('late', { at: 4 }))).toEqual({ text: '{"a":1}', state: { a: 1 } })
    expect(shows(progress('😀'.repeat(9_000), { at: 15, from: 15 }))).toEqual({ text: '😀'.repeat(5_000) })
    fold.append(log.slice(9))
    expect(shows(progress('late', { at: 99_999 }))).toBeUndefined()
  })
})

describe('a rewind', () => {
  it('leaves what stood at that turn\'s beginning; also of a turn that was itself taken back; the queue stays', () => {
    const log = logOf(
      { type: 'turn/end', data: { turn: 1, reason: 'error', settled: 3, error: { code: 'X', message: 'broke' } } },
      { type: 'turn/start', data: { turn: 2, woke: 'message' } },
      { type: 'context/message', data: { message: user('two'), owner: 'a/b' } },
      { type: 'prompt/queued', data: { input: user('Later.'), owner: 'user' } },
      { type: 'turn/end', data: { turn: 2, reason: 'done', settled: 7 } },
      { type: 'surface/rewind', data: { turn: 1, owner: 'user', reason: 'back' } },
      { type: 'session/title', data: { title: 't', owner: 'user' } },
      { type: 'surface/rewind', data: { turn: 2, owner: 'user', reason: 'forth' } },
      { type: 'surface/rewind', data: { turn: 9, owner: 'user', reason: 'no such turn' } },
    )
    const fold = itemFold()
    const door = new ShownItems().apply(fold.append(log.slice(0, 9)))
    const before = fold.items
    door.apply(fold.append(log.slice(9, 10)))
    expect(shown(door.items)).toEqual(['7 message'])
    expect(told(fold.append(log.slice(10, 11)))).toEqual(['put 10 '])
    const again = fold.append(log.slice(11))
    expect(told(again)).toEqual(['remove 10 rewound', 'put 1 done', 'put 4  after 1'])
    expect(fold.items).toEqual(before.filter(({ id }) => id !== '6'))
  })
})

describe('whatever a log says', () => {
  it('nothing is thrown, everything is frozen, and a door has what the fold has', () => {
    const log = logOf(
      ...called, result(0, { progress: 'last', details: { a: [{}] } }), result(1), { type: 'turn/end', data: { turn: 1, reason: 'error', settled: 1 } },
      { type: 'surface/rewind', data: { turn: 1, owner: 'user', reason: 'x' } },
    )
    const values: readonly unknown[] = [null, 0, -1, 1e9, '', 'x', [], {}, [null], { text: 5 }, undefined]
    for (const [at, event] of log.entries())
      for (const path of pathsOf(event.data))
        for (const value of values) {
          const data = put(structuredClone(event.data), path, value)
          const hostile = [...log.slice(0, at), { ...event, data }, ...log.slice(at + 1)] as readonly SessionEvent[]
          const fold = itemFold()
          const door = new ShownItems()
          for (const one of structuredClone(hostile)) {
            door.apply(fold.append([one]))
            door.apply(fold.piece(say(0, 'Hello', { dispatch: one.seq })))
            door.apply(fold.piece(progress('x', { assistant: one.seq })))
          }
          expect(door.items).toEqual(fold.items)
          expect(saidItems(fold.items)).toEqual(itemsOf(hostile))
          expect(thawed(fold.items)).toEqual([])
        }
  })

  it('events that are missing, come twice, or are no events change nothing', () => {
    const log = logOf(...called, result(0))
    for (const at of log.keys()) {
      if (at === log.length - 1) break
      const fold = itemFold()
      fold.append(log.filter((_, index) => index !== at))
      expect(fold.append(log)).toEqual([])
    }
    expect(itemFold().append([{ seq: Number.NaN, type: 'session/title' }, { seq: 1, type: 'session/title' }, { seq: 2 }, {}] as unknown as SessionEvent[])).toEqual([])
  })
})

/** Paths of what can be another value. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [...(path.length > 0 ? [path] : []), ...Object.entries(value).flatMap(([key, inside]) => pathsOf(inside, [...path, key]))]
}

function put(target: object, path: readonly string[], value: unknown): object {
  const place = path.slice(0, -1).reduce((inside, key) => inside[key] as Record<string, unknown>, target as Record<string, unknown>)
  place[path.at(-1)!] = value
  return target
}

/** What is not frozen, in lists and objects however deep. */
function thawed(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return [...(Object.isFrozen(value) ? [] : [value]), ...Object.values(value).flatMap(thawed)]
}
