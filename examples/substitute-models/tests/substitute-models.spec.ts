import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'
import { runExample } from '../../http-host/tests/run-example.ts'

it('answers in spite of rate limit, overload and overflow, and explain tells which request was sent by whom', async () => {
  const temp = mkdtempSync(join(tmpdir(), 'headrace-substitutes-test-'))
  const { code, out } = await runExample('substitute-models', { state: temp, env: { TMPDIR: temp } })
  expect(code).toBe(0)
  const [turns, ...explained] = out.split(/^\$ headrace explain last /m)
  expect(turns).toMatch(/Are you there\?\n {2}rate-limit: [^]*again, after 20 ms\n {2}rate-limit: [^]*again with spare\/medium\n {2}server: [^]*again with spare\/small\nI am small\.\n/)
  expect(turns).toMatch(/This is long\.\n {2}overflow: [^]* {2}overflow: [^]*again with spare\/medium\nI am medium\.\n> And now\?\nI am large\.\n/)
  const sent = explained.map((text) => [/^\S+/.exec(text)![0], ...(/^ {2}model +(\w+) +"(.+)"$/m.exec(text)?.slice(1) ?? [])].join(' '))
  expect(sent).toEqual([
    '1.1.1 app main/large',
    '1.1.3 loop spare/medium',
    '1.1.4 loop spare/small',
    '2.2.2 loop spare/medium',
    '3.1.1 app main/large',
  ])
  expect(explained.every((text) => text.includes('rebuilds byte for byte'))).toBe(true)
  expect(explained[2]).toContain('a substitute for this step, chosen after a failure')
  expect(readdirSync(temp)).toEqual([])
  removeFolder(temp)
})
