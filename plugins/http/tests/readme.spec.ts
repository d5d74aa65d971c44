import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { Config } from '../src/index.ts'

it('the README has every option and its default', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const told = new Map([...readme.matchAll(/^\| `(\w+)` \| ([^|]*) \|/gm)].map(([, name, value]) => [name!, value!] as const))
  const defaults = Config({}) as unknown as Record<string, unknown>
  expect([...told.keys()]).toEqual(Object.keys(Config.dict!))
  for (const [name, value] of told) {
    if (defaults[name] !== undefined) expect([name, value]).toEqual([name, `\`${typeof defaults[name] === 'string' && defaults[name] !== '' ? defaults[name] : JSON.stringify(defaults[name])}\``])
  }
})
