import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { MemoryStore, Session, proveRequest, rebuild, verify } from '@headrace/session'

it('runs as the README shows it', async () => {
  const store = new MemoryStore()
  const session = await Session.create(store, { id: 'demo' })
  const input = { role: 'user', content: [{ type: 'text', text: 'Hi' }] } as const

  session.append({ type: 'prompt/queued', data: { input, owner: 'user' } })
  session.append([
    { type: 'turn/start', data: { turn: 1, woke: 'prompt', prompt: 1 } },
    { type: 'user/message', data: { message: input, owner: 'user', prompt: 1 } },
    { type: 'step/start', data: { turn: 1, step: 1 } },
  ])
  session.append([session.headers.owed({ config: { model: 'p/m' }, owners: {} })!])
  session.append({ type: 'request/dispatch', data: { boundary: 4, ...proveRequest(session.requestHeader()!, session.surface.chain()) } })
  await session.flush()

  expect(rebuild(session.events(), 6).messages).toEqual([input])
  expect(verify(session.events())).toMatchObject({ events: 7, requests: 1, messages: 1 })
  expect(session.ledger.owed).toBe(true)
  await session.close()
  const again = await Session.open(store, 'demo')
  expect(await again.repair()).toBe(2)
})

it('shows in the README the calls that were run here', async () => {
  const [readme, here] = await Promise.all(['../README.md', './readme.spec.ts'].map((path) => readFile(new URL(path, import.meta.url), 'utf8')))
  const calls = [...readme!.split('```')[1]!.matchAll(/(?:session|again|store|Session)\.\w+\(/g)].map(([match]) => match)
  expect(calls.filter((each) => !here!.includes(each) && each !== 'session.deriveMessages(')).toEqual([])
})
