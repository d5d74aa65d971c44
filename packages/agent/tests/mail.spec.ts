import { describe, expect, it, onTestFinished } from 'vitest'
import type { Agent } from '@headrace/agent'
import { textOf } from '@headrace/message'
import { type Lease, type LetterDraft, MemoryStore, type SessionEvent, StoreError, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { gate, until } from '@headrace/testing/gate'

async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness({ ...options, agent: { mail: true, ...options.agent } })
  onTestFinished(async () => {
    expect(verify(await made.events())).not.toHaveProperty('difference')
    await made.dispose()
  })
  return made
}

type Prompt = LetterDraft & { readonly kind: 'prompt' }

const letter = (text: string, more: Partial<Prompt> = {}): Prompt => ({ kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text }] }, ...more })

async function of<T extends SessionEvent['type']>(made: Harness, type: T): Promise<readonly SessionEvent<T>['data'][]> {
  return (await made.events()).flatMap((event) => (event.type === type ? [event.data as SessionEvent<T>['data']] : []))
}

/** Posts a letter, and waits until the log names it. */
async function post(made: Harness, draft: LetterDraft): Promise<SessionEvent> {
  const { letter: id } = await made.store.post('test', draft)
  return until(async () => (await made.events()).find(({ data }) => (data as { letter?: string }).letter === id))
}

const reasonOf = async (made: Harness, draft: LetterDraft): Promise<unknown> => {
  const { type, data } = await post(made, draft)
  return type === 'letter/refused' ? data.reason : type
}

describe('an agent with mail', () => {
  it('takes prompts in the order they were posted, signed user, and runs them', async () => {
    const made = await app({ script: ['one', { text: '{"a":1}' }] })
    const output = { type: 'object', properties: { a: { type: 'number' } } }
    await post(made, letter('First', { key: 'k' }))
    await post(made, letter('Second', { config: { temperature: 0.5 }, output }))
    await until(async () => (await of(made, 'turn/end')).length === 2)
    expect(await of(made, 'prompt/queued')).toMatchObject([
      { owner: 'user', key: 'k', letter: expect.any(String), input: { content: [{ text: 'First' }] } },
      { owner: 'user', letter: expect.any(String), config: { temperature: 0.5 }, output },
    ])
    expect(made.requests.map(({ config }) => config.temperature)).toEqual([undefined, 0.5])
    expect(await made.store.letters('test')).toEqual([])
  })

  it('gives a steer to the turn that runs; where none does it is a prompt', async () => {
    const [asked, hold] = [gate(), gate()]
    const made = await app({ script: async (_request, index) => {
      if (index > 0) return 'ok'
      asked.open()
      await hold.promise
      return 'first'
    } })
    const handle = made.agent.prompt('Go.')
    await asked.promise
    await post(made, letter('Wait, not there.', { steer: true }))
    hold.open()
    expect(await handle.result).toMatchObject({ reason: 'done', steps: 2, text: 'ok' })
    expect(textOf(made.requests[1]!.messages.at(-1)!)).toBe('Wait, not there.')
    await post(made, letter('More.', { steer: true }))
    await until(async () => (await of(made, 'turn/end')).length === 2)
    expect((await of(made, 'prompt/queued')).map(({ steer }) => steer)).toEqual([undefined, true, undefined])
  })

  it('cancels the turn that a letter names, once; one for another turn is refused and does nothing', async () => {
    const asked = gate()
    const made = await app({ script: async (_request, index) => {
      if (index > 0) return 'ok'
      asked.open()
      return { hang: true }
    } })
    const cancel = (turn: number): LetterDraft => ({ kind: 'cancel', turn, reason: 'enough' })
    expect(await reasonOf(made, cancel(1))).toBe('there is no turn 1')
    const handle = made.agent.prompt('Go.')
    await asked.promise
    expect(await reasonOf(made, cancel(2))).toBe('there is no turn 2')
    const named = await post(made, cancel(1))
    expect(named).toMatchObject({ type: 'turn/cancel', data: { turn: 1, reason: 'enough' } })
    expect(await handle.result).toMatchObject({ reason: 'cancelled', error: { message: 'enough' } })
    expect(await reasonOf(made, cancel(1))).toBe('turn 1 has ended')
    expect((await made.agent.prompt('Again.').result).reason).toBe('done')
    expect(await of(made, 'turn/cancel')).toHaveLength(1)
  })

  it('withdraws a prompt that waits, and no other', async () => {
    const [asked, hold] = [gate(), gate()]
    const made = await app({ script: async () => {
      asked.open()
      await hold.promise
      return 'ok'
    } })
    const first = made.agent.prompt('Go.')
    await asked.promise
    const second = made.agent.prompt('And then.')
    expect(await reasonOf(made, { kind: 'withdraw', prompt: second.prompt!, reason: 'no' })).toBe('prompt/withdrawn')
    expect(await second.result).toMatchObject({ reason: 'withdrawn', error: { message: 'no' } })
    for (const prompt of [first.prompt!, second.prompt!, 999]) {
      expect(await reasonOf(made, { kind: 'withdraw', prompt, reason: 'no' })).toBe(`the prompt ${prompt} does not wait`)
    }
    hold.open()
    await first.result
  })

  it('refuses what cannot count, in words, and takes what comes behind it', async () => {
    const made = await app({ agent: { limits: { queue: 1 } } })
    expect(await reasonOf(made, letter('  '))).toMatch(/^the prompt is empty/)
    expect(await reasonOf(made, letter('Hi', { config: { temperature: 'hot' as never } }))).toMatch(/temperature/)
    expect(await reasonOf(made, letter('Hi', { output: { type: 'no such type' } }))).toMatch(/schema|type/i)
    expect(await reasonOf(made, letter('Hi', { context: { digest: 'x' } }))).toMatch(/^a run context is given by the process/)
    expect(await reasonOf(made, { kind: 'answer', question: 0, answer: 'allow' })).toBe('event 0 is no question')
    await post(made, letter('Hi'))
    await made.agent.idle()
    expect(await of(made, 'turn/end')).toMatchObject([{ reason: 'done' }])
  })

  it('takes at the beginning of its next life what came while nobody drove, before a turn that was cut off goes on', async () => {
    const asked = gate()
    const made = await app({ script: async (_request, index) => {
      if (index > 0) return 'ok'
      asked.open()
      return { hang: true }
    } })
    made.agent.prompt('Go.')
    await asked.promise
    await made.agent.park()
    await made.store.post('test', letter('Next.'))
    await made.store.post('test', { kind: 'cancel', turn: 1, reason: 'enough' })
    const agent = await made.ctx.agents.resume('test', { mail: true })
    onTestFinished(() => agent.dispose())
    await until(async () => (await of(made, 'turn/end')).length === 2)
    expect(await of(made, 'turn/end')).toMatchObject([{ turn: 1, reason: 'cancelled' }, { turn: 2, reason: 'done' }])
    expect(made.requests).toHaveLength(2)
    await agent.dispose()
  })

  it('is parked where its store fails, and its session goes on in a new life', async () => {
    let broken = false
    const made = await app({ reports: 'allow', store: failing(new MemoryStore(), () => broken) })
    broken = true
    await made.store.post('test', letter('Hi'))
    await until(() => made.ctx.agents.get('test') === undefined)
    broken = false
    const agent = await made.ctx.agents.resume('test', { mail: true })
    agent.wake()
    await until(async () => (await of(made, 'turn/end')).length === 1)
    await agent.dispose()
  })
})

