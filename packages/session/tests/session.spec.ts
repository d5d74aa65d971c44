import { afterEach, describe, expect, it, vi } from 'vitest'
import { JsonError, callsOf, textOf } from '@headrace/message'
import { Batch, type EventDraft, FORMAT, Fold, type Lease, MemoryStore, Session, type SessionEvent, StoreError, proveRequest } from '@headrace/session'
import { HEADER, LogBuilder, assistant, call, result, system, user } from './log-builder.ts'

/** A store whose disk can be made to fail. */
class FaultyStore extends MemoryStore {
  failing: 'append' | 'flush' | undefined
  readonly batches: (readonly string[])[] = []
  readonly lost = new AbortController()

  override async lease(id: string): Promise<Lease> {
    const inner = await super.lease(id)
    return {
      ...inner,
      lost: this.lost.signal,
      append: (batch: Batch) => {
        if (this.failing === 'append') throw new StoreError('disk full')
        inner.append(batch)
        this.batches.push(batch.json)
      },
      flush: async () => {
        if (this.failing === 'flush') throw new StoreError('disk gone')
      },
    }
  }
}

const prompt = (text: string): EventDraft => ({ type: 'prompt/queued', data: { input: user(text), owner: 'user' } })
const create = (store: MemoryStore = new MemoryStore()) => Session.create(store, { id: 'demo' }, { strict: true, now: () => 7 })

/** A session over a log that was written by hand and cut off there. */
async function openLog(log: LogBuilder, store = new MemoryStore()): Promise<Session> {
  const lease = await store.create('demo')
  lease.append({ events: log.events, json: log.lines } as unknown as Batch)
  await lease.release()
  return Session.open(store, 'demo', { strict: true })
}

async function stored(store: MemoryStore): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of store.load('demo')) events.push(...batch)
  return events
}

const foldOf = ({ surface, ledger, headers, length }: Session) => ({
  messages: surface.snapshot().entries.slice(),
  queue: ledger.queue,
  owed: ledger.owed,
  header: headers.header,
  chain: surface.chain(),
  length,
})

afterEach(() => vi.restoreAllMocks())

