import { describe, expect, it } from 'vitest'
import { Fold, KNOWN_KEYS } from '@headrace/session'
import { LogBuilder, assistant, call, result, system, user } from './log-builder.ts'

describe('owed', () => {
  it('is nothing in a log that begins', () => {
    expect(new LogBuilder().fold.ledger.owed).toBe(false)
    expect(new LogBuilder({ seed: [user('a'), assistant('b')] }).fold.ledger.owed).toBe(false)
  })

  it('is not what only waits in the queue', () => {
    const log = new LogBuilder()
    log.queue('later')
    expect(log.fold.ledger.owed).toBe(false)
    log.turn(1)
    expect(log.fold.ledger).toMatchObject({ owed: false, turn: { unsubmitted: true, prompt: 1 } })
  })

  it('is a prompt until a step dispatch that saw it ended ok', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    expect(log.fold.ledger).toMatchObject({ owed: true, turn: { unsubmitted: false } })
    log.step()
    const dispatch = log.dispatch()
    expect(log.fold.ledger.owed).toBe(true)
    log.ok(dispatch)
    expect(log.fold.ledger.owed).toBe(false)
  })

  it.each(['error', 'aborted'] as const)('stays where the dispatch ended %s, and is answered by the next attempt', (outcome) => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    log.add('request/end', { dispatch: log.dispatch(), outcome })
    expect(log.fold.ledger.owed).toBe(true)
    log.ok(log.dispatch())
    expect(log.fold.ledger.owed).toBe(false)
  })

  it('is a tool result until a later step saw it', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.toolStep('', '1')
    expect(log.fold.ledger.owed).toBe(true)
    log.lastStep('done')
    expect(log.fold.ledger.owed).toBe(false)
  })

  it('is no result of a batch with one that ends the turn, whichever came first; what came beside is', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const seq = log.answer(assistant('', call('1'), call('2'), call('3')))
    const end = (index: number, id: string, more: { endTurn?: true } = {}): unknown =>
      log.add('tool/result', { assistant: seq, index, message: result(id, 'x'), outcome: 'done', ...more })
    end(0, '1')
    expect(log.fold.ledger.owed).toBe(true)
    end(2, '3', { endTurn: true })
    expect(log.fold.ledger.owed).toBe(false)
    end(1, '2')
    expect(log.fold.ledger.owed).toBe(false)
    log.context(user('wait'), true)
    expect(log.fold.ledger.owed).toBe(true)
  })

  it('is a steer that came behind the boundary, not one that came before it', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.context(user('seen'), true)
    log.step()
    log.context(system('an inject wakes nobody'))
    log.answer(assistant('done'))
    expect(log.fold.ledger.owed).toBe(false)
    log.context(user('not seen'), true)
    log.endStep()
    expect(log.fold.ledger.owed).toBe(true)
    log.lastStep('seen now')
    expect(log.fold.ledger.owed).toBe(false)
  })

  it('is not an inject, nor what a compaction wrote', () => {
    const log = new LogBuilder()
    log.context(system('a fact'))
    log.add('surface/replace', { first: '1', last: '1', messages: [{ message: system('shorter'), owner: 'x/y' }], owner: 'x/y', reason: 'test' })
    expect(log.fold.ledger.owed).toBe(false)
  })

  it('is not answered by a side request', () => {
    const log = new LogBuilder()
    log.prompt('one')
    log.lastStep('done')
    log.context(user('steered'), true)
    const side = log.ask('title', [{ message: user('A title?'), owner: 'app' }])
    log.add('request/end', { dispatch: side, outcome: 'ok', answer: assistant('Mills') })
    expect(log.fold.ledger.owed).toBe(true)
    log.step()
    const inside = log.ask('title', [{ message: user('A title?'), owner: 'app' }])
    log.ok(inside)
    expect(log.fold.ledger.owed).toBe(true)
  })

  it('is settled by turn/end up to the seq it names, and no further', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    const steer = log.context(user('and that'), true)
    log.add('turn/end', { turn: 1, reason: 'error', settled: steer - 1 })
    expect(log.fold.ledger.owed).toBe(true)
    log.turn()
    log.endTurn()
    expect(log.fold.ledger.owed).toBe(false)
  })
})

