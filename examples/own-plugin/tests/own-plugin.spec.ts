import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'
import { runExample } from '../../http-host/tests/run-example.ts'

it('tells the runbook, denies the command, pages, and leaves nothing behind', async () => {
  const temp = mkdtempSync(join(tmpdir(), 'headrace-own-plugin-test-'))
  const { code, out } = await runExample('own-plugin', { state: temp, env: { TMPDIR: temp } })
  expect(code).toBe(0)
  expect(out).toMatch(/^runbook\/steps +The pump: close the valve/m)
  expect(out).toMatch(/^tool +← The call was denied: On this machine only the person on call runs commands\. Page them\.$/m)
  expect(out).toMatch(/^tool +← They were paged\.$[^]*^pages\.log: The pump stands still\. The valve is to be closed before it is restarted\.$/m)
  expect(readdirSync(temp)).toEqual([])
  removeFolder(temp)
})
