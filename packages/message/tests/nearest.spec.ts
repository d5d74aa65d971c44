import { expect, it } from 'vitest'
import { nearest } from '@headrace/message'

it.each([
  ['clcok', ['clock', 'moon'], '; did you mean "clock"?'],
  ['tools/pre-exec', ['tools/post-execute', 'tools/pre-execute'], '; did you mean "tools/pre-execute"?'],
  ['baseUrl', ['headers', 'baseURL'], '; did you mean "baseURL"?'],
  ['BASEURL', ['baseURL'], '; did you mean "baseURL"?'],
  ['url', ['headers', 'baseURL'], ''],
  ['x', [], ''],
])('of %s and %j it says %j', (name, names, said) => expect(nearest(name, names)).toBe(said))

it('of two that are as near, the one in the same letters is meant', () => {
  expect(nearest('plugin-A', ['plugin-b', 'plugin-a'])).toBe('; did you mean "plugin-a"?')
  expect(nearest('Moon', ['mood', 'Mood'])).toBe('; did you mean "Mood"?')
})
