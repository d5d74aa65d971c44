import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { RunContext, RunContextError } from '@headrace/run-context'

const LISTS = ['facts', 'headSections', 'tailSections'] as const

function refusal(options?: unknown): RunContextError {
  try {
    void new RunContext(options as never)
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toBeInstanceOf(RunContextError)
    return error as RunContextError
  }
  throw new Error('nothing was refused')
}

describe('nothing', () => {
  it.each([
    ['no argument', []],
    ['undefined options', [undefined]],
    ['no option', [{}]],
    ['undefined lists', [{ facts: undefined, headSections: undefined, tailSections: undefined }]],
    ['empty lists', [{ facts: [], headSections: [], tailSections: [] }]],
    ['null-prototype options', [Object.create(null) as object]],
  ])('%s is an empty context, valid', (_name, args) => {
    const context = new RunContext(...(args as []))
    expect(context.isEmpty).toBe(true)
    expect([context.facts, context.headSections, context.tailSections, context.sections]).toEqual([[], [], [], []])
    expect([context.headMessage, context.tailMessage]).toEqual([undefined, undefined])
  })
})

describe('options', () => {
  it.each([
    ['an unknown option', { head_sections: [] }, 'head_sections'],
    ['an unknown option without a value', { facts: [], head_sections: undefined }, 'head_sections'],
    ['a symbol', { [Symbol('facts')]: [] }, 'Symbol(facts)'],
    ['another context', new RunContext().toJSON(), 'digest'],
  ])('%s is refused, naming it and the three allowed', (_name, options, argument) => {
    const error = refusal(options)
    expect(error).toMatchObject({ code: 'CONTEXT_OPTION_UNKNOWN', argument })
    expect(error.message).toContain(`${argument} is not an option`)
    expect(error.message).toContain('facts, headSections, tailSections')
  })

  it('an unknown option is refused before any list is looked at', () => {
    expect(refusal({ facts: 42, head_sections: [] }).code).toBe('CONTEXT_OPTION_UNKNOWN')
  })

  it.each([
    ['null', null, 'null'],
    ['a list', [['date', 'today']], 'an array'],
    ['a Map', new Map([['facts', []]]), 'a Map'],
    ['a string', 'facts', 'a string'],
    ['an instance of a class', new RunContext(), 'a RunContext'],
    ['options inherited', Object.create({ facts: [] }), 'a plain object'],
    ['options inherited from no class', Object.create(Object.assign(Object.create(null), { facts: [] })), 'a plain object'],
    ['a Promise', Promise.resolve({}), 'await'],
  ])('%s as options is refused, naming what it is', (_name, options, told) => {
    const error = refusal(options)
    expect(error).toMatchObject({ code: 'CONTEXT_OPTIONS_INVALID', argument: 'options' })
    expect(error.message).toContain(told)
  })

  it('options and lists of another realm are as good', () => {
    const options = runInContext('({ facts: [["date", "today"]] })', createContext()) as object
    expect(new RunContext(options).facts).toEqual([['date', 'today']])
    const map = runInContext('new Map()', createContext()) as []
    expect(refusal({ facts: map }).code).toBe('CONTEXT_LIST_INVALID')
  })
})

