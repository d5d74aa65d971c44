import { describe, expect, it } from 'vitest'
import { type EventType, type SessionEvent, Fold, LOG_VERSION, LogError, checkEvent } from '@headrace/session'
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
    ['a field that events do not have', { ...good, extra: 1 }, 'extra is not a field'],
    ['a field named __proto__', JSON.parse('{"seq":3,"time":0,"type":"x/y","data":{},"__proto__":{"type":"step/start"}}'), '__proto__ is not a field'],
    ['required that is not true', { ...good, required: false }, 'required must be true'],
    ['a prompt from nobody', of('prompt/queued', { input: user('x') }), 'owner must be a string'],
    ['a prompt of a system message', of('prompt/queued', { input: system('x'), owner: 'user' }), 'input.role must be user'],
    ['a context of an assistant', context(assistant('x')), 'message.role must be system or user'],
    ['a context of a role that every object has', context({ role: 'constructor', content: [] }), 'message.role'],
    ['content that is text', context({ role: 'user', content: 'x' }), 'content must be a list'],
    ['a block that is text', context({ role: 'user', content: ['x'] }), 'message.content must be an object'],
    ['a block without text', context({ role: 'user', content: [{ type: 'text' }] }), 'text must be a string'],
    ['a block of a kind that does not exist', context({ role: 'user', content: [{ type: 'video' }] }), '"video", which a user message cannot have'],
    ['a call in a user message', context({ role: 'user', content: [call('1')] }), '"tool-call"'],
    ['an image in an assistant message', of('assistant/message', { dispatch: 1, message: { role: 'assistant', content: [{ type: 'image', digest: 'x' }] } }), '"image"'],
    ['a call without arguments', of('assistant/message', { dispatch: 1, message: { role: 'assistant', content: [{ type: 'tool-call', id: '1', name: 'n' }] } }), 'arguments must be a string'],
    ['a result of two blocks', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: { role: 'tool', content: [...result('1', 'x').content, ...result('1', 'x').content] } }), 'must be one tool-result block'],
    ['a result of text', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: { role: 'tool', content: [{ type: 'text', text: 'x' }] } }), '"text", which a tool message cannot have'],
    ['a result within a result', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: { role: 'tool', content: [{ ...result('1', 'x').content[0], content: result('2', 'y').content }] } }), '"tool-result"'],
    ['a context of a result without an owner', of('tool/result', { assistant: 1, index: 0, outcome: 'done', message: result('1', 'x'), additionalContext: [{ message: system('x') }] }), 'owner must be a string'],
    ['a call at a broken place', of('tool/start', { assistant: 1, index: -1 }), 'index must be a whole number'],
    ['a seed of text', of('session/open', { version: 1, id: 'x', seed: ['x'] }), 'seed must be an object'],
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
    ['a folder that is a number', of('session/open', { version: 1, id: 'demo', cwd: 5 }), 'cwd must be a string'],
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

  it('passes over an unknown type, and refuses one that is required', () => {
    const unknown = { seq: 1, time: 0, type: 'clock/tick', data: { any: ['thing'] } }
    expect(checkEvent(unknown)).toBe(unknown)
    expect(() => checkEvent({ ...unknown, required: true })).toThrow(expect.objectContaining({ code: 'LOG_UNKNOWN_REQUIRED', seq: 1, message: expect.stringContaining('"clock/tick"') as string }) as Error)
    expect(checkEvent({ ...good, required: true })).toMatchObject({ required: true })
  })
})

describe('Fold', () => {
  const opened = (version: number = LOG_VERSION): SessionEvent => ({ seq: 0, time: 0, type: 'session/open', data: { version, id: 'demo' } })
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
