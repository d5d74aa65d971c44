import { describe, expect, it } from 'vitest'
import { CONFIG_FIELDS, ConfigError, JsonError, NO_USAGE, addUsage, isOurs, parseModel, toConfig, toConfigPatch } from '@headrace/message'

describe('toConfig', () => {
  it('gives one order of fields, whatever the order they came in', () => {
    const config = toConfig({ stop: ['END'], model: 'm', temperature: 0, provider: 'p', providerOptions: { z: 1, a: 2 }, maxOutputTokens: 5, reasoningEffort: 'low', topP: 0.5 })
    expect(Object.keys(config)).toEqual(CONFIG_FIELDS)
    expect(JSON.stringify(config.providerOptions)).toBe('{"z":1,"a":2}')
    expect(isOurs(config)).toBe(true)
  })

  it.each(['provider', 'model'])('needs a %s, and says how to name one', (field) => {
    const { [field]: _, ...rest } = { provider: 'p', model: 'm' } as Record<string, string>
    expect(() => toConfig(rest)).toThrow(`has no ${field}`)
  })
})

describe('toConfigPatch', () => {
  it('leaves out what is undefined, so that absent has one spelling (L10)', () => {
    expect(Object.keys(toConfigPatch({ temperature: undefined, model: 'm' }))).toEqual(['model'])
    expect(toConfigPatch({})).toEqual({})
  })

  it.each([
    [{ modle: 'm' }, 'unknown field "modle"; it may have provider, model'],
    [JSON.parse('{"__proto__":1}'), 'unknown field "__proto__"'],
    [{ model: '' }, 'config.model must be a non-empty string'],
    [{ provider: 3 }, 'config.provider'],
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

describe('parseModel', () => {
  it('splits at the first slash', () => {
    expect(parseModel('deepseek/deepseek-chat')).toEqual({ provider: 'deepseek', model: 'deepseek-chat' })
    expect(parseModel('openrouter/meta/llama')).toEqual({ provider: 'openrouter', model: 'meta/llama' })
    expect(parseModel('m')).toEqual({ model: 'm' })
    expect(parseModel('/m')).toEqual({ model: '/m' })
  })
})

describe('addUsage', () => {
  it('adds each count', () => {
    const sum = addUsage({ input: 1, cached: 2, written: 3, output: 4 }, { input: 10, cached: 20, written: 30, output: 40 })
    expect(sum).toEqual({ input: 11, cached: 22, written: 33, output: 44 })
    expect(addUsage(NO_USAGE, NO_USAGE)).toEqual(NO_USAGE)
  })
})