describe('append', () => {
  it('returns the events at once, numbered from 0 without a gap, frozen all through', async () => {
    const session = await create()
    const one = session.append(prompt('one'))
    expect(one).toMatchObject({ seq: 1, time: 7, type: 'prompt/queued' })
    expect(session.append([prompt('two'), prompt('three')]).map(({ seq }) => seq)).toEqual([2, 3])
    expect(session.append([])).toEqual([])
    expect([...session.events()].map(({ seq }) => seq)).toEqual([0, 1, 2, 3])
    expect(session.at(1)).toBe(one)
    expect(session.at(9)).toBeUndefined()
    expect(() => { (one as { seq: number }).seq = 9 }).toThrow(TypeError)
    expect(() => { ((one as SessionEvent<'prompt/queued'>).data.input.content as unknown[]).length = 0 }).toThrow(TypeError)
  })

  it('has a copy of what it was given, in memory and in the store (L11)', async () => {
    const store = new MemoryStore()
    const session = await create(store)
    const content = [{ type: 'text' as const, text: 'as it was' }]
    session.append({ type: 'context/message', data: { message: Object.freeze({ role: 'user' as const, content }), owner: 'x/y' } })
    content[0]!.text = 'changed'
    expect(session.deriveMessages().map(textOf)).toEqual(['as it was'])
    expect(await stored(store)).toEqual([...session.events()])
  })

  it.each([
    ['data that is not JSON', [prompt('a'), { type: 'prompt/queued', data: { input: user('b'), owner: 'user', context: NaN } }] as EventDraft[], 'prompt/queued.context is NaN'],
    ['an event of the wrong shape', [prompt('a'), { type: 'context/message', data: { message: assistant('x'), owner: 'x/y' } }] as unknown as EventDraft[], 'message.role'],
    ['an event that cannot follow', [prompt('a'), { type: 'turn/start', data: { turn: 1, woke: 'prompt', prompt: 1 } }, { type: 'turn/start', data: { turn: 2, woke: 'wake' } }] as EventDraft[], 'starts inside turn 1'],
    ['a second session/open', [prompt('a'), { type: 'session/open', data: { ...FORMAT, id: 'demo' } }] as EventDraft[], 'begins with session/open'],
    ['a part that the surface refuses', [prompt('a'), { type: 'context/message', data: { message: system('s'), owner: 'x/y' } }, { type: 'surface/replace', data: { first: '3', last: '9', messages: [], owner: 'x/y', reason: 'r' } }] as EventDraft[], 'entry 9'],
  ])('takes nothing of a list with %s: log, fold and store are as they were', async (_name, drafts, problem) => {
    const store = new FaultyStore()
    const session = await create(store)
    session.append(prompt('kept'))
    const before = foldOf(session)
    const seen: SessionEvent[] = []
    session.live.on('event', (event) => seen.push(event))
    expect(() => session.append(drafts)).toThrow(problem)
    expect(foldOf(session)).toEqual(before)
    expect(store.batches.length).toBe(2)
    expect(seen).toEqual([])
    expect(session.append([prompt('goes on')])[0]!.seq).toBe(2)
    await session.close()
    expect((await stored(store)).map(({ seq }) => seq)).toEqual([0, 1, 2])
  })

  it('takes nothing where the store takes nothing, and goes on when it can again', async () => {
    const store = new FaultyStore()
    const session = await create(store)
    const before = foldOf(session)
    store.failing = 'append'
    expect(() => session.append([prompt('a'), prompt('b')])).toThrow('disk full')
    expect(foldOf(session)).toEqual(before)
    store.failing = undefined
    expect(session.append(prompt('c')).seq).toBe(1)
  })

  it('folds a draft made on the way after those before it', async () => {
    const session = await create()
    const start = (): EventDraft => ({ type: 'turn/start', data: { turn: 1, woke: 'prompt', prompt: session.ledger.queue[0]!.seq } })
    const [, second] = session.append([prompt('a'), start, () => undefined])
    expect(second).toMatchObject({ seq: 2, data: { prompt: 1 } })
    expect(session.length).toBe(3)
  })

  it('writes one list as one append', async () => {
    const store = new FaultyStore()
    const session = await create(store)
    session.append([prompt('a'), prompt('b')])
    expect(store.batches.map((batch) => batch.length)).toEqual([1, 2])
  })
})

describe('live', () => {
  it('tells every listener every event in order, also those that listeners append', async () => {
    const session = await create()
    const seen: Record<string, number[]> = { a: [], b: [] }
    session.live.on('event', ({ seq }) => {
      seen.a!.push(seq)
      if (seq === 1) session.append([prompt('from inside'), prompt('and more')])
    })
    session.live.on('event', ({ seq }) => seen.b!.push(seq))
    session.append([prompt('one'), prompt('two')])
    expect(seen).toEqual({ a: [1, 2, 3, 4], b: [1, 2, 3, 4] })
    expect([...session.events()].map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4])
  })

  it('reports a listener that throws; the append stands', async () => {
    const session = await create()
    const reported: unknown[] = []
    session.live.onError = (error) => reported.push(error)
    session.live.on('event', () => { throw new Error('a UI that throws') })
    expect(session.append(prompt('one')).seq).toBe(1)
    expect(session.length).toBe(2)
    expect(reported).toEqual([new Error('a UI that throws')])
  })
})

