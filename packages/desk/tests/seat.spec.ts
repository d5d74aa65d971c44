import { type Lease, MemoryStore, SessionBusyError, type SessionEvent, verify } from '@headrace/session'
import { stopClock } from '@headrace/testing/clock'
import { gate, settles, turns, until } from '@headrace/testing/gate'
import type { Context } from 'cordis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { itemFold, type Seat, type SeatItems } from '../src/index.ts'
import { type App, Reader, app, eventsOf, untilLogged } from './app.ts'

const MODEL = { model: 'scripted/model' }

interface Held {
  readonly asked: Promise<void>
  readonly open: () => void
  readonly script: (request: unknown, index: number) => Promise<string>
}

/** A model whose first answer waits until the test lets it go. */
function held(): Held {
  const [asked, hold] = [gate(), gate()]
  return { asked: asked.promise, open: () => hold.open(), script: async (_request, index) => {
    if (index > 0) return `answer ${index + 1}`
    asked.open()
    await hold.promise
    return 'answer 1'
  } }
}

/** A tool that asks before it runs. */
const careful = { name: 'careful', inject: ['tools'], apply: async (ctx: Context): Promise<void> => {
  ctx.tools.define({ name: 'knock', description: 'Knocks.', parameters: { type: 'object' }, ask: () => 'Knock?', execute: () => 'knocked' })
} }

async function sound({ store }: App, id: string): Promise<readonly SessionEvent[]> {
  const log = await eventsOf(store, id)
  expect(verify(log)).not.toHaveProperty('difference')
  return log
}

describe('send', () => {
  it('posts a letter, and tells what became of it', async () => {
    const made = await app({ script: ['Hello.'] })
    const seat = await made.ctx.desk.open(MODEL)
    const sent = await seat.send('Hi', { key: 'one' })
    const seq = await settles(sent.logged)
    expect(await settles(sent.result)).toEqual({ turn: 1, reason: 'done', finish: 'stop', text: 'Hello.', steps: 1, usage: expect.anything() })
    expect((await sound(made, seat.id))[seq]).toMatchObject({ type: 'prompt/queued', data: { owner: 'user', letter: sent.letter, key: 'one' } })
    expect(await made.store.letters(seat.id)).toEqual([])
  })

  it('with a key that was sent before is the same; with other content it is refused', async () => {
    const made = await app({ script: ['one', 'two'] })
    const seat = await made.ctx.desk.open(MODEL)
    const sent = await Promise.all([seat.send('Hi', { key: 'k' }), seat.send('Hi', { key: 'k' })])
    const [first, second] = await Promise.all(sent.map(({ result }) => settles(result)))
    expect(first).toEqual(second)
    const later = await seat.send('Hi', { key: 'k' })
    expect(later.repeated).toBe(true)
    expect(await settles(later.result)).toEqual(first)
    await expect(seat.send('Another', { key: 'k' })).rejects.toMatchObject({ code: 'KEY_TAKEN' })
    expect(made.model.requests).toHaveLength(1)
  })

  it('a steer tells of the turn that it joined, also where it began long before', async () => {
    const { asked, open, script } = held()
    const made = await app({ script })
    const seat = await made.ctx.desk.open(MODEL)
    const first = await seat.send('Go.')
    await asked
    const steer = await seat.send('Left, not right.', { steer: true })
    await settles(steer.logged)
    open()
    expect(await settles(steer.result)).toEqual(await settles(first.result))
    expect(await first.result).toMatchObject({ turn: 1, steps: 2, text: 'answer 2' })
  })

  it('what cannot be sent is refused at once; what the log refuses, by its words', async () => {
    const made = await app()
    const seat = await made.ctx.desk.open(MODEL)
    await expect(seat.send(' ')).rejects.toMatchObject({ code: 'PROMPT_EMPTY' })
    await expect(seat.send('Hi', { stear: true } as never)).rejects.toThrow('has no option "stear"')
    const sent = await seat.send('Hi', { output: { type: 'no such type' } })
    await expect(settles(sent.logged)).rejects.toMatchObject({ code: 'LETTER_REFUSED' })
    expect(await settles(sent.result)).toMatchObject({ reason: 'withdrawn', error: { code: 'LETTER_REFUSED' } })
  })

  it('drives the session where nobody does, with what its doors set up', async () => {
    const made = await app({ script: ['one', 'two'] })
    const lives: string[] = []
    const seat = await made.ctx.desk.open(MODEL, { setup: (agent) => {
      lives.push(agent.plugin)
      return () => void lives.push('left')
    } })
    await settles((await seat.send('Hi')).result)
    await seat.park()
    expect([seat.state, seat.agent]).toEqual(['parked', undefined])
    expect(await settles((await seat.send('Again')).result)).toMatchObject({ turn: 2, text: 'two' })
    expect(seat.state).toBe('here')
    expect(lives).toEqual(['app', 'left', 'app'])
  })
})