describe('the queue', () => {
  it('keeps prompts and steers in the order they were accepted, until each is taken or withdrawn', () => {
    const log = new LogBuilder()
    const [one, two] = [log.queue('one'), log.queue('two')]
    const steer = log.add('prompt/queued', { input: user('steer'), owner: 'user', steer: true, context: { facts: [] } })
    expect(log.fold.ledger.queue).toEqual([
      { seq: one, input: user('one'), owner: 'user', steer: false },
      { seq: two, input: user('two'), owner: 'user', steer: false },
      { seq: steer, input: user('steer'), owner: 'user', steer: true, context: { facts: [] } },
    ])
    log.turn(one)
    log.add('user/message', { message: user('one'), owner: 'user', prompt: one })
    log.add('user/message', { message: user('steer'), owner: 'user', prompt: steer })
    log.add('prompt/withdrawn', { prompt: two, reason: 'test' })
    expect(log.fold.ledger.queue).toEqual([])
  })

  it('shows nothing that can be changed', () => {
    const log = new LogBuilder()
    log.queue('one')
    expect(() => { (log.fold.ledger.queue[0]!.input.content[0] as { text: string }).text = 'x' }).toThrow(TypeError)
  })

  it.each([
    ['a prompt that was never queued', (log: LogBuilder) => log.turn(7), 'prompt 7 is not in the queue'],
    ['a prompt twice', (log: LogBuilder) => { const one = log.queue('x'); log.turn(one); log.add('prompt/withdrawn', { prompt: one, reason: 'r' }) }, 'is not in the queue'],
    ['a user message of no prompt', (log: LogBuilder) => log.add('user/message', { message: user('x'), owner: 'user', prompt: 0 }), 'prompt 0 is not in the queue'],
    ['a user message twice', (log: LogBuilder) => { const seq = log.prompt('x'); log.add('user/message', { message: user('x'), owner: 'user', prompt: seq - 2 }) }, 'is not in the queue'],
  ])('refuses %s', (_name, act, problem) => {
    expect(() => act(new LogBuilder())).toThrow(problem)
  })
})

describe('turns, steps and requests nest', () => {
  it.each([
    ['a turn inside a turn', (log: LogBuilder) => { log.turn(); log.turn() }, 'starts inside turn 1'],
    ['a turn that skips a number', (log: LogBuilder) => log.add('turn/start', { turn: 2, woke: 'wake' }), 'turn 2 follows turn 0'],
    ['the end of no turn', (log: LogBuilder) => log.add('turn/end', { turn: 1, reason: 'done', settled: 0 }), 'not open'],
    ['the end of a turn that settles what has not come yet', (log: LogBuilder) => { log.prompt('x'); log.add('turn/end', { turn: 1, reason: 'done', settled: 1e300 }) }, 'settles event 1e+300'],
    ['the end of a turn inside its step', (log: LogBuilder) => { log.turn(); log.step(); log.endTurn() }, 'ends inside its step 1'],
    ['a step outside a turn', (log: LogBuilder) => log.add('step/start', { turn: 1, step: 1 }), 'cannot have one'],
    ['a step inside a step', (log: LogBuilder) => { log.turn(); log.step(); log.step() }, 'cannot have one'],
    ['a step that skips a number', (log: LogBuilder) => { log.turn(); log.add('step/start', { turn: 1, step: 2 }) }, 'step 2 follows step 0'],
    ['the end of another step', (log: LogBuilder) => { log.turn(); log.step(); log.add('step/end', { turn: 1, step: 2, reason: 'done', digest: '' }) }, 'not open'],
    ['the end of no dispatch', (log: LogBuilder) => log.ok(3), 'dispatch 3, which is not open'],
    ['the end of a dispatch twice', (log: LogBuilder) => { log.turn(); log.step(); const dispatch = log.dispatch(); log.ok(dispatch); log.ok(dispatch) }, 'not open'],
  ])('refuses %s', (_name, act, problem) => {
    expect(() => act(new LogBuilder())).toThrow(expect.objectContaining({ name: 'LogError', message: expect.stringContaining(problem) as string }) as Error)
  })

  it('counts turns and steps, and knows the dispatches that have no end', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.toolStep('', '1')
    const boundary = log.step()
    const dispatch = log.dispatch()
    const side = log.ask('title', [])
    expect(log.fold.ledger).toMatchObject({
      turns: 1,
      openDispatches: [dispatch, side],
      turn: { number: 1, steps: 2, step: { number: 2, boundary } },
    })
    const seq = log.answer(assistant('', call('1')))
    log.result(seq, 0, result('1', 'x'))
    log.endStep()
    expect(log.fold.ledger.turn!.step).toBeUndefined()
    log.endTurn()
    expect(log.fold.ledger).toMatchObject({ turns: 1, turn: undefined })
  })
})

describe('what was said of a session', () => {
  it('is its title, given at first or later, and what it was created with', () => {
    const log = new LogBuilder({ id: 'demo' })
    expect(log.fold.ledger).toMatchObject({ title: undefined, origin: { id: 'demo' } })
    log.add('session/title', { title: 'One', owner: 'app' })
    log.add('session/title', { title: 'Two', owner: 'title/title' })
    expect(log.fold.ledger.title).toBe('Two')
    const under = { session: 'parent', call: { assistant: 4, index: 1 } }
    expect(new LogBuilder({ title: 'First', under }).fold.ledger).toMatchObject({ title: 'First', origin: { under } })
  })
})

