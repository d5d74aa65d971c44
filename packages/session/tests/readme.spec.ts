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

it('is reached from outside as the README shows it', async () => {
  const store = new MemoryStore()
  const session = await Session.create(store, { id: 'demo', cwd: '/srv/project' })
  const letter = { kind: 'prompt', key: 'order-7', input: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } } as const
  const posted = await store.post('demo', letter)
  expect(await store.post('demo', letter)).toEqual({ ...posted, repeated: true })
  for (const { id, kind, ...rest } of await session.letters()) {
    if (kind === 'prompt' && 'input' in rest) session.append({ type: 'prompt/queued', data: { input: rest.input, owner: 'user', letter: id } })
  }
  await session.flush()
  expect(await session.letters()).toEqual([])
  for await (const item of store.follow('demo')) {
    expect(item).toMatchObject({ events: [{ type: 'session/open' }, { type: 'prompt/queued', data: { letter: posted.letter } }] })
    break
  }
  for await (const events of store.read('demo', 1, 2)) expect(events).toMatchObject([{ seq: 1 }])
  for await (const card of store.list({ cwd: '/srv/project' })) expect(card).toMatchObject({ id: 'demo', state: 'idle', prompt: 'Hi' })
  await session.close()
})

it('shows in the README the calls that were run here', async () => {
  const [readme, here] = await Promise.all(['../README.md', './readme.spec.ts'].map((path) => readFile(new URL(path, import.meta.url), 'utf8')))
  const calls = [...readme!.split('```')[1]!.matchAll(/(?:session|again|store|Session)\.\w+\(/g)].map(([match]) => match)
  expect(calls.filter((each) => !here!.includes(each) && each !== 'session.deriveMessages(')).toEqual([])
})
