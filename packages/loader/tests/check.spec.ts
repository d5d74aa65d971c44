import { describe, expect, it } from 'vitest'
import z from 'schemastery'
import * as zod from 'zod'
import { readEntries } from '../src/entry.ts'
import { checkConfig } from '../src/plan.ts'
import { lineOf } from '../src/problem.ts'

const Config = z.object({
  mode: z.union(['barrier', 'never'] as const).default('barrier'),
  threshold: z.number().min(0).max(1),
  count: z.natural().min(1),
  title: z.string(),
  flag: z.boolean(),
  list: z.array(z.string()),
  providers: z.dict(z.object({ baseURL: z.string().required(), headers: z.dict(z.string()) })),
  hook: z.function(),
  global: z.union([z.const(false as const), z.string()]),
  anything: z.any(),
})

function check(config: string, ...[schema = Config]: readonly unknown[]): readonly string[] {
  const [entry] = readEntries('cordis.yml', `- name: a\n  config: ${config}\n`)
  return checkConfig(entry!, schema, entry!.config).map(lineOf)
}

describe('a config', () => {
  it.each([
    ['{ mode: sk-secret }', '2:13', 'config.mode: must be "barrier" or "never", is a text'],
    ['{ threshold: 7351 }', '2:13', 'config.threshold: must be a number from 0 to 1, is another number'],
    ['{ threshold: "sk-secret" }', '2:13', 'config.threshold: must be a number from 0 to 1, is a text'],
    ['{ count: 0.7351 }', '2:13', 'config.count: must be a whole number of at least 1, is a number'],
    ['{ title: 7351 }', '2:13', 'config.title: must be a text, is a number'],
    ['{ flag: sk-secret }', '2:13', 'config.flag: must be true or false, is a text'],
    ['{ flag: yes }', '2:13', 'config.flag: must be true or false, is a text; in YAML 1.2 yes, no, on and off are texts'],
    ['{ providers: { lab: { baseUrl: sk-secret } } }', '2:33', 'config.providers.lab.baseUrl: there is no such key; did you mean "baseURL"?; there is baseURL, headers'],
    ['{ list: sk-secret }', '2:13', 'config.list: must be a list, is a text'],
    ['{ list: [a, { b: sk-secret }] }', '2:23', 'config.list[1]: must be a text, is a map'],
    ['{ providers: { lab: { baseURL: [sk-secret] } } }', '2:33', 'config.providers.lab.baseURL: must be a text, is a list'],
    ['{ providers: { lab: { headers: { auth: [sk-secret] } } } }', '2:26', 'config.providers.lab.baseURL: is missing; it must be a text'],
    ['{ hook: sk-secret }', '2:13', 'config.hook: must be a function, given in code, is a text'],
    ['{ global: 7351 }', '2:13', 'config.global: must be false or a text, is a number'],
    ['{ titel: sk-secret }', '2:13', 'config.titel: there is no such key; did you mean "title"?; there is mode, threshold, count, title, flag, list, providers, hook, global, anything'],
    ['{ providers: { lab: { url: sk-secret } } }', '2:33', 'config.providers.lab.url: there is no such key; there is baseURL, headers'],
    ['{ constructor: sk-secret }', '2:13', expect.stringContaining('config.constructor: there is no such key')],
    ['[sk-secret]', '2:3', 'config: must be a map, is a list'],
    ['sk-secret', '2:3', 'config: must be a map, is a text'],
  ])('%s is refused, with the place, the path and the type, and never the value', (config, place, words) => {
    const [line, ...more] = check(config)
    expect(more).toEqual([])
    expect(line!.startsWith(`cordis.yml:${place}: a: `)).toBe(true)
    expect(line!.slice(`cordis.yml:${place}: a: `.length)).toEqual(words)
    expect(line).not.toMatch(/secret|7351/)
  })

  it.each(['{}', '{ mode: never, anything: { what: ever } }', '{ providers: { lab: { baseURL: x } } }', 'null'])('%s passes', (config) => expect(check(config)).toEqual([]))

  it('of a plugin that says nothing passes as it is', () => expect(check('{ a: 1 }', null)).toEqual([]))

  it('is checked by any Standard Schema', () => {
    const schema = zod.strictObject({ url: zod.url(), count: zod.number() })
    const lines = check('{ url: sk-secret, count: sk-secret, more: sk-secret }', schema)
    expect(lines).toEqual([
      'cordis.yml:2:13: a: config.url: does not fit; it is a text',
      'cordis.yml:2:29: a: config.count: must be a number, is a text',
      'cordis.yml:2:3: a: config: does not fit; it is a map',
    ])
  })

  it('is not changed by being checked', () => {
    const config = { when: '2020-01-01' }
    const [entry] = readEntries('f', '- name: a\n')
    expect(checkConfig(entry!, z.object({ when: z.date() }), Object.freeze(config))).toEqual([])
    expect(config).toEqual({ when: '2020-01-01' })
  })
})