describe('a key', () => {
  it('is known by its newest prompt, also when that was taken', () => {
    const log = new LogBuilder()
    const queue = (key: string, text: string) => log.add('prompt/queued', { input: user(text), owner: 'user', key, letter: `of ${text}` })
    queue('a', 'one')
    const two = queue('b', 'two')
    log.turn(two)
    const { ledger } = log.fold
    expect(ledger.promptOf('b')).toMatchObject({ seq: two, key: 'b', input: user('two') })
    expect(ledger.promptOf('c')).toBeUndefined()
    expect([ledger.isTaken('of one'), ledger.isTaken('of two'), ledger.isTaken('of three')]).toEqual([true, true, false])
  })

  it('is known for the newest thousand, no more', () => {
    const log = new LogBuilder()
    for (let index = 0; index <= KNOWN_KEYS; index++) log.add('prompt/queued', { input: user('x'), owner: 'user', key: `${index}` })
    expect([log.fold.ledger.promptOf('0'), log.fold.ledger.promptOf('1')]).toMatchObject([undefined, { seq: 2 }])
  })

  it('was given to a fork\'s parent, not to the fork', () => {
    const log = new LogBuilder({ parent: 'other', at: 1 })
    log.add('prompt/queued', { input: user('x'), owner: 'user', key: 'a' })
    log.add('prompt/queued', { input: user('x'), owner: 'user', key: 'b' })
    expect([log.fold.ledger.promptOf('a'), log.fold.ledger.promptOf('b')]).toMatchObject([undefined, { seq: 2 }])
  })
})

describe('a letter', () => {
  it('is taken by any event that names it', () => {
    const log = new LogBuilder()
    log.add('prompt/queued', { input: user('x'), owner: 'user', letter: '1' })
    log.add('prompt/withdrawn', { prompt: 1, reason: 'r', letter: '2' })
    log.add('turn/cancel', { turn: 1, reason: 'r', letter: '3' })
    log.add('question/answered', { question: 1, answer: 1, by: 'user', letter: '4' })
    log.add('letter/refused', { letter: '5', reason: 'r' })
    expect(['1', '2', '3', '4', '5', '6'].filter((letter) => log.fold.ledger.isTaken(letter))).toEqual(['1', '2', '3', '4', '5'])
  })
})

describe('a cancel', () => {
  it('is of the turn that it names; the first says why', () => {
    const log = new LogBuilder()
    log.prompt('x')
    log.add('turn/cancel', { turn: 2, reason: 'of another' })
    expect(log.fold.ledger.turn!.cancelled).toBeUndefined()
    for (const reason of ['enough', 'really']) log.add('turn/cancel', { turn: 1, reason })
    expect(log.fold.ledger.turn!.cancelled).toBe('enough')
    log.endTurn()
    log.prompt('y')
    expect(log.fold.ledger.turn!.cancelled).toBeUndefined()
  })
})

describe('a question', () => {
  const asked = (fork: object = {}) => {
    const log = new LogBuilder(fork)
    log.prompt('x')
    log.step()
    const seq = log.answer(assistant('', call('1'), call('2')))
    const ask = (index: number) => log.add('question/asked', { assistant: seq, index, kind: 'permission', question: 'May it?' })
    return { log, seq, ask }
  }

  it('is open until it is answered, or its call has a result', () => {
    const { log, seq, ask } = asked()
    const [one, two, again] = [ask(0), ask(1), ask(0)]
    expect(log.fold.ledger.questions.map((question) => question.seq)).toEqual([one, two, again])
    log.add('question/answered', { question: two, answer: 'allow', by: 'user' })
    expect(log.fold.ledger.questions).toMatchObject([{ seq: one, kind: 'permission' }, { seq: again }])
    log.result(seq, 0, result('1', 'denied'))
    expect(log.fold.ledger.questions).toEqual([])
  })

  it('is about a call of the open step', () => {
    const { log, seq, ask } = asked()
    expect(() => ask(2)).toThrow('no call 2')
    log.fold = Fold.of(log.events)
    expect(() => log.add('approval/decided', { assistant: seq, index: 3, rule: 'r', decision: 'deny' })).toThrow('no call 3')
  })

  it('takes the first answer; what is to be remembered of it stays', () => {
    const { log, ask } = asked()
    const seq = ask(0)
    for (const answer of ['deny', 'allow']) log.add('question/answered', { question: seq, answer, by: 'user', remember: 'session' })
    expect(log.fold.ledger.remembered).toMatchObject([{ answer: 'deny' }])
  })

  it('of a fork\'s parent is remembered there only', () => {
    const { log, ask } = asked({ parent: 'other', at: 20 })
    log.add('question/answered', { question: ask(0), answer: 'allow', by: 'user', remember: 'session' })
    expect(log.fold.ledger.remembered).toEqual([])
  })
})