describe('open', () => {
  it('of two at once makes one agent, which each door sets up once, as its own plugin', async () => {
    const made = await app()
    const { id } = await made.ctx.desk.open(MODEL)
    await made.ctx.desk.live[0]!.park()
    const seen: string[] = []
    const seats: Seat[] = []
    for (const name of ['chat', 'web']) {
      await made.ctx.plugin({ name, inject: ['desk', 'agents'], apply: async (ctx: Context) => {
        const setup = (agent: { readonly plugin: string }): void => void seen.push(agent.plugin)
        seats.push(...await Promise.all([ctx.desk.open(id, { setup }), ctx.desk.open(id, { setup })]))
      } })
    }
    expect(seen).toEqual(['chat', 'web'])
    expect(seats.map(({ agent }) => agent?.plugin)).toEqual(['chat', 'chat', 'web', 'web'])
    expect(made.ctx.agents.ids()).toEqual([id])
  })

  it('a door that goes takes its setup with it', async () => {
    const made = await app()
    const { id } = await made.ctx.desk.open(MODEL)
    const seen: string[] = []
    const door = made.ctx.plugin({ name: 'chat', inject: ['desk', 'agents'], apply: async (ctx: Context) => {
      await ctx.desk.open(id, { setup: () => (seen.push('begun'), () => void seen.push('left')) })
    } })
    await door
    await door.dispose()
    expect(seen).toEqual(['begun', 'left'])
    const seat = await made.ctx.desk.open(id)
    await seat.park()
    await seat.drive()
    expect(seen).toEqual(['begun', 'left'])
  })

  it('does what waits in the session; with drive: false it only looks', async () => {
    const made = await app({ script: ['one'] })
    const seat = await made.ctx.desk.open(MODEL)
    await seat.park()
    await made.store.post(seat.id, { kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } })
    const looking = await made.ctx.desk.open(seat.id, { drive: false })
    expect(looking.state).toBe('parked')
    expect(await made.store.letters(seat.id)).toHaveLength(1)
    await made.ctx.desk.open(seat.id)
    await untilLogged(made.store, seat.id, 'turn/end')
  })

  it('of what is not there, or is there already, is refused', async () => {
    const made = await app()
    await expect(made.ctx.desk.open('nobody')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(made.ctx.desk.open('nobody', { drive: false })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await made.ctx.desk.open({ id: 'a', ...MODEL })
    await expect(made.ctx.desk.open({ id: 'a', ...MODEL })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await expect(made.ctx.desk.open({ id: 'b', modle: 'x' } as never)).rejects.toThrow('has no option "modle"')
  })

  it('while it is parked, and a park while something is sent: the session goes on, and each prompt runs once', async () => {
    const made = await app({ script: (_request, index) => `answer ${index}` })
    const seat = await made.ctx.desk.open(MODEL)
    for (let round = 0; round < 10; round++) {
      const [sent] = await Promise.all([seat.send(`Round ${round}`), seat.park(), made.ctx.desk.open(seat.id), seat.park(), seat.drive()])
      await settles(sent.result)
    }
    const log = await sound(made, seat.id)
    expect(log.filter(({ type }) => type === 'prompt/queued')).toHaveLength(10)
    expect(log.flatMap((event) => (event.type === 'turn/end' ? [event.data.reason] : []))).toEqual(Array.from({ length: 10 }, () => 'done'))
  })

  it('many at once make one agent a session', async () => {
    const made = await app()
    const ids = Array.from({ length: 20 }, (_, index) => `s${index}`)
    await Promise.all(ids.map((id) => made.ctx.desk.open({ id, ...MODEL })))
    await Promise.all(made.ctx.desk.live.map((seat) => seat.park()))
    expect(made.ctx.agents.ids()).toEqual([])
    const seats = await Promise.all([...ids, ...ids].map((id) => made.ctx.desk.open(id)))
    expect(seats.map(({ state }) => state)).toEqual(seats.map(() => 'here'))
    expect([...made.ctx.agents.ids()].sort()).toEqual([...ids].sort())
  })

  it('an agent that the app made itself is shared; what is sent waits until it ends, and then runs', async () => {
    const clock = stopClock()
    const made = await app({ script: ['ok'] })
    const agent = await made.ctx.agents.create({ id: 'own', ...MODEL })
    const seat = await made.ctx.desk.open('own')
    expect([seat.state, seat.agent]).toEqual(['here', agent])
    const sent = await seat.send('Hi')
    await agent.dispose()
    const result = settles(sent.result)
    await clock.pass(60_000)
    expect(await result).toMatchObject({ turn: 1, reason: 'done' })
  })
})

describe('follow', () => {
  it('tells the log as it becomes durable, and what is said live between its dispatch and its end; who joins gets what was said so far', async () => {
    const [half, whole] = [gate(), gate()]
    const made = await app()
    made.ctx.llm.adapter('slow', { async *stream() {
      yield { type: 'text', text: 'One ' }
      yield { type: 'text', text: 'two ' }
      half.open()
      await whole.promise
      yield { type: 'text', text: 'three.' }
      yield { type: 'usage', usage: { input: 0, cached: 0, written: 0, output: 0 } }
      yield { type: 'finish', reason: 'stop' }
    } })
    const seat = await made.ctx.desk.open({ model: 'slow/model' })
    const first = new Reader(seat)
    const sent = await seat.send('Hi')
    await half.promise
    await until(() => first.said === 'One two ')
    const second = new Reader(seat)
    await until(() => second.said === 'One two ')
    whole.open()
    await settles(sent.result)
    const log = await eventsOf(made.store, seat.id)
    for (const { told } of [first, second]) {
      await until(() => told.some((change) => change.type === 'append' && change.events.at(-1)!.seq === log.length - 1))
      const placeOf = (type: string): number => told.findIndex((change) => change.type === 'append' && change.events.some((event) => event.type === type))
      for (const [index, change] of told.entries()) if (change.type === 'piece') expect(index > placeOf('request/dispatch') && index < placeOf('request/end')).toBe(true)
    }
  })

  it('goes on behind a cursor through parks and new lives, each event once', async () => {
    const made = await app({ script: (_request, index) => `answer ${index}` })
    const seat = await made.ctx.desk.open(MODEL)
    const whole = new Reader(seat)
    const parts: SessionEvent[] = []
    let cursor: Reader['cursor']
    for (let round = 0; round < 5; round++) {
      const reader = new Reader(seat, cursor === undefined ? {} : { from: cursor })
      await settles((await seat.send(`Round ${round}`)).result)
      const { length } = await eventsOf(made.store, seat.id)
      await until(() => reader.events.at(-1)?.seq === length - 1)
      reader.end()
      await settles(reader.over)
      parts.push(...reader.events)
      cursor = reader.cursor
      await seat.park()
    }
    const log = await sound(made, seat.id)
    await until(() => whole.events.length === log.length)
    expect(whole.events).toEqual(log)
    expect(parts).toEqual(log)
  })

  it('of a session that is removed ends; a cursor of what stood there before is answered with a reset', async () => {
    const made = await app()
    const seat = await made.ctx.desk.open({ id: 'a', ...MODEL })
    await settles((await seat.send('Hi')).result)
    const reader = new Reader(seat)
    await until(() => reader.events.some(({ type }) => type === 'turn/end'))
    await made.ctx.desk.remove('a')
    await expect(settles(reader.over)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(seat.send('Hi')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await made.ctx.desk.open({ id: 'a', ...MODEL })
    const again = new Reader(seat, { from: reader.cursor! })
    await until(() => again.events.length > 0)
    expect(again.told[0]).toEqual({ type: 'reset' })
    expect(again.events[0]!.seq).toBe(0)
    expect(await settles((await seat.send('Hi')).result)).toMatchObject({ turn: 1 })
  })

  it('holds no more for a slow reader than the answer is long', async () => {
    const [said, whole] = [gate(), gate()]
    const made = await app()
    made.ctx.llm.adapter('fast', { async *stream() {
      for (let index = 0; index < 5_000; index++) yield { type: 'text', text: 'word ' }
      said.open()
      await whole.promise
      yield { type: 'finish', reason: 'stop' }
    } })
    const seat = await made.ctx.desk.open({ model: 'fast/model' })
    const changes = seat.follow()[Symbol.asyncIterator]()
    await changes.next()
    const sent = await seat.send('Hi')
    await said.promise
    let pieces = 0
    let text = ''
    while (text.length < 25_000) {
      const { value } = await settles(changes.next())
      if (value?.type !== 'piece') continue
      pieces++
      text = text.slice(0, value.piece.at) + value.piece.text
    }
    expect(pieces).toBeLessThan(3)
    whole.open()
    await settles(sent.result)
    await changes.return?.()
  })
})

describe('items', () => {
  it('are the log folded, told with its appends and pieces; behind a cursor what changes since', async () => {
    const made = await app({ plugins: [careful], script: [{ text: 'I knock.', calls: [{ name: 'knock' }] }, 'Nobody.', 'Again.'] })
    const seat = await made.ctx.desk.open(MODEL)
    const end = new AbortController()
    onTestFinished(() => end.abort())
    const told: SeatItems[] = []
    const read = async (from?: Reader['cursor']): Promise<void> => {
      for await (const change of seat.items({ signal: end.signal, ...(from && { from }) })) told.push(change)
    }
    const reading = read()
    await settles((await seat.send('Go.')).result)
    const fold = itemFold()
    const applied = (changes: readonly SeatItems[]): number => changes.flatMap((change) => ('events' in change ? change.events! : [])).length
    const log = await eventsOf(made.store, seat.id)
    await until(() => applied(told) === log.length)
    fold.append(log)
    const { items } = fold
    expect(items.length).toBeGreaterThan(2)
    expect(told.flatMap((change) => ('changes' in change ? change.changes : [])).length).toBeGreaterThan(items.length - 1)
    const { cursor } = told.findLast((change) => 'cursor' in change) as { readonly cursor: Reader['cursor'] }
    end.abort()
    await settles(reading)
    const later = seat.items({ from: cursor! })[Symbol.asyncIterator]()
    const next = later.next()
    await settles((await seat.send('More.')).result)
    const { value } = await settles(next)
    expect(value).toMatchObject({ type: 'items', events: [{ seq: log.length }] })
    await later.return?.()
  })
})

describe('cancel and withdraw', () => {
  it('end the turn that runs, and take back what waits; a turn that has ended is left alone', async () => {
    const { asked, script } = held()
    const made = await app({ script })
    const seat = await made.ctx.desk.open(MODEL)
    await seat.cancel()
    const first = await seat.send('Go.')
    await asked
    const second = await seat.send('And then.')
    const waiting = await settles(second.logged)
    expect(await settles(seat.withdraw(waiting, 'no'))).toBe(true)
    expect(await settles(second.result)).toMatchObject({ reason: 'withdrawn', error: { message: 'no' } })
    expect(await settles(seat.withdraw(waiting))).toBe(false)
    expect(await settles(seat.withdraw(await first.logged))).toBe(false)
    await seat.cancel(undefined, 'enough')
    expect(await settles(first.result)).toMatchObject({ turn: 1, reason: 'cancelled', error: { message: 'enough' } })
    await seat.cancel(1)
    await untilLogged(made.store, seat.id, 'letter/refused', 3)
    expect(await settles((await seat.send('Again.')).result)).toMatchObject({ turn: 2, reason: 'done' })
    expect((await sound(made, seat.id)).filter(({ type }) => type === 'turn/cancel')).toHaveLength(1)
  })

  it('a cancel of a turn that was left open ends it, without another request', async () => {
    const { asked, script } = held()
    const made = await app({ script })
    const seat = await made.ctx.desk.open(MODEL)
    const sent = await seat.send('Go.')
    await asked
    await seat.park()
    await seat.cancel()
    expect(await settles(sent.result)).toMatchObject({ turn: 1, reason: 'cancelled' })
    expect(made.model.requests).toHaveLength(1)
  })
})

describe('questions', () => {
  it('are asked where somebody attends, and answered once; a second answer is refused in the words of the log', async () => {
    const made = await app({ plugins: [careful], script: [{ calls: [{ name: 'knock' }] }, 'ok'] })
    const seat = await made.ctx.desk.open(MODEL)
    seat.attend()
    const sent = await seat.send('Go.')
    const [question] = await until(() => seat.questions.length > 0 && seat.questions)
    expect(question).toMatchObject({ session: seat.id, kind: 'permission', question: 'Knock?' })
    await expect(settles(seat.answer(question!, 'maybe'))).rejects.toMatchObject({ code: 'ANSWER_INVALID' })
    const answers = await settles(Promise.allSettled([seat.answer(question!, 'allow'), seat.answer(question!, 'deny')]))
    expect(answers).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'QUESTION_CLOSED', message: expect.stringContaining('was answered by user already') } }])
    expect(await settles(sent.result)).toMatchObject({ reason: 'done', text: 'ok' })
    expect((await sound(made, seat.id)).find(({ type }) => type === 'question/answered')!.data).toMatchObject({ by: 'user', answer: 'allow', letter: expect.any(String) })
    await expect(settles(seat.answer(question!.seq, 'deny'))).rejects.toMatchObject({ code: 'QUESTION_CLOSED' })
  })

  it('are asked where nobody attends of nobody', async () => {
    const made = await app({ plugins: [careful], script: [{ calls: [{ name: 'knock' }] }, 'ok'] })
    const seat = await made.ctx.desk.open(MODEL)
    seat.attend()()
    await settles((await seat.send('Go.')).result)
    expect((await sound(made, seat.id)).flatMap((event) => (event.type === 'tool/result' ? [event.data.outcome] : []))).toEqual(['denied'])
  })

  it('of a session under one are seen and answered at it', async () => {
    const made = await app({ plugins: [careful], script: (request) => (request.messages.length > 1 ? 'ok' : { calls: [{ name: 'knock' }] }) })
    const seat = await made.ctx.desk.open(MODEL)
    seat.attend()
    made.ctx.tools.define({ name: 'delegate', description: 'Delegates.', parameters: { type: 'object' }, execute: async (_input, run) => {
      const { session } = run.agent
      const call = { assistant: [...session.events()].findLast(({ type }) => type === 'assistant/message')!.seq, index: run.call.index }
      const child = await made.ctx.agents.create({ id: 'child', ...MODEL, under: { session: run.agent.id, call } })
      session.append({ type: 'agent/child', data: { session: child.id, ...call } })
      await session.flush()
      const { text } = await child.prompt('Knock.').result
      await child.dispose()
      return text
    } })
    made.ctx.llm.adapter('parent', { async *stream(request) {
      if (request.messages.length === 1) yield { type: 'tool-call', index: 0, id: 'c', name: 'delegate', arguments: '{}' }
      else yield { type: 'text', text: 'all done' }
      yield { type: 'finish', reason: request.messages.length === 1 ? 'tool-calls' : 'stop' }
    } })
    const parent = await made.ctx.desk.open({ model: 'parent/model' })
    parent.attend()
    const sent = await parent.send('Go.')
    const [question] = await until(() => parent.questions.length > 0 && parent.questions)
    expect(question!.session).toBe('child')
    expect(seat.questions).toEqual([])
    await settles(parent.answer(question!, 'allow'))
    expect(await settles(sent.result)).toMatchObject({ reason: 'done', text: 'all done' })
    expect((await eventsOf(made.store, 'child')).some((event) => event.type === 'question/answered' && event.data.by === 'user')).toBe(true)
    await expect(settles(parent.answer(question!, 'deny'))).rejects.toMatchObject({ code: 'QUESTION_CLOSED' })
  })
})