describe('create, open and close', () => {
  it('creates once, opens again, and knows no other', async () => {
    const store = new MemoryStore()
    const session = await create(store)
    await expect(create(store)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await session.close()
    await expect(create(store)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await expect(Session.open(store, 'other')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(Session.create(store, { id: '../x' })).rejects.toMatchObject({ code: 'SESSION_ID_INVALID' })
    expect((await Session.open(store, 'demo')).at(0)).toMatchObject({ type: 'session/open', data: { ...FORMAT, id: 'demo' } })
  })

  it('L18: refuses a second writer and names the first', async () => {
    const store = new MemoryStore()
    const session = await create(store)
    await expect(Session.open(store, 'demo')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringContaining(String(process.pid)) as string })
    await session.close()
    await expect(Session.open(store, 'demo')).resolves.toBeInstanceOf(Session)
  })

  it('takes nothing after it was closed, its lease was lost, or a flush failed', async () => {
    const closed = await create()
    await closed.close()
    expect(() => closed.append(prompt('late'))).toThrow(expect.objectContaining({ code: 'SESSION_CLOSED', message: expect.stringContaining('it was closed') as string }) as Error)

    const store = new FaultyStore()
    const lost = await create(store)
    store.lost.abort()
    expect(() => lost.append(prompt('late'))).toThrow('another process took its lease')

    const broken = new FaultyStore()
    const failing = await create(broken)
    failing.append(prompt('not durable'))
    broken.failing = 'flush'
    await expect(failing.flush()).rejects.toThrow('disk gone')
    expect(() => failing.append(prompt('late'))).toThrow('its store failed (disk gone)')
    expect(failing.length).toBe(2)
  })

  it('is closed from the first where the lease was lost already', async () => {
    const store = new FaultyStore()
    await (await create(store)).close()
    store.lost.abort()
    const session = await Session.open(store, 'demo')
    expect(() => session.append(prompt('late'))).toThrow('another process took its lease')
  })

  it('leaves no log behind that could not be begun, and no lease on one that cannot be read', async () => {
    const store = new FaultyStore()
    await expect(Session.create(store, { id: 'demo', seed: [assistant('', call('1'))] })).rejects.toThrow('L16')
    await expect(Session.create(store, { id: 'demo', seed: [{ role: 'user', content: NaN }] as never })).rejects.toThrow(JsonError)
    store.failing = 'flush'
    await expect(create(store)).rejects.toThrow('disk gone')
    store.failing = undefined
    await (await create(store)).close()

    const other = new MemoryStore()
    const bad = new LogBuilder()
    const lease = await other.create('demo')
    lease.append(new Batch(bad.events))
    await lease.release()
    const { logs } = other as unknown as { readonly logs: ReadonlyMap<string, { readonly lines: string[] }> }
    logs.get('demo')!.lines.push('{"seq":5,"time":0,"type":"prompt/withdrawn","data":{"prompt":1,"reason":"x"}}')
    await expect(Session.open(other, 'demo')).rejects.toMatchObject({ code: 'LOG_GAP', seq: 5 })
    await (await other.lease('demo')).release()
  })

  it('refuses a log without an event, and the log of another session', async () => {
    const store = new MemoryStore()
    await (await store.create('demo')).release()
    await expect(Session.open(store, 'demo')).rejects.toMatchObject({ code: 'LOG_EMPTY' })
    await expect(openLog(new LogBuilder({ id: 'other' }))).rejects.toMatchObject({ code: 'LOG_ID' })
  })

  it('begins with a seed, which is history', async () => {
    const seed = [user('a'), assistant('', call('1')), result('1', 'x')]
    const session = await Session.create(new MemoryStore(), { id: 'demo', cwd: '/work', seed })
    expect(session.deriveMessages()).toEqual(seed)
    expect(session.at(0)!.data).toEqual({ ...FORMAT, id: 'demo', cwd: '/work', seed })
  })
})

describe('deriveMessages', () => {
  it('is frozen, and equal after reopening', async () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.toolStep('', '1')
    log.lastStep('done')
    const store = new MemoryStore()
    const session = await openLog(log, store)
    const messages = session.deriveMessages()
    expect(messages.length).toBe(4)
    expect(() => (messages as unknown[]).push(1)).toThrow(TypeError)
    for (const { content } of messages) expect(() => { (content[0] as { type: string }).type = 'x' }).toThrow(TypeError)
    await session.close()
    expect((await Session.open(store, 'demo')).deriveMessages()).toEqual(messages)
  })

  it('is the same list until something is added or replaced, and tells each apart', async () => {
    const session = await create()
    const inject = (text: string) => session.append({ type: 'context/message', data: { message: system(text), owner: 'x/y' } })
    expect(session.deriveMessages()).toEqual([])
    const { seq } = inject('one')
    const one = session.deriveMessages()
    session.append(prompt('only queued'))
    expect(session.deriveMessages()).toBe(one)
    session.append({ type: 'surface/replace', data: { first: `${seq}`, last: `${seq}`, messages: [{ message: system('1'), owner: 'x/y' }], owner: 'x/y', reason: 'r' } })
    expect(session.deriveMessages().map(textOf)).toEqual(['1'])
    inject('two')
    expect(session.deriveMessages().map(textOf)).toEqual(['1', 'two'])
    expect(one.map(textOf)).toEqual(['one'])
  })

  it('L7: never has what is in the header only', async () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    log.answer(assistant('done'), { ...HEADER, prefix: [system('prefix')], before: [system('before')], after: [system('after')] })
    log.endStep()
    const session = await openLog(log)
    expect(session.deriveMessages().map(textOf)).toEqual(['do it', 'done'])
    expect(session.requestHeader()!.prefix!.map(textOf)).toEqual(['prefix'])
  })
})

