import { Context, type Plugin } from 'cordis'
import { describe, expect, it } from 'vitest'
import z from 'schemastery'
import { problemsOf, strict } from '../src/index.ts'

const Inner = z.object({ deep: z.natural().min(1).default(3), list: z.array(z.object({ word: z.string() })) })
const Schema = z.object({
  size: z.natural().min(1).max(10).default(5),
  fast: z.boolean(),
  mode: z.union(['a', 'b'] as const),
  inner: Inner,
  named: z.dict(Inner),
  part: z.union([z.const(false), Inner]),
  parts: z.union([z.const(false), z.dict(Inner)]),
})

const told = (config: unknown) => problemsOf(Schema, config).map(({ path, message }) => [path.join('.'), message])

describe('what is wrong with a config', () => {
  it('is each key that the schema does not know, at any depth, with what is near', () => {
    const near = (key: string) => `there is no such key; did you mean ${JSON.stringify(key)}?; there is deep, list`
    expect(told({ sizes: 1 })).toEqual([['sizes', 'there is no such key; did you mean "size"?; there is size, fast, mode, inner, named, part, parts']])
    expect(told({ inner: { deeep: 1 } })).toEqual([['inner.deeep', near('deep')]])
    expect(told({ named: { one: { dep: 1 }, two: {} } })).toEqual([['named.one.dep', near('deep')]])
    expect(told({ part: { lst: [] } })).toEqual([['part.lst', near('list')]])
    expect(told({ parts: { one: { lists: [] } } })).toEqual([['parts.one.lists', near('list')]])
    expect(told({ inner: { list: [{ word: 'a' }, { wrd: 'b' }] } })).toEqual([['inner.list.1.wrd', 'there is no such key; did you mean "word"?; there is word']])
    expect(told({ constructor: 1, __proto__: null })).toMatchObject([['constructor', expect.stringContaining('there is no such key') as string]])
  })

  it('is a value that does not fit, where it stands, without the value', () => {
    expect(told({ size: 'secret' })).toEqual([['size', 'must be a whole number from 1 to 10, is a text']])
    expect(told({ size: 11 })).toEqual([['size', 'must be a whole number from 1 to 10, is a number']])
    expect(told({ fast: 'yes' })).toEqual([['fast', 'must be true or false, is a text; in YAML 1.2 yes, no, on and off are texts']])
    expect(told({ mode: 'secret' })).toEqual([['mode', 'must be "a" or "b", is a text']])
    expect(told({ part: { deep: 'secret' } })).toEqual([['part.deep', 'must be a whole number of at least 1, is a text']])
    expect(told({ parts: { one: { list: [{ word: 7 }] } } })).toEqual([['parts.one.list.0.word', 'must be a text, is a number']])
    expect(told({ part: true })).toEqual([['part', 'must be false or a map, is true or false']])
    expect(told('secret')).toEqual([['', 'must be a map, is a text']])
  })

  it('is nothing where all fits, where nothing is given, and where there is no schema', () => {
    const frozen = Object.freeze({ named: Object.freeze({ one: Object.freeze({}) }) })
    for (const config of [undefined, {}, { size: 1, part: false }, { part: { deep: 2 } }, frozen]) expect(told(config)).toEqual([])
    expect(problemsOf(undefined, { any: 1 })).toEqual([])
    const other = { '~standard': { validate: () => ({ issues: [{ path: ['a'], expected: 'string' }] }) } }
    expect(problemsOf(other, { a: 1 })).toEqual([{ path: ['a'], message: 'must be a text, is a number' }])
  })
})

describe('a strict schema', () => {
  const seen: unknown[] = []
  const plugin = {
    name: 'strict',
    Config: strict(z.object({ size: z.natural().default(5), inner: Inner, any: z.any() })),
    apply: async (_: Context, config: unknown) => void seen.push(config),
  } as unknown as Plugin
  const load = (config: unknown) => (new Context().plugin as (plugin: Plugin, config: unknown) => PromiseLike<unknown>)(plugin, config)

  it('refuses in code what it refuses in YAML, when the plugin is loaded', async () => {
    await expect(load({ sizes: 1 })).rejects.toThrow('config.sizes: there is no such key; did you mean "size"?')
    await expect(load({ inner: { deep: 0 } })).rejects.toThrow('config.inner.deep: must be a whole number of at least 1, is a number')
    await expect(load({ inner: { deep: 'secret' } })).rejects.not.toThrow('secret')
    expect(seen).toEqual([])
  })

  it('refuses it when the plugin is updated, which runs on with what it had', async () => {
    const ctx = new Context()
    type Load = (plugin: Plugin, config: unknown) => PromiseLike<{ update(config: unknown): unknown; readonly config: unknown }>
    const fiber = await (ctx.plugin as Load)(plugin, { size: 2 })
    expect(() => fiber.update({ sise: 3 })).toThrow('config.sise: there is no such key')
    expect(fiber.config).toMatchObject({ size: 2 })
  })

  it('gives what the schema makes of it, defaults too, and changes nothing that it was given; what has methods is the same object', async () => {
    class Model { readonly id = 'm' }
    const model = new Model()
    const plain = { id: 'p', run: () => 'ran' }
    const config = Object.freeze({ inner: Object.freeze({ deep: 7 }), any: Object.freeze({ model, plain }) })
    await load(config)
    expect(seen.at(-1)).toEqual({ size: 5, inner: { deep: 7, list: [] }, any: { model, plain } })
    const { any } = seen.at(-1) as { any: { model: unknown; plain: unknown } }
    expect([any.model === model, any.plain === plain]).toEqual([true, true])
  })
})