describe('idle', () => {
  const MINUTE = 60_000

  it('parks a session that has nothing to do, after the time and not before, and the next call goes on', async () => {
    const clock = stopClock()
    const made = await app({ script: ['one', 'two'], config: { idle: 10, cache: 15 } })
    const seat = await made.ctx.desk.open(MODEL)
    const done = async (text: string): Promise<void> => {
      const { result } = await seat.send(text)
      const told = settles(result)
      await clock.pass(100)
      await told
    }
    await done('Hi')
    await clock.pass(14 * MINUTE)
    expect(seat.state).toBe('here')
    await clock.pass(2 * MINUTE)
    expect([seat.state, made.ctx.agents.ids()]).toEqual(['parked', []])
    await done('Again')
    expect(seat.state).toBe('here')
    await sound(made, seat.id)
  })

  it('does not while it runs, or something is asked', async () => {
    const clock = stopClock()
    const made = await app({ plugins: [careful], script: [{ calls: [{ name: 'knock' }] }, 'ok'] })
    const seat = await made.ctx.desk.open(MODEL)
    seat.attend()
    const sent = await seat.send('Go.')
    await clock.pass(100)
    await clock.pass(60 * MINUTE)
    expect([seat.state, seat.questions.length]).toEqual(['here', 1])
    const answered = seat.answer(seat.questions[0]!, 'allow')
    const told = settles(sent.result)
    await clock.pass(100)
    await answered
    await told
    await clock.pass(21 * MINUTE)
    expect(seat.state).toBe('parked')
  })

  it('a letter that comes as it is given back is not left lying', async () => {
    const clock = stopClock()
    const made = await app()
    const seat = await made.ctx.desk.open(MODEL)
    let posted = false
    made.ctx.agents.get(seat.id)!.ctx.effect(() => () => {
      posted = true
      // Its mail is not looked at any more.
      return made.store.post(seat.id, { kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } }).then(() => undefined)
    })
    await clock.pass(11 * MINUTE)
    expect(posted).toBe(true)
    await clock.pass(1_000)
    await untilLogged(made.store, seat.id, 'turn/end')
  })
})

