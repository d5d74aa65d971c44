import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonError, MAX_DEPTH, adoptJson, copyJson, copyList, defined, isOurs, sameJson } from '@headrace/message'

const LONE = '\uD83D'

function isDeepFrozen(value: unknown): boolean {
  return typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))
}

function nested(depth: number): unknown {
  let value: unknown = 'x'
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value }
  return value
}

function cycle(): unknown {
  const value: Record<string, unknown> = { a: { b: [] } }
  ;(value.a as { b: unknown[] }).b.push(value)
  return value
}

function sparse(): unknown[] {
  const list: unknown[] = [1]
  list[2] = 3
  return list
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

class Point { x = 1 }
class List extends Array<number> {}

describe('copyJson', () => {
  it('gives back any JSON value as JSON.parse would, deep-frozen, and shares nothing with the source', () => {
    fc.assert(fc.property(fc.jsonValue(), (source) => {
      const plain = JSON.parse(JSON.stringify(source)) as unknown
      const copy = copyJson(plain)
      expect(JSON.stringify(copy)).toBe(JSON.stringify(plain))
      expect(isDeepFrozen(copy)).toBe(true)
      if (typeof plain === 'object' && plain !== null) {
        expect(copy).not.toBe(plain)
        expect(Object.isFrozen(plain)).toBe(false)
      }
    }))
  })

  it.each([
    ['undefined', { a: undefined }, '$.a', 'is undefined'],
    ['undefined in a list', [1, undefined], '$[1]', 'is undefined'],
    ['NaN', { a: [{ b: NaN }] }, '$.a[0].b', 'is NaN'],
    ['Infinity', [-Infinity], '$[0]', 'is -Infinity'],
    ['-0', { 'a-b': -0 }, '$["a-b"]', 'is -0'],
    ['a bigint', { a: 1n }, '$.a', 'is a bigint'],
    ['a symbol', { a: Symbol('s') }, '$.a', 'is a symbol'],
    ['a function', { a: () => 1 }, '$.a', 'is a function'],
    ['a toJSON method', { a: { toJSON: () => 1 } }, '$.a.toJSON', 'is a function'],
    ['a symbol as a key', { a: { [Symbol('s')]: 1 } }, '$.a', 'Symbol(s)'],
    ['a lone surrogate', { a: [`x${LONE}`] }, '$.a[0]', 'lone surrogate'],
    ['a key with a lone surrogate', { a: { [LONE]: 1 } }, '$.a', 'key with a lone surrogate'],
    ['a cycle', cycle(), '$.a.b[0]', 'is a cycle'],
    ['a getter', { a: { get b() { return 1 } } }, '$.a.b', 'is an accessor'],
    ['a property that is not enumerable', Object.defineProperty({}, 'a', { value: 1 }), '$.a', 'not enumerable'],
    ['a class instance', { a: new Point() }, '$.a', 'instance of a class'],
    ['a Date', { a: new Date(0) }, '$.a', 'instance of a class'],
    ['a Map', new Map(), '$', 'instance of a class'],
    ['a boxed string', [new String('x')], '$[0]', 'instance of a class'],
    ['a Uint8Array', new Uint8Array(1), '$', 'instance of a class'],
    ['a Promise', { a: Promise.resolve(1) }, '$.a', 'instance of a class'],
    ['an array of a class', { a: new List() }, '$.a', 'instance of a class'],
    ['a hole', { a: sparse() }, '$.a', 'sparse'],
    ['holes at the end', { a: new Array<number>(2) }, '$.a', 'sparse'],
    ['a hole beside a named property', Object.assign(sparse(), { named: 1 }), '$[1]', 'is missing'],
    ['a named property of an array', Object.assign([1], { named: 1 }), '$', 'named properties'],
    ['arguments', (function (..._: number[]) { return arguments as unknown })(1), '$', ''],
    ['a proxy that was revoked', { a: revoked() }, '$.a', 'cannot be read'],
    ['a proxy whose trap throws', { a: new Proxy({}, { ownKeys() { throw new Error('no\nentry') } }) }, '$.a', 'no entry'],
  ])('refuses %s, with its path', (_name, value, path, problem) => {
    const error = (() => {
      try {
        return copyJson(value)
      } catch (thrown) {
        return thrown
      }
    })()
    expect(error).toBeInstanceOf(JsonError)
    expect(error).toMatchObject({ code: 'JSON_LOSSY', name: 'JsonError' })
    if (_name !== 'arguments') expect((error as JsonError).path).toBe(path)
    expect((error as JsonError).message).toContain(problem)
  })

  it('calls the value in an error what the caller calls it', () => {
    expect(() => copyJson({ a: NaN }, 'prompt.input')).toThrow('prompt.input.a is NaN')
  })

  it('copies what a proxy shows at one look, and no object that it calls a length', () => {
    let looks = 0
    const changing = new Proxy(
      { a: 1 },
      { getOwnPropertyDescriptor: () => ({ value: ++looks, enumerable: true, configurable: true, writable: true }) },
    )
    expect(copyJson(changing)).toEqual({ a: 1 })
    const smuggler = { valueOf: () => 0, secret: [] }
    const lying = new Proxy([], { get: (target, key) => (key === 'length' ? smuggler : Reflect.get(target, key) as unknown) })
    expect(() => copyJson(lying)).toThrow(JsonError)
  })

  it('keeps __proto__ as a key of its own, and sets no prototype', () => {
    const copy = copyJson(JSON.parse('{"__proto__":{"a":1},"constructor":2}') as object)
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":1},"constructor":2}')
  })

  it('keeps keys as their author gave them', () => {
    expect(JSON.stringify(copyJson({ z: 1, a: { y: 1, b: 2 } }))).toBe('{"z":1,"a":{"y":1,"b":2}}')
  })

  it('takes objects without a prototype, and objects and arrays of another realm', () => {
    expect(copyJson(Object.assign(Object.create(null) as object, { a: 1 }))).toEqual({ a: 1 })
    const foreign: unknown = runInNewContext('({ a: [1, { b: 2 }], c: null })')
    const copy = copyJson(foreign) as { a: unknown[] }
    expect(JSON.stringify(copy)).toBe('{"a":[1,{"b":2}],"c":null}')
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(copy.a)).toBe(Array.prototype)
    expect(() => copyJson(runInNewContext('new Date(0)'))).toThrow('instance of a class')
    expect(() => copyJson(runInNewContext('new (class extends Array {})()'))).toThrow('instance of a class')
  })

  it('takes what is frozen only outside for what it is: changeable', () => {
    const inner = { text: 'as it was' }
    const source = Object.freeze({ inner })
    const copy = copyJson(source)
    inner.text = 'changed'
    expect(copy).toEqual({ inner: { text: 'as it was' } })
    expect(copy).not.toBe(source)
  })

  it('nests as deep as the limit and no deeper', () => {
    expect(copyJson(nested(MAX_DEPTH))).toEqual(nested(MAX_DEPTH))
    expect(() => copyJson(nested(MAX_DEPTH + 1))).toThrow(`nested deeper than ${MAX_DEPTH}`)
    // Made of what was copied before.
    for (const part of [copyJson(nested(100)), adoptJson(nested(100))]) {
      expect(copyJson(Array.from({ length: 28 }).reduce<unknown>((value) => copyJson([value]), part))).toEqual(
        Array.from({ length: 28 }).reduce<unknown>((value) => [value], nested(100)),
      )
      expect(() => Array.from({ length: 29 }).reduce<unknown>((value) => copyJson([value]), part)).toThrow(`nested deeper than ${MAX_DEPTH}`)
    }
    expect(() => copyJson(nested(100_000))).toThrow(JsonError)
  })

  it('takes the same object in two places, which is no cycle', () => {
    const shared = { a: 1 }
    expect(copyJson([shared, shared])).toEqual([{ a: 1 }, { a: 1 }])
  })

  it('gives back what is ours without a walk, also inside something new', () => {
    const mine = copyJson({ a: { b: 1 } })
    expect(isOurs(mine)).toBe(true)
    expect(copyJson(mine)).toBe(mine)
    expect(copyJson({ mine }).mine).toBe(mine)
    expect(isOurs(Object.freeze({ a: 1 }))).toBe(false)
    expect(isOurs('text')).toBe(false)
  })

  it('makes a copy that throws in the frame that changes it', () => {
    const copy = copyJson({ list: [{ a: 1 }] })
    expect(() => { (copy.list[0] as { a: number }).a = 2 }).toThrow(TypeError)
    expect(() => copy.list.push({ a: 3 })).toThrow(TypeError)
  })
})

