import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { PROMISES, type Reliability, report, sumUp } from './report.ts'

const docs = new URL('../../docs/', import.meta.url)
const root = new URL('../../', import.meta.url)

it('docs/reliability.md says what docs/reliability.json holds, and every promise was tried', async () => {
  const reliability = JSON.parse(await readFile(new URL('reliability.json', docs), 'utf8')) as Reliability
  expect(await readFile(new URL('reliability.md', docs), 'utf8')).toBe(report(reliability))
  for (const { promise, told } of PROMISES) {
    for (const [count, what] of told(reliability.figures, reliability.tests)) expect(count, `${promise}: ${what}`).toBeGreaterThan(0)
  }
})

it('what a promise names as its tests is there', () => {
  for (const path of PROMISES.flatMap(({ where }) => where)) expect(existsSync(fileURLToPath(new URL(path, root))), path).toBe(true)
})

it('what several suites tell of one part is summed up', () => {
  const told = [{ suite: 'a', part: 'x', counts: { n: 1, m: 2 } }, { suite: 'a', part: 'x', counts: { n: 3 } }, { suite: 'b', part: 'x', counts: { n: 5 } }]
  expect(sumUp(told)).toEqual({ a: { x: { n: 4, m: 2 } }, b: { x: { n: 5 } } })
})
