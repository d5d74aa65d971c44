import { describe, expect, it } from 'vitest'
import { CONFIG_FIELDS, ConfigError, JsonError, NO_USAGE, addUsage, isOurs, resolveModel, splitModel, toConfig, toConfigPatch } from '@headrace/message'

describe('toConfig', () => {
  it('gives one order of fields, whatever the order they came in', () => {
    const config = toConfig({ stop: ['END'], model: 'p/m', temperature: 0, providerOptions: { z: 1, a: 2 }, maxOutputTokens: 5, reasoningEffort: 'low', output: { type: 'object' }, topP: 0.5 })
    expect(Object.keys(config)).toEqual(CONFIG_FIELDS)
    expect(JSON.stringify(config.providerOptions)).toBe('{"z":1,"a":2}')
    expect(isOurs(config)).toBe(true)
  })

  it('needs a model, and says how to name one', () => {
    expect(() => toConfig({ temperature: 0 })).toThrow('config has no model; name one, e.g. model: "deepseek/deepseek-flash"')
  })

  it('gives a model without a slash the provider of what it replaces, and refuses one that replaces nothing', () => {
    expect(toConfig({ model: 'n' }, 'config', 'p/m')).toEqual({ model: 'p/n' })
    expect(toConfig({ model: 'q/n' }, 'config', 'p/m')).toEqual({ model: 'q/n' })
    expect(() => toConfig({ model: 'n' })).toThrow('config.model "n" names no provider, and replaces no model that has one; write provider/name')
  })
})

describe('toConfigPatch', () => {
  it('leaves out what is undefined, so that absent has one spelling (L10)', () => {
    expect(Object.keys(toConfigPatch({ temperature: undefined, model: 'm' }))).toEqual(['model'])
    expect(toConfigPatch({})).toEqual({})
  })

  it.each([
    [{ modle: 'm' }, 'unknown field "modle"; it may have model, temperature'],
    [JSON.parse('{"__proto__":1}'), 'unknown field "__proto__"'],
    [{ model: '' }, 'config.model must be a name such as "deepseek/deepseek-flash"'],
    [{ model: '/m' }, 'config.model must be a name'],
    [{ model: 'p/' }, 'config.model must be a name'],
    [{ model: 3 }, 'config.model must be a name'],
    [{ provider: 'p', model: 'm' }, 'config has no field "provider": it stands in front of the model'],
    [{ temperature: NaN }, 'config.temperature must be a finite number'],
    [{ topP: '1' }, 'config.topP'],
    [{ maxOutputTokens: 0 }, 'config.maxOutputTokens must be a positive integer'],
    [{ maxOutputTokens: 1.5 }, 'config.maxOutputTokens'],
    [{ stop: 'END' }, 'config.stop must be a list'],
    [{ stop: [''] }, 'config.stop'],
    [{ reasoningEffort: null }, 'config.reasoningEffort'],
    [{ providerOptions: [] }, 'config.providerOptions must be an object'],
    [{ providerOptions: null }, 'config.providerOptions'],
    [null, 'config must be an object'],
    [[], 'config must be an object'],
    ['m', 'config must be an object'],
  ])('refuses %j', (input, problem) => {
    expect(() => toConfigPatch(input)).toThrow(ConfigError)
    expect(() => toConfigPatch(input)).toThrow(problem)
  })

  it('refuses what is not JSON, with its path', () => {
    expect(() => toConfigPatch({ providerOptions: { now: new Date(0) } })).toThrow(JsonError)
    expect(() => toConfigPatch({ providerOptions: { now: new Date(0) } })).toThrow('config.providerOptions.now')
  })

  it('copies, and judges the copy', () => {
    const stop = ['END']
    const patch = toConfigPatch({ stop })
    stop[0] = 'CHANGED'
    expect(patch.stop).toEqual(['END'])
    const twoFaced = new Proxy(['END'], { getOwnPropertyDescriptor: (target, key) => ({ ...Reflect.getOwnPropertyDescriptor(target, key)!, ...(key === '0' && { value: 7 }) }) })
    expect(twoFaced[0]).toBe('END')
    expect(() => toConfigPatch({ stop: twoFaced })).toThrow(ConfigError)
  })
})

describe('splitModel', () => {
  it('splits at the first slash', () => {
    expect(splitModel('deepseek/deepseek-flash')).toEqual({ provider: 'deepseek', model: 'deepseek-flash' })
    expect(splitModel('openrouter/meta/llama')).toEqual({ provider: 'openrouter', model: 'meta/llama' })
    expect(splitModel('m')).toEqual({ provider: '', model: 'm' })
  })
})

describe('resolveModel', () => {
  it('leaves a patch alone that has a whole model, or none', () => {
    for (const patch of [{ model: 'p/m' }, { temperature: 0 }]) expect(resolveModel(patch, 'q/n')).toBe(patch)
  })

  it('keeps the provider of what it replaces, and the other fields', () => {
    expect(resolveModel({ model: 'n', topP: 1 }, 'openrouter/meta/llama')).toEqual({ model: 'openrouter/n', topP: 1 })
    expect(() => resolveModel({ model: 'n' }, 'm')).toThrow(ConfigError)
  })
})

describe('addUsage', () => {
  it('adds each count', () => {
    const sum = addUsage({ input: 1, cached: 2, written: 3, output: 4 }, { input: 10, cached: 20, written: 30, output: 40 })
    expect(sum).toEqual({ input: 11, cached: 22, written: 33, output: 44 })
    expect(addUsage(NO_USAGE, NO_USAGE)).toEqual(NO_USAGE)
    expect(addUsage(NO_USAGE, { ...NO_USAGE, reasoning: 5 })).toEqual({ ...NO_USAGE, reasoning: 5 })
  })
})
