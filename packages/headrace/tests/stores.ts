import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { expect } from 'vitest'
import type { ModelServer } from '@headrace/model-server'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { Session } from '@headrace/session'
import type { Lab } from './command.ts'

// What the tests of one store and of the other have in common.

export const PNG = Buffer.from([1, 2, 250, 10])
export const DIGEST = createHash('sha256').update(PNG).digest('hex')

/** A session with an image that waits in its queue. */
export async function withImage(lab: Lab, server: ModelServer): Promise<void> {
  await lab.prompt(server, ['Hi', '--session', 's'])
  const store = new JsonlStore({ directory: lab.sessions, fsync: 'never' })
  await store.putBlob('s', PNG)
  const session = await Session.open(store, 's')
  session.append({ type: 'prompt/queued', data: { input: { role: 'user', content: [{ type: 'image', digest: DIGEST, mediaType: 'image/png' }] }, owner: 'user' } })
  await session.close()
}

/** `run`, `explain` and `verify` work on the store that `--store` names, and on no other. */
export async function takesStore(lab: Lab, server: ModelServer, store: string): Promise<void> {
  await lab.prompt(server, ['Hi', '--session', 's', '--store', store])
  await lab.prompt(server, ['Go on', '--continue', '--store', store])
  expect(existsSync(lab.sessions)).toBe(false)
  expect((await lab.run(['explain', 'last', '--store', store])).out).toMatch(/^session s /)
  expect((await lab.run(['verify', 'last', '--store', store])).out).toMatch(/^ok: 2 requests of/)
  expect(await lab.run(['run', 'Hi', '--app', 'cordis.yml', '--store', store])).toMatchObject({ code: 2, err: expect.stringContaining('leave --store out') })
}