/** A store whose flushes fail while it is broken. */
function failing(store: MemoryStore, isBroken: () => boolean): MemoryStore {
  const wrapped = (lease: Lease): Lease => ({ ...lease, flush: async () => {
    if (isBroken()) throw new StoreError('the disk is full')
    return lease.flush()
  } })
  const [create, lease] = [store.create.bind(store), store.lease.bind(store)]
  return Object.assign(store, {
    lease: async (id: string) => wrapped(await lease(id)),
    create: async (id: string) => {
      await (await create(id)).release()
      return store.lease(id)
    },
  })
}

describe('an agent without mail', () => {
  it('leaves prompts, cancels and withdrawals where they are', async () => {
    const made = await harness({ script: ['ok'] })
    onTestFinished(() => made.dispose())
    await made.store.post('test', letter('Hi'))
    await made.store.post('test', { kind: 'cancel', turn: 1, reason: 'enough' })
    await made.run('Go.')
    expect((await made.store.letters('test')).map(({ kind }) => kind)).toEqual(['prompt', 'cancel'])
  })
})

describe('setup', () => {
  it('is called before anything is done, and what it returned at the end of the life', async () => {
    const made = await app({ script: ['ok'] })
    await made.agent.park()
    await made.store.post('test', letter('Hi'))
    const order: string[] = []
    const agent = await made.ctx.agents.resume('test', { mail: true, setup: async (given) => {
      given.session.on('event', ({ type }) => void order.push(type))
      await until(async () => true)
      order.push('set up')
      return () => void order.push('left')
    } })
    await until(async () => (await of(made, 'turn/end')).length === 1)
    expect(order.slice(0, 2)).toEqual(['set up', 'prompt/queued'])
    await agent.park()
    expect(order.at(-1)).toBe('left')
  })

  it('that throws leaves nobody with the session', async () => {
    const made = await app()
    await made.agent.park()
    await expect(made.ctx.agents.resume('test', { setup: () => { throw new Error('not today') } })).rejects.toThrow('not today')
    expect(made.ctx.agents.get('test')).toBeUndefined()
    const agent: Agent = await made.ctx.agents.resume('test')
    await agent.dispose()
  })
})
