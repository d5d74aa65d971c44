import { MemoryStore, type SessionStore } from '@headrace/session'
import { expectAppendOnly, harness } from '@headrace/testing'
import { expect, it } from 'vitest'
import { openStore } from './logs.ts'

/** The requests of two turns with a resume between them, as the model's adapter got them. */
async function requestsOver(store: SessionStore): Promise<string> {
  const { run, resume, requests, verify, dispose } = await harness({ store, script: ['One.', 'Two.'] })
  await run('first')
  await resume()
  await run('second')
  expectAppendOnly(requests)
  expect((await verify()).difference).toBeUndefined()
  await dispose()
  return JSON.stringify(requests.map(({ messages, config, owners }) => ({ messages, config, owners })))
}

it('where a log is kept moves no byte of a request', async () => {
  expect(await requestsOver(openStore())).toBe(await requestsOver(new MemoryStore()))
})
