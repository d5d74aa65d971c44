import { describe, expect, it } from 'vitest'
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
    expect(log.fold.ledger).toMatchObject({ turns: 1, openDispatches: [dispatch, side], turn: { number: 1, steps: 2, step: { number: 2, boundary } } })
    const seq = log.answer(assistant('', call('1')))
    log.result(seq, 0, result('1', 'x'))
    log.endStep()
    expect(log.fold.ledger.turn!.step).toBeUndefined()
    log.endTurn()
    expect(log.fold.ledger).toMatchObject({ turns: 1, turn: undefined })
  })
})
