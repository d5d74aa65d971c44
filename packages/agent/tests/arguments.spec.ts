import { describe, expect, it } from 'vitest'
import { toParameters } from '../src/turn/parameters.ts'

const problem = (properties: object, input: object, rest: object = {}): string => {
  try {
    toParameters('t', { type: 'object', properties, ...rest } as never).parse(input)
  } catch (error) {
    return (error as Error).message
  }
  return 'none'
}

describe('an argument that does not fit', () => {
  it.each([
    ['the values of an enum', { wake: { enum: ['end', 'output'] } }, { wake: 'both' }, 'wake must be one of: end, output'],
    ['values that are no words as JSON', { a: { enum: ['', 'a, b', 'null', '1', null, 1, true, { b: 1 }] } }, { a: 'x' },
      'a must be one of: "", "a, b", "null", "1", null, 1, true, {"b":1}'],
    ['the values of an enum in a list', { a: { type: 'array', items: { enum: ['x', 'y'] } } }, { a: ['x', 'z'] }, 'a.1 must be one of: x, y'],
    ['a constant', { a: { const: 'on' } }, { a: 'off' }, 'a must be on'],
    ['the constants of an anyOf', { a: { anyOf: [{ const: 'on' }, { const: 'off' }] } }, { a: 'x' }, 'a must be on; a must be off; a must match a schema in anyOf'],
    ['a constant that is null', { a: { const: null } }, { a: 0 }, 'a must be null'],
    ['at most fifty of many values', { a: { enum: Array.from({ length: 60 }, (_, i) => `v${i}`) } }, { a: 'x' },
      `a must be one of: ${Array.from({ length: 50 }, (_, i) => `v${i}`).join(', ')}, and 10 more`],
  ])('names %s', (_, properties, input, expected) => {
    expect(problem(properties, input)).toBe(expected)
  })

  it.each([['additionalProperties', false], ['unevaluatedProperties', false], ['propertyNames', { maxLength: 1 }]])('names the property that %s refuses', (keyword, value) => {
    expect(problem({}, { extra: 1 }, { [keyword]: value })).toContain('(extra)')
  })

  it('names the type, and what is missing', () => {
    expect(problem({ a: { type: 'number' } }, { a: 'x' }, { required: ['b'] })).toBe(`it must have required property 'b'; a must be number`)
  })
})

describe('a schema that takes long for a value', () => {
  it.each([
    ['a pattern that backtracks', { a: { type: 'string', pattern: '^(a+)+$' } }, { a: `${'a'.repeat(60)}!` }],
    ['all pairs', { a: { type: 'array', uniqueItems: true } }, { a: Array.from({ length: 30_000 }, (_, index) => ({ b: index })) }],
  ])('is an error of that call: %s', (_, properties, input) => {
    expect(problem(properties, input)).toBe('it could not be checked: its schema takes too long for this value')
    expect(problem(properties, { a: typeof input.a === 'string' ? 'aaa' : [1, 2] })).toBe('none')
  })
})
