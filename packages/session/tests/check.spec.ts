import { describe, expect, it } from 'vitest'
import { MAX_DEPTH, copyJson } from '@headrace/message'
import { type EventType, type SessionEvent, FORMAT, Fold, LOG_VERSION, LogError, checkEvent } from '@headrace/session'
import { HEADER, LogBuilder, assistant, call, result, system, user } from './log-builder.ts'
import { everyKind } from './every-kind.ts'

const good = { seq: 3, time: 0, type: 'prompt/withdrawn', data: { prompt: 1, reason: 'r' } }
const of = (type: EventType, data: unknown): unknown => ({ seq: 3, time: 0, type, data })
const header = (change: object) => of('request/header', { reason: 'initial', owners: {}, header: { ...HEADER, ...change } })
const delta = (change: object) => of('request/header-delta', { delta: change })
const context = (message: unknown) => of('context/message', { owner: 'x/y', message })

describe('checkEvent', () => {
  it('passes every kind of event that the loop writes, as it is', () => {
    for (const event of everyKind().parsed) expect(checkEvent(event)).toBe(event)
  })

  it.each([
    ['null', null, 'not an object'],
    ['a list', [], 'not an object'],
    ['a text', 'x', 'not an object'],
    ['no seq', { ...good, seq: undefined }, 'without a seq'],
    ['a negative seq', { ...good, seq: -1 }, 'without a seq'],
    ['a broken seq', { ...good, seq: 1.5 }, 'without a seq'],
    ['a seq that is text', { ...good, seq: '3' }, 'without a seq'],
    ['no time', { ...good, time: undefined }, 'event 3: time'],
    ['a time without end', { ...good, time: JSON.parse('1e999') as number }, 'time'],
    ['no type', { ...good, type: 7 }, 'type'],
    ['no data', { ...good, data: undefined }, 'data must be an object'],
    ['data that is a list', { ...good, data: [] }, 'data must be an object'],
    ['required that is not true', { ...good, required: false }, 'required must be true'],
    ['a prompt from nobody', of('prompt/queued', { input: user('x') }), 'owner must be a string'],
    ['a prompt of a system message', of('prompt/queued', { input: system('x'), owner: 'user' }), 'input.role must be user'],
    ['a context of an assistant', context(assistant('x')), 'message.role must be system or user'],
    ['a context of a role that is not text', context({ role: null, content: [] }), 'message.role'],
    ['content that is text', context({ role: 'user', content: 'x' }), 'content must be a list'],
    ['a block that is text', context({ role: 'user', content: ['x'] }), 'message.content must be an object'],
    ['a block without text', context({ role: 'user', content: [{ type: 'text' }] }), 'text must be a string'],
    ['a block of no type', context({ role: 'user', content: [{ type: 7 }] }), 'type 7, which a user message cannot have'],
    ['a file in an assistant message', of('assistant/message', { dispatch: 1, message: { role: 'assistant', content: [{ type: 'file', digest: 'x', mediaType: 'x/y' }] } }), '"file"'],
    ['a file whose name is a number', context({ role: 'user', content: [{ type: 'file', digest: 'x', mediaType: 'x/y', name: 1 }] }), 'name must be a string'],
    ['blobs that are no digests', { ...good, type: 'x/y', data: { blobs: ['x'] } }, 'blobs must be SHA-256 digests'],
    ['blobs that are no list', { ...good, data: { ...good.data, blobs: {} } }, 'blobs must be a list'],
    ['a log of something else', of('session/open', { ...FORMAT, format: 'diary', id: 'x' }), 'format must be "headrace": this is the log of something else'],
    ['a log of nobody', of('session/open', { ...FORMAT, writer: 7, id: 'x' }), 'writer must be a string'],
    ['a session under no call', of('session/open', { ...FORMAT, id: 'x', under: { session: 'y' } }), 'call must be an object'],
    ['a choice of tools that is no names', of('session/open', { ...FORMAT, id: 'x', tools: { only: [1] } }), 'only must be names'],
    ['limits that are text', of('session/open', { ...FORMAT, id: 'x', limits: 'few' }), 'limits must be an object'],
    ['a prompt with a key that is a number', of('prompt/queued', { input: user('x'), owner: 'user', key: 1 }), 'key must be a string'],
    ['a prompt by a letter that is a number', of('prompt/queued', { input: user('x'), owner: 'user', letter: 1 }), 'letter must be a string'],
    ['a prompt with a config of text', of('prompt/queued', { input: user('x'), owner: 'user', config: 'x' }), 'config must be an object'],
    ['a prompt whose output is no schema', of('prompt/queued', { input: user('x'), owner: 'user', output: true }), 'output must be an object'],
    ['a title by nobody', of('session/title', { title: 'x' }), 'owner must be a string'],
    ['a cancel of no turn', of('turn/cancel', { reason: 'x' }), 'turn must be a whole number'],
    ['a cancel without a word', of('turn/cancel', { turn: 1 }), 'reason must be a string'],
    ['a question about no call', of('question/asked', { kind: 'input', question: 'x?' }), 'assistant must be a whole number'],
    ['a question without words', of('question/asked', { assistant: 1, index: 0, kind: 'input' }), 'question must be a string'],
    ['options without answers', of('question/asked', { assistant: 1, index: 0, kind: 'input', question: 'x?', options: [{ label: 'Yes' }] }), 'options must have an answer each'],
    ['an answer that is none', of('question/answered', { question: 1, by: 'user' }), 'answer is missing'],
    ['an answer by nobody', of('question/answered', { question: 1, answer: null }), 'by must be a string'],
    ['a decision by no rule', of('approval/decided', { assistant: 1, index: 0, decision: 'allow' }), 'rule must be a string'],
    ['a refused letter without a word', of('letter/refused', { letter: '1' }), 'reason must be a string'],
    ['an adapter without a version', of('request/end', { dispatch: 1, outcome: 'ok', adapter: { name: 'a' } }), 'version must be a string'],
    ['a first piece at no time', of('request/end', { dispatch: 1, outcome: 'ok', firstChunk: 'soon' }), 'firstChunk must be a number'],
    ['a response whose model is a number', of('request/end', { dispatch: 1, outcome: 'ok', response: { model: 1 } }), 'model must be a string'],
    ['reasoning that is no number', of('request/end', { dispatch: 1, outcome: 'ok', usage: { input: 1, cached: 0, written: 0, output: 1, reasoning: '1' } }), 'reasoning must be a number'],
    ['a timing that is a number', of('step/end', { turn: 1, step: 1, reason: 'done', digest: 'x', timing: 5 }), 'timing must be an object'],
    ['a call in a user message', context({ role: 'user', content: [call('1')] }), '"tool-call"'],
    ['an image in an assistant message', of('assistant/message', { dispatch: 1, message: { role: 'assistant', content: [{ type: 'image', digest: 'x' }] } }), '"image"'],
    ['a call without arguments', of('assistant/message', { dispatch: 1, message: { role: 'assistant', content: [{ type: 'tool-call', id: '1', name: 'n' }] } }), 'arguments must be a string'],
    ['a result of two blocks', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: { role: 'tool', content: [...result('1', 'x').content, ...result('1', 'x').content] } }), 'must be one tool-result block'],
    ['a result of text', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: { role: 'tool', content: [{ type: 'text', text: 'x' }] } }), '"text", which a tool message cannot have'],
    ['a result within a result', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: { role: 'tool', content: [{ ...result('1', 'x').content[0], content: result('2', 'y').content }] } }), '"tool-result"'],
    ['a context of a result without an owner', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: result('1', 'x'), additionalContext: [{ message: system('x') }] }), 'owner must be a string'],
    ['a call at a broken place', of('tool/start', { assistant: 1, index: -1 }), 'index must be a whole number'],
    ['a seed of text', of('session/open', { ...FORMAT, id: 'x', seed: ['x'] }), 'seed must be an object'],
    ['a turn that settles nothing', of('turn/end', { turn: 1, reason: 'done' }), 'settled must be a number'],
    ['an answer that is no answer', of('request/end', { dispatch: 1, outcome: 'ok', answer: user('x') }), 'answer.role must be assistant'],
    ['a side message without an owner', of('request/dispatch', { boundary: 1, history: 'x', digest: 'y', purpose: 'p', messages: [{ message: user('x') }] }), 'owner must be a string'],
    ['a side request for nothing that has a name', of('request/dispatch', { boundary: 1, history: 'x', digest: 'y', purpose: null }), 'purpose must be a string'],
    ['a side request with a config of text', of('request/dispatch', { boundary: 1, history: 'x', digest: 'y', purpose: 'p', config: 'xy' }), 'config must be an object'],
    ['a side request with tools of its own', of('request/dispatch', { boundary: 1, history: 'x', digest: 'y', purpose: 'p', tools: [] }), 'tools must be "none" or absent'],
    ['a dispatch of a turn without a number', of('request/dispatch', { boundary: 1, history: 'x', digest: 'y', turn: {}, step: 1, attempt: 1 }), 'turn must be a whole number'],
    ['a replacement by nobody', of('surface/replace', { first: '1', last: '1', messages: [], reason: 'r' }), 'owner must be a string'],
    ['a withdrawal without a word', of('prompt/withdrawn', { prompt: 1, reason: {} }), 'reason must be a string'],
    ['half a character in a text', of('user/message', { prompt: 1, owner: 'user', message: { role: 'user', content: [{ type: 'text', text: 'cut \ud83d' }] } }), 'has a lone surrogate'],
    ['half a character in a key, in what nobody else checks', { ...good, type: 'x/y', data: { a: [{ '\ude00': 1 }] } }, 'has a lone surrogate'],
    ['half a character in a type', { seq: 1, time: 0, type: '\ud800', data: {} }, 'has a lone surrogate'],
    ['what is nested so deeply that a stack ends', { ...good, type: 'x/y', data: { a: JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown } }, 'is nested deeper than'],
    ['a replacement without messages', of('surface/replace', { first: '1', last: '1', owner: 'x/y', reason: 'r' }), 'messages must be a list'],
    ['a header without a model', header({ config: {} }), 'model must be a string'],
    ['a header whose model names no provider', header({ config: { model: 'm' } }), 'config.model must be provider/name'],
    ['a header whose model is a provider alone', header({ config: { model: 'p/' } }), 'config.model must be provider/name'],
    ['a header without owners', of('request/header', { reason: 'initial', header: HEADER }), 'owners must be an object'],
    ['a system that is a number', header({ system: 7 }), 'system must be an object'],
    ['tools without parameters', header({ tools: [{ name: 'n', description: 'd' }] }), 'parameters must be an object'],
    ['tools that are text', header({ tools: 'x' }), 'tools must be an object'],
    ['a prefix that is text', header({ prefix: 'x' }), 'prefix must be an object'],
    ['a reference to a broken place', header({ prefix: { in: -1 } }), 'in must be a whole number'],
    ['a message in before that is none', header({ before: [{ role: 'user' }] }), 'content must be a list'],
    ['a system delta before the first line', delta({ system: { head: -1, tail: 0, lines: [] } }), 'head must be a whole number'],
    ['a system delta of numbers', delta({ system: { head: 0, tail: 0, lines: [1] } }), 'system.lines'],
    ['a tools delta that is a list', delta({ tools: [{ name: 'x' }] }), 'tools must be an object'],
    ['a tools delta that removes numbers', delta({ tools: { remove: [1] } }), 'tools.remove'],
    ['an after that is true', delta({ after: true }), 'after must be an object'],
    ['owners of before that are keyed', delta({ owners: { before: { a: 'x' } } }), 'before must be a list'],
    ['owners of tools that are numbers', delta({ owners: { tools: { a: 1 } } }), 'owners.tools must be names'],
    ['owners that a whole header takes away', of('request/header', { reason: 'initial', header: HEADER, owners: { config: { model: null } } }), 'owners.config must be names'],
    ['a usage that lacks a number', of('request/end', { dispatch: 3, outcome: 'ok', usage: { input: 1, cached: 0, written: 0 } }), 'output must be a number'],
    ['a folder that is a number', of('session/open', { ...FORMAT, id: 'demo', cwd: 5 }), 'cwd must be a string'],
    ['a section without a length', delta({ owners: { system: [{ owner: 'x' }] } }), 'length must be a whole number'],
  ])('refuses %s, and names the field', (_name, event, problem) => {
    expect(() => checkEvent(event)).toThrow(LogError)
    expect(() => checkEvent(event)).toThrow(problem)
  })

  it('refuses any field of the wrong kind, or passes what only a plugin can judge; it never crashes', () => {
    for (const event of everyKind().parsed) {
      for (const key of Object.keys(event.data)) {
        for (const shape of [null, undefined, 0, -1, '', 'x', [], {}, [null], [[]], [{}], true]) {
          try {
            checkEvent({ ...event, data: { ...event.data, [key]: shape } })
          } catch (error) {
            expect(error).toBeInstanceOf(LogError)
            expect((error as LogError).seq).toBe(event.seq)
          }
        }
      }
    }
  })

  it('keeps what it does not know: a type, fields of an event and of its data, fields of blocks, configs and tools', () => {
    const values = [
      { seq: 1, time: 0, type: 'clock/tick', data: { any: ['thing'] } },
      { ...good, extra: 1, data: { ...good.data, more: { deep: [null] } } },
      JSON.parse('{"seq":3,"time":0,"type":"x/y","data":{},"__proto__":{"type":"step/start"}}'),
      context({ role: 'user', content: [{ type: 'text', text: 'x', tone: 'low' }], mood: 1 }),
      header({ config: { model: 'p/m', seed: 1 }, tools: [{ name: 'n', description: 'd', parameters: {}, strict: true }], footer: 'f' }),
      of('session/open', { ...FORMAT, id: 'x', tools: { groups: ['a'] }, colour: 'red' }),
    ]
    for (const value of values) {
      const text = JSON.stringify(value)
      expect(checkEvent(value)).toBe(value)
      expect(JSON.stringify(value)).toBe(text)
    }
  })

  const NEWER = /made by a newer headrace/
  it.each([
    ['a type', { seq: 1, time: 0, type: 'clock/tick', data: {}, required: true }, '"clock/tick"', 1],
    ['a type that every object has', { seq: 1, time: 0, type: 'constructor', data: {}, required: true }, '"constructor"', 1],
    ['a field of an event', { ...good, required: true, span: 1 }, '"span"', 3],
    ['a field of known data', { ...good, required: true, data: { ...good.data, until: 1 } }, 'data.until', 3],
    ['a field of a rewind, which is always required', { ...of('surface/rewind', { turn: 1, owner: 'app', reason: 'r', part: 1 }) as object, required: true }, 'data.part', 3],
    ['a block', context({ role: 'user', content: [{ type: 'video' }] }), '"video"', 3],
    ['a block in a result', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: { role: 'tool', content: [{ ...result('1', 'x').content[0], content: [{ type: 'table' }] }] } }), '"table"', 3],
    ['a role', context({ role: 'developer', content: [] }), '"developer"', 3],
    ['a hash', of('session/open', { ...FORMAT, digest: 'blake3', id: 'x' }), '"blake3"', 3],
  ])('says of %s that is required and unknown that the log was made by a newer headrace', (_, value, what, seq) => {
    const error = expect.objectContaining({ code: 'LOG_UNKNOWN_REQUIRED', seq, message: expect.stringMatching(NEWER) as string }) as Error
    expect(() => checkEvent(value)).toThrow(error)
    expect(() => checkEvent(value)).toThrow(what)
  })

  it('takes an event nested as deep as the limit, counted from its own braces, and no deeper, parsed or made of copies; it names the place', () => {
    const nested = (depth: number): unknown => depth === 0 ? 'x' : [nested(depth - 1)]
    for (const copy of [
      (value: object) => value,
      copyJson<object>,
      (value: object) => copyJson({ part: copyJson((value as { part: object }).part) }),
    ]) {
      const at = (depth: number) =>
        checkEvent({ seq: 1, time: 0, type: 'x/y', data: copy({ part: nested(depth - 2) }) })
      expect(at(MAX_DEPTH)).toMatchObject({ type: 'x/y' })
      expect(() => at(MAX_DEPTH + 1)).toThrow('event 1: data.part.0.0.0.0.0… is nested deeper than 128 levels')
      expect(() => checkEvent({ ...good, extra: nested(MAX_DEPTH) })).toThrow('event 3: extra.0')
    }
  })

  it('passes an event that is required where all of it is known, whatever its type', () => {
    for (const event of everyKind().parsed) expect(checkEvent({ ...event, required: true })).toMatchObject({ required: true })
    expect(checkEvent({ ...good, data: { ...good.data, blobs: ['0'.repeat(64)] }, required: true })).toMatchObject({ required: true })
  })

  it.each([[0, 'never published'], [1, 'never published'], [LOG_VERSION + 1, NEWER]])('refuses version %i by name', (version, why) => {
    // As it was, or will be: without the fields of this version.
    const log = { seq: 0, time: 0, type: 'session/open', data: { version, id: 'x', seed: 'other' } }
    const error = expect.objectContaining({ code: 'LOG_VERSION', message: expect.stringMatching(`version ${version} of the format`) as string }) as Error
    expect(() => checkEvent(log)).toThrow(error)
    expect(() => checkEvent(log)).toThrow(why)
  })
})

