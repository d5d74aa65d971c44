import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chainOf, textOf } from '@headrace/message'
import { type EntryId, Fold, MemoryStore, Session, type SessionEvent, checkEvent, verify } from '@headrace/session'
import { LogBuilder, assistant, call, system, user } from './log-builder.ts'

const shown = ({ fold: { surface } }: LogBuilder): string[] => surface.snapshot().entries.map(({ message }) => textOf(message))
const standing = ({ fold: { surface } }: LogBuilder): number[] => surface.turns.map(({ turn }) => turn)

function turn(log: LogBuilder, text: string): void {
  log.prompt(text)
  log.lastStep(`${text}!`)
  log.endTurn()
}

function rewind(log: LogBuilder, to: number): number {
  return log.add('surface/rewind', { turn: to, owner: 'app', reason: 'test' })
}

function threeTurns(): LogBuilder {
  const log = new LogBuilder({ seed: [user('seed'), assistant('seeded')] })
  for (const text of ['one', 'two', 'three']) turn(log, text)
  return log
}

describe('surface/rewind', () => {
  it('makes the history what it was when a turn began; what comes next stands behind that', () => {
    const log = threeTurns()
    rewind(log, 2)
    expect(shown(log)).toEqual(['seed', 'seeded', 'one', 'one!'])
    turn(log, 'four')
    expect(shown(log)).toEqual(['seed', 'seeded', 'one', 'one!', 'four', 'four!'])
    expect(verify(log.parsed)).not.toHaveProperty('difference')
  })

  it('keeps what stood in front of the turn, messages between turns included', () => {
    const log = new LogBuilder()
    turn(log, 'one')
    log.context(system('between'))
    turn(log, 'two')
    rewind(log, 2)
    expect(shown(log)).toEqual(['one', 'one!', 'between'])
    rewind(log, 1)
    expect(shown(log)).toEqual([])
  })

  it('tells which turns still stand; a rewind to a turn that was taken back brings back what stood before it', () => {
    const log = threeTurns()
    expect(standing(log)).toEqual([1, 2, 3])
    rewind(log, 2)
    expect(standing(log)).toEqual([1])
    turn(log, 'four')
    expect(standing(log)).toEqual([1, 4])
    rewind(log, 4)
    expect(standing(log)).toEqual([1])
    rewind(log, 3)
    expect(standing(log)).toEqual([1, 2])
    expect(shown(log)).toEqual(['seed', 'seeded', 'one', 'one!', 'two', 'two!'])
  })

  it('goes past a replacement: the messages come back under their ids, tool pairs whole', () => {
    const log = new LogBuilder()
    turn(log, 'one')
    log.prompt('two')
    log.toolStep('looking', 'a', 'b')
    log.lastStep('found')
    log.endTurn()
    const before = log.fold.surface.snapshot()
    const entries = before.entries.slice(0, before.length)
    turn(log, 'three')
    log.add('surface/replace', { first: entries[0]!.id, last: entries.at(-1)!.id, messages: [{ message: system('summary'), owner: 'x/y' }], owner: 'x/y', reason: 'r' })
    turn(log, 'four')
    rewind(log, 3)
    expect(log.fold.surface.snapshot().entries).toEqual(entries)
    turn(log, 'five')
    expect(verify(log.parsed)).not.toHaveProperty('difference')
  })

  it('settles what was owed, and leaves the queue as it is', () => {
    const log = new LogBuilder()
    turn(log, 'one')
    const waits = log.queue('waits')
    log.context(system('look'), true)
    expect(log.fold.ledger.owed).toBe(true)
    rewind(log, 1)
    expect(log.fold.ledger.owed).toBe(false)
    expect(log.fold.ledger.queue.map(({ seq }) => seq)).toEqual([waits])
    log.turn(waits)
    log.add('user/message', { message: user('waits'), owner: 'user', prompt: waits })
    expect(log.fold.ledger.owed).toBe(true)
  })

  it('is refused inside a turn, in a step or not, and for a turn that never began', () => {
    const log = threeTurns()
    expect(() => rewind(log, 4)).toThrow('there is no turn 4 to go back to; the newest is 3')
    expect(() => rewind(threeTurns(), 0)).toThrow('there is no turn 0')
    const open = threeTurns()
    open.prompt('four')
    expect(() => rewind(open, 2)).toThrow('a rewind inside turn 4')
    const inStep = threeTurns()
    inStep.prompt('four')
    inStep.step()
    inStep.answer(assistant('', call('1')))
    expect(() => rewind(inStep, 4)).toThrow('a rewind inside turn 4')
  })

  it('leaves snapshots that were taken before as they were', () => {
    const log = threeTurns()
    const { entries, length } = log.fold.surface.snapshot()
    const texts = entries.map(({ message }) => textOf(message))
    rewind(log, 2)
    turn(log, 'four')
    expect(entries.slice(0, length).map(({ message }) => textOf(message))).toEqual(texts)
  })

  it('is required to read a log, so that a reader that does not know it does not rebuild something else', async () => {
    const session = await Session.create(new MemoryStore(), { id: 'demo' })
    session.append({ type: 'turn/start', data: { turn: 1, woke: 'wake' } })
    session.append({ type: 'turn/end', data: { turn: 1, reason: 'done', settled: 1 } })
    const event = session.append({ type: 'surface/rewind', data: { turn: 1, owner: 'app', reason: 'test' } })
    expect(event.required).toBe(true)
    expect(session.at(1)).not.toHaveProperty('required')
    expect(() => session.view.append({ type: 'surface/rewind', data: { turn: 1, owner: 'app', reason: 'x' } })).toThrow('written by the loop only')
  })

  it('is checked like every event', () => {
    const of = (data: unknown): unknown => ({ seq: 1, time: 0, type: 'surface/rewind', data, required: true })
    expect(() => checkEvent({ seq: 1, time: 0, type: 'surface/rewind', data: { turn: 1, owner: 'app', reason: 'r' } })).toThrow('required must be true for a surface/rewind')
    expect(() => checkEvent(of({ owner: 'app', reason: 'r' }))).toThrow('turn must be a whole number')
    expect(() => checkEvent(of({ turn: 1, reason: 'r' }))).toThrow('owner must be a string')
    expect(() => checkEvent(of({ turn: 1, owner: 'app' }))).toThrow('reason must be a string')
  })

  it('any mix of turns, replacements and rewinds folds to the history that a plain list of copies has, chain included', () => {
    const action = fc.oneof(
      { weight: 4, arbitrary: fc.constant({ do: 'turn' as const, a: 0, b: 0 }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('rewind' as const, 'replace' as const, 'context' as const), a: fc.nat(), b: fc.nat() }) },
    )
    fc.assert(fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
      const log = new LogBuilder()
      const copies: string[][] = []
      let count = 0
      for (const { do: what, a, b } of actions) {
        if (what === 'turn') {
          copies.push(shown(log))
          turn(log, `t${count++}`)
        } else if (what === 'context') log.context(system(`c${count++}`))
        else if (what === 'rewind' && copies.length > 0) {
          rewind(log, (a % copies.length) + 1)
          expect(shown(log)).toEqual(copies[a % copies.length])
        } else if (what === 'replace') replaceSome(log, a, b, `r${count++}`)
        const { entries } = log.fold.surface.snapshot()
        expect(log.fold.surface.chain()).toBe(chainOf(entries.map(({ message }) => message)))
      }
      expect(verify(log.parsed)).not.toHaveProperty('difference')
      expect(Fold.of(log.parsed as SessionEvent[]).surface.snapshot().entries).toEqual(log.fold.surface.snapshot().entries)
    }))
  })
})

function replaceSome(log: LogBuilder, a: number, b: number, text: string): void {
  const { entries } = log.fold.surface.snapshot()
  if (entries.length === 0) return
  const [first, last] = [a % entries.length, b % entries.length].sort((x, y) => x - y) as [number, number]
  log.add('surface/replace', { first: entries[first]!.id as EntryId, last: entries[last]!.id as EntryId, messages: [{ message: system(text), owner: 'x/y' }], owner: 'x/y', reason: 'r' })
}