describe('when the app goes', () => {
  it('all is parked, who follows and who waits is told, and nothing runs on; the next app goes on with it', async () => {
    const { asked, script } = held()
    const store = new MemoryStore()
    const made = await app({ script, store })
    const seat = await made.ctx.desk.open(MODEL)
    const reader = new Reader(seat)
    const [sent, later] = [await seat.send('Go.'), await seat.send('And then.')]
    const results = [sent.result, later.result]
    await asked
    await settles(made.dispose())
    await settles(reader.over)
    for (const result of results) expect(await settles(result)).toMatchObject({ reason: 'parked', error: { code: 'DESK_CLOSED' } })
    expect((await store.card(seat.id)).state).toBe('parked')
    const next = await app({ script: ['one', 'two'], store })
    const again = await next.ctx.desk.open(seat.id)
    expect((await untilLogged(store, seat.id, 'turn/end', 2)).map(({ data }) => data.reason)).toEqual(['done', 'done'])
    expect(again.state).toBe('here')
    await sound(next, seat.id)
  })

  it('in the middle of an open leaves nobody with the session', async () => {
    const store = new MemoryStore()
    const made = await app({ store })
    const { id } = await made.ctx.desk.open(MODEL)
    await made.ctx.desk.live[0]!.park()
    const [begun, hold] = [gate(), gate()]
    const opening = made.ctx.desk.open(id, { setup: async () => {
      begun.open()
      await hold.promise
    } })
    opening.catch(() => undefined)
    await begun.promise
    const gone = made.dispose()
    hold.open()
    await settles(gone)
    await expect(settles(opening)).rejects.toThrow()
    const lease = await store.lease(id)
    await lease.release()
    await turns()
    expect((await store.card(id)).holder).toBeUndefined()
  })
})