describe('repair', () => {
  it('gives every open call an honest result: not started, or unknown; and keeps what is there', async () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const seq = log.answer(assistant('', call('waits'), call('ran'), call('done')))
    log.add('tool/start', { assistant: seq, index: 1 })
    log.add('tool/start', { assistant: seq, index: 2 })
    log.result(seq, 2, result('done', 'it worked'))
    const store = new MemoryStore()
    const session = await openLog(log, store)
    expect(await session.repair()).toBe(3)
    const [, answer, ...results] = session.deriveMessages()
    expect(callsOf(answer!).map(({ id }) => id)).toEqual(['waits', 'ran', 'done'])
    expect(results.map((message) => message.role === 'tool' && [message.content[0].id, message.content[0].error])).toEqual([['waits', true], ['ran', true], ['done', undefined]])
    expect(JSON.stringify(results[0])).toContain('not started')
    expect(JSON.stringify(results[1])).toContain('unknown')
    expect([...session.events(log.events.length)].map(({ type, data }) => [type, (data as { outcome?: string; reason?: string }).outcome ?? (data as { reason?: string }).reason])).toEqual([['tool/result', 'not-started'], ['tool/result', 'unknown'], ['step/end', 'lost']])
  })

  it('is durable, and does nothing the second time', async () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const dispatch = log.dispatch()
    const store = new FaultyStore()
    const session = await openLog(log, store)
    const flush = vi.spyOn(session, 'flush')
    expect(await session.repair()).toBe(2)
    expect(flush).toHaveBeenCalled()
    expect(session.at(dispatch + 1)).toMatchObject({ type: 'request/end', data: { dispatch, outcome: 'aborted' } })
    expect(await session.repair()).toBe(0)
    await session.close()
    const again = await Session.open(store, 'demo')
    expect(await again.repair()).toBe(0)
    expect(again.ledger).toMatchObject({ owed: true, turn: { step: undefined }, openDispatches: [] })
  })

  it('leaves a log that was not cut off as it is, and the turn open for the caller', async () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.lastStep('done')
    const session = await openLog(log)
    expect(await session.repair()).toBe(0)
    expect(session.ledger.turn).toMatchObject({ number: 1 })
  })

  it('makes every beginning of a log whole, at whatever event it was cut off', async () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.toolStep('', '1', '2')
    log.toolStep('more', '3')
    log.lastStep('done')
    log.endTurn()
    for (let length = 1; length <= log.events.length; length++) {
      const cut = Object.assign(new LogBuilder(), { events: log.events.slice(0, length) })
      const session = await openLog(cut)
      await session.repair()
      expect(session.surface.openCalls()).toEqual([])
      expect(session.ledger.openDispatches).toEqual([])
      expect(Fold.of(session.events()).surface.chain()).toBe(session.surface.chain())
      expect([...session.events()].slice(0, length)).toEqual(log.events.slice(0, length))
    }
  })
})