describe('Fold', () => {
  const opened = (version: number = LOG_VERSION): SessionEvent => ({ seq: 0, time: 0, type: 'session/open', data: { ...FORMAT, version, id: 'demo' } } as SessionEvent)
  const queued = (seq: number): SessionEvent => ({ seq, time: 0, type: 'prompt/queued', data: { input: user('x'), owner: 'user' } })

  it.each([
    ['a gap', [opened(), queued(2)], 'LOG_GAP', 2],
    ['a duplicate', [opened(), queued(1), queued(1)], 'LOG_GAP', 1],
    ['a step back', [opened(), queued(1), queued(0)], 'LOG_GAP', 0],
    ['a log that begins later', [queued(1)], 'LOG_GAP', 1],
    ['a log that begins otherwise', [queued(0)], 'LOG_INVALID', 0],
    ['a second beginning', [opened(), { ...opened(), seq: 1 }], 'LOG_INVALID', 1],
    ['a future version', [opened(LOG_VERSION + 1)], 'LOG_VERSION', 0],
    ['a version before the first', [opened(0)], 'LOG_VERSION', 0],
  ])('refuses %s, with the reason and the place', (_name, events, code, seq) => {
    expect(() => Fold.of(events)).toThrow(expect.objectContaining({ code, seq }) as Error)
  })

  it('passes over events of plugins: they are never surface', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    const fold = Fold.of([...log.events, checkEvent({ seq: log.events.length, time: 0, type: 'clock/tick', data: { message: user('no message') } })])
    expect(fold.surface.length).toBe(1)
    expect(fold.length).toBe(log.events.length + 1)
  })
})