describe('copyList', () => {
  it('makes each item ours by itself, and names the place of one that cannot be', () => {
    const list = copyList([{ a: 1 }, { a: 2 }])
    expect(list.every(isOurs)).toBe(true)
    expect(isOurs(list)).toBe(true)
    expect(copyList(list)).toBe(list)
    expect(() => copyList([{ a: 1 }, { a: NaN }], 'before')).toThrow('before[1].a is NaN')
  })
})

describe('adoptJson', () => {
  it('freezes all of what only we hold, in place', () => {
    const value = JSON.parse('{"a":[{"b":1}],"__proto__":{"c":[]}}') as object
    expect(adoptJson(value)).toBe(value)
    expect(isDeepFrozen(value)).toBe(true)
    expect(isOurs(value)).toBe(true)
    expect(adoptJson('text')).toBe('text')
    expect(adoptJson(null)).toBe(null)
  })
})

describe('sameJson', () => {
  it('looks at the text, the order of keys included', () => {
    expect(sameJson({ a: 1, b: 2 }, { a: 1, b: 2 })).toBe(true)
    expect(sameJson({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(false)
    expect(sameJson(undefined, [])).toBe(false)
  })
})

describe('defined', () => {
  it('drops what is undefined, and only that', () => {
    expect(defined({ a: undefined, b: null, c: 0, d: '', e: [] })).toEqual({ b: null, c: 0, d: '', e: [] })
    expect(Object.hasOwn(defined({ a: undefined }), 'a')).toBe(false)
    expect(JSON.stringify(defined(JSON.parse('{"__proto__":1}') as object))).toBe('{"__proto__":1}')
  })
})