describe('a lease that is lost', () => {
  it('ends the life here; the next call looks who has the session, and goes on where nobody does', async () => {
    const store = new MemoryStore()
    const losing = new AbortController()
    const { lease } = store
    let isTaken = false
    store.lease = async (id) => {
      if (isTaken) throw new SessionBusyError(id, 'pid 1 on elsewhere')
      const own: Lease = await lease.call(store, id)
      return losing.signal.aborted ? own : { ...own, lost: losing.signal }
    }
    const made = await app({ store, script: ['one'] })
    const seat = await made.ctx.desk.open(MODEL)
    await seat.park()
    await seat.drive()
    isTaken = true
    losing.abort()
    await until(() => seat.state === 'parked')
    const sent = await seat.send('Hi')
    await until(() => seat.state === 'elsewhere')
    await expect(seat.drive()).rejects.toMatchObject({ code: 'SESSION_BUSY' })
    expect(await store.letters(seat.id)).toHaveLength(1)
    isTaken = false
    expect(await settles(sent.result)).toMatchObject({ turn: 1, text: 'one' })
  })
})

it('list gives cards, fork a session of its own, remove nothing that is at work', async () => {
  const { asked, open, script } = held()
  const made = await app({ script })
  const seat = await made.ctx.desk.open({ ...MODEL, title: 'First' })
  const sent = await seat.send('Go.')
  await asked
  await expect(made.ctx.desk.remove(seat.id)).rejects.toMatchObject({ code: 'SESSION_BUSY' })
  open()
  await settles(sent.result)
  const fork = await made.ctx.desk.fork(seat.id)
  expect(await settles((await fork.send('And?')).result)).toMatchObject({ turn: 2, text: 'answer 2' })
  const cards = []
  for await (const card of made.ctx.desk.list()) cards.push(card)
  expect(cards.map(({ id, title }) => ({ id, title }))).toEqual(expect.arrayContaining([{ id: seat.id, title: 'First' }, expect.objectContaining({ id: fork.id })]))
  expect(made.ctx.desk.live.map(({ id }) => id)).toEqual([seat.id, fork.id])
  await made.ctx.desk.remove(seat.id)
  expect(made.ctx.desk.live.map(({ id }) => id)).toEqual([fork.id])
  onTestFinished(() => fork.park())
})
