import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createModelServer, lastUser } from '@headrace/model-server'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'
import { runExample } from '../../http-host/tests/run-example.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headrace-hello-test-'))
  writeFileSync(join(folder, 'harbour.txt'), 'ships\n')
})
afterEach(() => removeFolder(folder))

it('says that its model is scripted, looks into the folder, and answers', async () => {
  const { code, out, err } = await runExample('hello', { cwd: folder, state: join(folder, 'state') })
  expect({ code, out }).toEqual({ code: 0, out: 'I see 2 things here:\nharbour.txt\t6\nstate/\n' })
  expect(err).toBe('The model is SCRIPTED; set HEADRACE_MODEL for a real one, e.g. deepseek/deepseek-flash.\n')
})

it('takes the model, the endpoint and the prompt that it is given', async () => {
  const server = await createModelServer(() => 'I am here.')
  const { code, out, err } = await runExample('hello', { cwd: folder, state: join(folder, 'state'), args: ['Who is there?'], env: { HEADRACE_MODEL: 'mine', HEADRACE_BASE_URL: server.url } })
  await server.close()
  expect({ code, out, err }).toEqual({ code: 0, out: 'I am here.\n', err: '' })
  const { body } = server.requests[0]!
  expect([body.model, lastUser(body)]).toEqual(['mine', 'Who is there?'])
})

it('says what went wrong, and exits with 1', async () => {
  const server = await createModelServer(() => ({ error: { status: 401, message: 'Incorrect API key provided.' } }))
  const { code, err } = await runExample('hello', { cwd: folder, state: join(folder, 'state'), env: { HEADRACE_MODEL: 'mine', HEADRACE_BASE_URL: server.url } })
  await server.close()
  expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^hello: .*Incorrect API key/) as unknown })
})