describe('the witness (strict)', () => {
  it('refuses a request that the serialised log does not give', async () => {
    const session = await create()
    session.append([prompt('do it'), { type: 'turn/start', data: { turn: 1, woke: 'prompt', prompt: 1 } }, { type: 'user/message', data: { message: user('do it'), owner: 'user', prompt: 1 } }, { type: 'step/start', data: { turn: 1, step: 1 } }])
    session.append([session.headers.owed(HEADER)!])
    const proof = proveRequest(session.requestHeader()!, session.surface.chain())
    const dispatch = (digest: string) => session.append({ type: 'request/dispatch', data: { turn: 1, step: 1, attempt: 1, boundary: 4, ...proof, digest } })
    session.checkDispatch(dispatch(proof.digest))
    const wrong = dispatch('0'.repeat(64))
    expect(() => session.checkDispatch(wrong)).toThrow(expect.objectContaining({ code: 'LOG_DIFFERS', seq: wrong.seq, message: expect.stringContaining('it was not sent (L1)') as string }) as Error)
  })

  it('has the whole log also where it was opened', async () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const session = await openLog(log)
    session.append([session.headers.owed(HEADER)!])
    const proof = proveRequest(session.requestHeader()!, session.surface.chain())
    const dispatch = session.append({ type: 'request/dispatch', data: { turn: 1, step: 1, attempt: 1, boundary: session.surface.boundary!, ...proof } })
    expect(() => session.checkDispatch(dispatch)).not.toThrow()
  })
})

describe('what is in memory', () => {
  const opened = async (options: { readonly recent?: boolean } = {}): Promise<Session> => {
    const store = new MemoryStore()
    const log = new LogBuilder({ id: 'demo' })
    log.prompt('one')
    log.lastStep('first')
    log.endTurn()
    log.prompt('two')
    const lease = await store.create('demo')
    lease.append(new Batch(log.events))
    await lease.release()
    return Session.open(store, 'demo', options)
  }
  const seqs = (events: Iterable<SessionEvent>): number[] => [...events].map(({ seq }) => seq)

  it('begins at the first event, unless told otherwise', async () => {
    const { view } = await opened()
    expect([view.first, view.at(0)?.type, seqs(view.events()).length]).toEqual([0, 'session/open', view.length])
    expect(seqs(await view.read(2, 5))).toEqual([2, 3, 4])
  })

  it('begins behind the last turn that ended; what came before is read', async () => {
    const session = await opened({ recent: true })
    const { view } = session
    const { first, length } = view
    expect(session.at(first - 1)).toMatchObject({ type: 'turn/end' })
    expect([view.at(first)?.seq, view.at(length), seqs(view.events())]).toEqual([first, undefined, seqs(session.events(first))])
    for (const early of [() => view.at(0), () => view.events(first - 1)]) {
      expect(early).toThrow(expect.objectContaining({ code: 'LOG_NOT_IN_MEMORY', message: expect.stringContaining('await session.read(') as string }) as Error)
    }
    session.append({ type: 'session/title', data: { title: 'Two', owner: 'app' } })
    expect(seqs(await view.read(0))).toEqual(Array.from({ length: length + 1 }, (_, seq) => seq))
    expect(seqs(await view.read(first - 2, first + 1))).toEqual([first - 2, first - 1, first])
    expect(Object.isFrozen((await view.read(0, 1))[0]!.data)).toBe(true)
    expect([view.title, view.origin?.id]).toEqual(['Two', 'demo'])
  })
})