describe.each(LISTS)('%s', (argument) => {
  const make = (list: unknown) => new RunContext({ [argument]: list })[argument]
  const refuse = (list: unknown) => refusal({ [argument]: list })

  it.each([
    ['a plain object', { date: 'today' }, 'a plain object'],
    ['an empty plain object', {}, 'a plain object'],
    ['a Map', new Map([['date', 'today']]), 'a Map'],
    ['an empty Map', new Map(), 'a Map'],
    ['a Set', new Set([['date', 'today']]), 'a Set'],
    ['an empty Set', new Set(), 'a Set'],
    ['a subclass of Map', new (class Facts extends Map {})(), 'a Facts'],
    ['null', null, 'null'],
    ['a string', 'date', 'a string'],
    ['a String object', Object('date'), 'a String object'],
    ['a number', 42, 'a number'],
    ['a function', () => [], 'a function'],
    ['a Date', new Date(0), 'a Date'],
    ['a Promise', Promise.resolve([]), 'await'],
    ['an async generator', (async function* () {})(), 'an async iterable'],
  ])('%s as a list is refused, and shown the list form', (_name, list, told) => {
    const error = refuse(list)
    expect(error).toMatchObject({ code: 'CONTEXT_LIST_INVALID', argument })
    expect(error).not.toHaveProperty('index')
    expect(error.message).toContain(argument)
    expect(error.message).toContain(told)
    if (told !== 'await') expect(error.message).toContain(`${argument}: [['date', today], ['branch', branch]]`)
  })

  it.each([
    ['of text', ['date', 'today']],
    ['of a number', ['date', 42]],
    ['of null', ['date', null]],
    ['of a Promise', ['date', Promise.resolve('today')]],
  ])('one bare pair %s is refused, told what it is, and the fix', (_name, pair) => {
    const error = refuse(pair)
    expect(error).toMatchObject({ code: 'CONTEXT_BARE_PAIR', argument })
    expect(error.message).toContain('one bare pair')
    expect(error.message).toContain(`${argument}: [["date", …]]`)
  })

  it.each([
    ['a string', 'ab', 'a string'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object', { 0: 'a', 1: 'b', length: 2 }, 'a plain object'],
    ['an empty array', [], 'an array of 0'],
    ['a key alone', ['a'], 'an array of 1'],
    ['three elements', ['a', 'b', 'c'], 'an array of 3'],
    ['a Set of two', new Set(['a', 'b']), 'a Set'],
  ])('an entry that is %s is refused, with its index', (_name, entry, told) => {
    const error = refuse([['ok', 'ok'], ['left out', null], entry])
    expect(error).toMatchObject({ code: 'CONTEXT_ENTRY_INVALID', argument, index: 2 })
    expect(error.message).toContain(`${argument}[2] `)
    expect(error.message).toContain(told)
  })

  it('a hole, and a string before a pair, are entries that are no pairs', () => {
    expect(refuse([, ['a', 'b']])).toMatchObject({ code: 'CONTEXT_ENTRY_INVALID', index: 0 })
    expect(refuse(['date', ['branch', 'main']])).toMatchObject({ code: 'CONTEXT_ENTRY_INVALID', index: 0 })
  })

  it.each([
    ['a number', 1, 'a number'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a symbol', Symbol('a'), 'a symbol'],
    ['a String object', Object('a'), 'a String object'],
    ['empty', '', 'blank'],
    ['spaces', ' \t\n', 'blank'],
    ['U+0085, which trim() leaves', '\u0085', 'blank'],
  ])('a key that is %s is refused, before its value is looked at', (_name, key, told) => {
    for (const value of ['text', null, 42]) {
      const error = refuse([['ok', 'ok'], [key, value]])
      expect(error).toMatchObject({ code: 'CONTEXT_KEY_INVALID', argument, index: 1 })
      expect(error.message).toContain(told)
    }
  })

  it('keys are kept as given: not trimmed, and they may repeat', () => {
    const pairs = [[' date \n', 'a'], ['__proto__', 'b'], [' date \n', 'c'], ['\uFEFF', 'd'], ['2', 'e'], ['1', 'f']]
    expect(make(pairs)).toEqual(pairs)
  })

  it.each([undefined, null])('a value %s drops its entry, silently', (value) => {
    expect(make([['a', value], ['b', 'b'], ['c', value]])).toEqual([['b', 'b']])
    expect(make([['a', value]])).toEqual([])
  })

  it.each([
    ['a number', 42, 'a number'],
    ['NaN', Number.NaN, 'a number'],
    ['a bigint', 1n, 'a bigint'],
    ['a boolean', false, 'a boolean'],
    ['a symbol', Symbol('a'), 'a symbol'],
    ['a Date', new Date(0), 'a Date'],
    ['an array', ['a'], 'an array'],
    ['an object', {}, 'a plain object'],
    ['a null-prototype object', Object.create(null), 'a plain object'],
    ['an object that throws when read', new Proxy({}, { get: () => { throw new Error('no') } }), 'a plain object'],
    ['an error', new Error('a'), 'an Error'],
    ['a String object', Object('a'), 'a String object'],
    ['a function', () => 'a', 'a function'],
    ['a Promise', Promise.resolve('a'), 'await'],
    ['a thenable', { then: () => undefined }, 'await'],
  ])('a value that is %s is refused, with index, key and type', (_name, value, told) => {
    const error = refuse([['ok', 'ok'], ['date', value]])
    expect(error).toMatchObject({ code: 'CONTEXT_VALUE_INVALID', argument, index: 1, key: 'date' })
    expect(error.message).toContain(`${argument}[1] ("date")`)
    expect(error.message).toContain(told)
  })

  it('a string with a lone surrogate is refused, as a key and as a value', () => {
    expect(refuse([['date', 'a\uD83D']])).toMatchObject({ code: 'CONTEXT_NOT_WELL_FORMED', argument, index: 0, key: 'date' })
    const error = refuse([['a\uDE00', 42]])
    expect(error).toMatchObject({ code: 'CONTEXT_NOT_WELL_FORMED', argument, index: 0 })
    expect(error.message.isWellFormed()).toBe(true)
    expect(make([['a\uD83D\uDE00', '\uD83D\uDE00']])).toEqual([['a😀', '😀']])
  })

  it('a value loses its trailing White_Space once, and nothing else', () => {
    expect(make([['a', ' \u0085\r\n e\u0301 \r\n\n x \t\u0085\u3000\n']])).toEqual([['a', ' \u0085\r\n e\u0301 \r\n\n x']])
    expect(make([['a', 'x \uFEFF']])).toEqual([['a', 'x \uFEFF']])
  })

  it('any iterable is a list, and is read once', () => {
    let runs = 0
    const list = { *[Symbol.iterator]() { runs++; yield ['a', 'b']; yield ['c', undefined] } }
    expect(make(list)).toEqual([['a', 'b']])
    expect(runs).toBe(1)
    expect(make(Object.entries({ a: 'b' }).values())).toEqual([['a', 'b']])
  })

  it('a refused entry closes the iterable it came from', () => {
    let closed = false
    const list = (function* () { try { yield 'no pair'; yield 'never' } finally { closed = true } })()
    expect(refuse(list).index).toBe(0)
    expect(closed).toBe(true)
  })
})

it('lists are validated in the order facts, headSections, tailSections, entries in theirs, and the first failure wins', () => {
  const bad = [['a', 'a'], ['b', 1], [2, 'c']]
  expect(refusal({ tailSections: bad, headSections: bad, facts: bad })).toMatchObject({ argument: 'facts', index: 1, code: 'CONTEXT_VALUE_INVALID' })
  expect(refusal({ tailSections: new Map(), headSections: bad, facts: [] })).toMatchObject({ argument: 'headSections', index: 1 })
  expect(refusal({ tailSections: bad, headSections: [], facts: [] })).toMatchObject({ argument: 'tailSections', index: 1 })
})

it('an error tells types and places, never values', () => {
  const error = refusal({ facts: [['token', ['sk-secret']]] })
  expect(error.message).not.toContain('sk-secret')
})
