import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Message, chainOf, textOf } from '@headrace/message'
import { type Entry, type EntryId, type SessionEvent, Surface, unpaired } from '@headrace/session'
import { LogBuilder, assistant, call, result, system, user } from './log-builder.ts'

const textsOf = (messages: readonly Message[]): string[] => messages.map((message) => (message.role === 'tool' ? `=${message.content[0].id}` : textOf(message) || `call ${message.content.map((block) => (block.type === 'tool-call' ? block.id : '?')).join()}`))
const shown = ({ fold: { surface } }: LogBuilder): string[] => textsOf(surface.snapshot().entries.map(({ message }) => message))
const ids = ({ fold: { surface } }: LogBuilder): string[] => surface.snapshot().entries.map(({ id }) => id)

describe('an open step', () => {
  it('leaves the history what it was at the boundary, until it ends (L3)', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const seq = log.answer(assistant('', call('1')))
    log.context(system('injected'))
    expect(shown(log)).toEqual(['do it'])
    log.add('tool/start', { assistant: seq, index: 0 })
    log.result(seq, 0, result('1', 'found'))
    expect(shown(log)).toEqual(['do it'])
    log.endStep()
    expect(shown(log)).toEqual(['do it', 'call 1', '=1', 'injected'])
  })

  it('places what was appended while it was open behind its answer and results, whatever the timing', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    log.context(system('before the answer'))
    const seq = log.answer(assistant('', call('1'), call('2')))
    log.context(user('a steer'), true)
    log.result(seq, 1, result('2', 'second'), system('of 2'))
    log.context(system('between'))
    log.result(seq, 0, result('1', 'first'), system('of 1'), system('of 1 too'))
    log.endStep()
    expect(shown(log)).toEqual(['do it', 'call 1,2', '=1', '=2', 'of 1', 'of 1 too', 'of 2', 'before the answer', 'a steer', 'between'])
    expect(unpaired(log.fold.surface.snapshot().entries.map(({ message }) => message))).toBeUndefined()
  })

  it('gives each entry the seq of its event, and a part where an event has several', () => {
    const log = new LogBuilder({ seed: [user('a'), assistant('b')] })
    log.prompt('c')
    log.step()
    const seq = log.answer(assistant('', call('1')))
    const found = log.result(seq, 0, result('1', 'x'), system('y'), system('z'))
    log.endStep()
    expect(ids(log)).toEqual(['0', '0.1', '3', `${seq}`, `${found}`, `${found}.1`, `${found}.2`])
    expect(log.fold.surface.snapshot().entries.map(({ owner }) => owner)).toEqual(['user', 'model', 'user', 'model', 'tool', 'test/context', 'test/context'])
    // A request reads each of them: of several shapes, that takes several times as long.
    expect(new Set(log.fold.surface.snapshot().entries.map((entry) => Object.keys(entry).join())).size).toBe(1)
  })

  it('without an answer adds only what was injected; an answer without content is no entry', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    log.context(system('injected'))
    log.endStep()
    expect(shown(log)).toEqual(['do it', 'injected'])
    log.step()
    log.answer(assistant(''))
    log.endStep()
    expect(shown(log)).toEqual(['do it', 'injected'])
  })

  it('shows in visible() what the model will have been told', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    expect(log.fold.surface.visible()).toEqual(log.fold.surface.snapshot().entries)
    log.step()
    log.answer(assistant('yes'))
    log.context(system('told'))
    const visible = log.fold.surface.visible()
    expect(textsOf(visible.map(({ message }) => message))).toEqual(['do it', 'yes', 'told'])
    log.endStep()
    expect(log.fold.surface.visible()).toEqual(visible)
  })

  it('shows nothing that can be changed, also of a log that was loaded', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    log.context(system('told'))
    const surface = new Surface()
    for (const event of log.parsed) surface.apply(event)
    const visible = surface.visible() as Entry[]
    for (const entry of [...visible, ...surface.snapshot().entries]) {
      expect(() => { (entry.message.content[0] as { text: string }).text = 'x' }).toThrow(TypeError)
      expect(() => { (entry as { owner: string }).owner = 'forged' }).toThrow(TypeError)
    }
    expect(() => { visible.length = 0 }).toThrow(TypeError)
    expect(surface.visible().length).toBe(2)
  })

  it('freezes also what was replaced after it was shown', () => {
    const log = new LogBuilder()
    log.context(system('one'))
    log.context(system('two'))
    log.add('surface/replace', { first: '1', last: '1', messages: [{ message: system('1'), owner: 'x/y' }], owner: 'x/y', reason: 'r' })
    const surface = new Surface()
    for (const event of log.parsed) {
      surface.apply(event)
      for (const { message } of surface.snapshot().entries) expect(Object.isFrozen(message.content[0])).toBe(true)
    }
    expect(surface.length).toBe(2)
  })

  it('names its calls that have no result, and which were started', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    expect(log.fold.surface.openCalls()).toEqual([])
    const seq = log.answer(assistant('', call('1'), call('1', 'write'), call('3')))
    log.add('tool/start', { assistant: seq, index: 1 })
    log.result(seq, 0, result('1', 'x'))
    expect(log.fold.surface.openCalls()).toEqual([
      { assistant: seq, index: 1, id: '1', name: 'write', started: true },
      { assistant: seq, index: 2, id: '3', name: 'read', started: false },
    ])
  })
})

describe('L16: tool pairs', () => {
  function stepWithCall(): { readonly log: LogBuilder; readonly seq: number } {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    return { log, seq: log.answer(assistant('', call('1'), call('2'))) }
  }

  it.each([
    ['a result without a call', (log: LogBuilder, seq: number) => log.result(seq, 2, result('3', 'x')), 'no call 2'],
    ['a result of another message', (log: LogBuilder, seq: number) => log.result(seq - 1, 0, result('1', 'x')), 'no call 0 of message'],
    ['a second result', (log: LogBuilder, seq: number) => { log.result(seq, 0, result('1', 'x')); log.result(seq, 0, result('1', 'y')) }, 'second result for call 0'],
    ['a result under another id', (log: LogBuilder, seq: number) => log.result(seq, 0, result('2', 'x')), 'the call is read 1'],
    ['a result under another name', (log: LogBuilder, seq: number) => log.result(seq, 0, result('1', 'x', 'write')), 'the result answers write 1'],
    ['a step that ends with a call open', (log: LogBuilder, seq: number) => { log.result(seq, 0, result('1', 'x')); log.endStep() }, 'call 1 (read) has no result'],
    ['a start of no call', (log: LogBuilder, seq: number) => log.add('tool/start', { assistant: seq, index: 5 }), 'no call 5'],
    ['a second answer', (log: LogBuilder) => log.add('assistant/message', { message: assistant('x'), dispatch: 0 }), 'second assistant message'],
    ['a user message in the step', (log: LogBuilder) => log.add('user/message', { message: user('x'), owner: 'user', prompt: log.queue('x') }), 'inside an open step'],
  ])('refuses %s', (_name, act, problem) => {
    const { log, seq } = stepWithCall()
    expect(() => act(log, seq)).toThrow(problem)
  })

  it('refuses an answer or a result outside a step', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    expect(() => new Surface().apply({ seq: 1, time: 0, type: 'assistant/message', data: { message: assistant('x'), dispatch: 0 } })).toThrow('outside a step')
    expect(() => log.result(3, 0, result('1', 'x'))).toThrow('no call 0')
  })

  it('takes ids that the model used before: positions tell calls apart', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.toolStep('', '1', '1')
    log.toolStep('', '1')
    expect(shown(log)).toEqual(['do it', 'call 1,1', '=1', '=1', 'call 1', '=1'])
  })

  it('refuses a seed with an incomplete pair', () => {
    expect(() => new LogBuilder({ seed: [user('a'), assistant('', call('1'))] })).toThrow('at message 2 (L16)')
    expect(() => new LogBuilder({ seed: [result('1', 'x')] })).toThrow('at message 0 (L16)')
    expect(() => new LogBuilder({ seed: [user('a'), assistant('', call('1')), result('1', 'x')] })).not.toThrow()
  })

  it('unpaired names the first message that breaks it', () => {
    const pair = [assistant('', call('1'), call('2')), result('1', 'x'), result('2', 'y')]
    expect(unpaired(pair)).toBeUndefined()
    expect(unpaired([pair[0]!, pair[2]!, pair[1]!])).toBe(1)
    expect(unpaired([pair[0]!, pair[1]!, system('x'), pair[2]!])).toBe(2)
    expect(unpaired(pair.slice(0, 2))).toBe(2)
    expect(unpaired([...pair, pair[2]!])).toBe(3)
  })
})

describe('surface/replace', () => {
  function replaced(log: LogBuilder, first: string, last: string, ...texts: string[]): void {
    log.add('surface/replace', { first: first as EntryId, last: last as EntryId, messages: texts.map((text) => ({ message: system(text), owner: 'test/compaction' })), owner: 'test/compaction', reason: 'test' })
  }

  function twoTurns(): LogBuilder {
    const log = new LogBuilder()
    log.prompt('one')
    log.toolStep('', '1')
    log.lastStep('done')
    log.endTurn()
    log.prompt('two')
    return log
  }

  it('keeps a steer of a tool step when what it stands behind is replaced, up to that result', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const seq = log.answer(assistant('', call('1')))
    const steer = log.context(user('but not there'), true)
    const found = log.result(seq, 0, result('1', 'x'))
    log.endStep()
    expect(steer).toBeLessThan(found)
    replaced(log, '3', `${found}`, 'summary')
    expect(shown(log)).toEqual(['summary', 'but not there'])
  })

  it('puts the messages in the place of the entries, under ids of its own', () => {
    const log = twoTurns()
    const [first, , , last] = ids(log)
    replaced(log, first!, last!, 'summary', 'more')
    const seq = log.events.length - 1
    expect(shown(log)).toEqual(['summary', 'more', 'two'])
    expect(ids(log).slice(0, 2)).toEqual([`${seq}`, `${seq}.1`])
    replaced(log, `${seq}.1`, `${seq}.1`)
    expect(shown(log)).toEqual(['summary', 'two'])
  })

  it('may take one message of an event with several', () => {
    const log = new LogBuilder({ seed: [user('a'), assistant('b'), user('c')] })
    replaced(log, '0.1', '0.1', 'B')
    expect(shown(log)).toEqual(['a', 'B', 'c'])
  })

  it('leaves a snapshot that was taken before as it was', () => {
    const log = twoTurns()
    const before = log.fold.surface.snapshot()
    const texts = textsOf(before.entries.slice(0, before.length).map(({ message }) => message))
    replaced(log, ids(log)[0]!, ids(log)[0]!, 'other')
    expect(textsOf(before.entries.slice(0, before.length).map(({ message }) => message))).toEqual(texts)
  })

  it.each([
    ['an unknown first entry', (all: string[]) => ['99', all[1]!], 'entry 99 is not on the surface'],
    ['an unknown last entry', (all: string[]) => [all[0]!, '3.1'], 'entry 3.1 is not on the surface'],
    ['an entry by another spelling', (all: string[]) => [`${all[0]!}.0`, all[1]!], 'is not on the surface'],
    ['entries in the wrong order', (all: string[]) => [all[4]!, all[0]!], 'stands before'],
    ['a call without its result', (all: string[]) => [all[1]!, all[1]!], 'L16'],
    ['a result without its call', (all: string[]) => [all[0]!, all[1]!], 'L16'],
  ])('refuses %s', (_name, range, problem) => {
    const log = twoTurns()
    const [first, last] = range(ids(log))
    const before = shown(log)
    expect(() => replaced(log, first!, last!, 'x')).toThrow(problem)
    expect(shown(log)).toEqual(before)
  })

  it('refuses an entry that was replaced already, and one while a step is open', () => {
    const log = twoTurns()
    const [first, , , last] = ids(log)
    replaced(log, first!, last!, 'summary')
    expect(() => replaced(log, first!, last!, 'again')).toThrow('replaced already')
    const other = twoTurns()
    other.step()
    expect(() => replaced(other, first!, last!, 'x')).toThrow('while a step is open')
  })

  it('refuses messages that would leave a call open', () => {
    const log = twoTurns()
    const [first] = ids(log)
    expect(() => log.add('surface/replace', { first: first as EntryId, last: first as EntryId, messages: [{ message: assistant('', call('9')), owner: 'x/y' }], owner: 'x/y', reason: 'test' })).toThrow('L16')
  })

  const group = fc.oneof(fc.constant('text' as const), fc.integer({ min: 1, max: 3 }))
  const added = fc.array(fc.constantFrom('text', 'result-a', 'result-b', 'call-a', 'call-ab'), { maxLength: 3 })

  function seedOf(groups: readonly ('text' | number)[]): Message[] {
    return groups.flatMap((size, at): Message[] => {
      if (size === 'text') return [user(`text ${at}`)]
      const named = Array.from({ length: size }, (_, index) => (at % 2 === 0 ? 'ab'[index] ?? 'c' : `${at}-${index}`))
      return [assistant('', ...named.map((id) => call(id))), ...named.map((id) => result(id, 'r'))]
    })
  }

  function messageOf(what: string): Message {
    const [kind, names = ''] = what.split('-')
    if (kind === 'text') return user('new')
    return kind === 'result' ? result(names, 'new') : assistant('', ...[...names].map((id) => call(id)))
  }

  it('is refused exactly where the whole history would be left with a call or a result alone, wherever the range begins', () => {
    fc.assert(fc.property(fc.array(group, { minLength: 1, maxLength: 6 }), fc.nat(), fc.nat(), added, (groups, a, b, kinds) => {
      const seed = seedOf(groups)
      const log = new LogBuilder({ seed: seed as never })
      const [first, last] = [a % seed.length, b % seed.length].sort((x, y) => x - y) as [number, number]
      const messages = kinds.map(messageOf)
      const signed = messages.map((message) => ({ message, owner: 'x/y' }))
      const would = [...seed.slice(0, first), ...messages, ...seed.slice(last + 1)]
      const all = ids(log)
      const replacing = (): number => log.add('surface/replace', { first: all[first] as EntryId, last: all[last] as EntryId, messages: signed, owner: 'x/y', reason: 'r' } as never)
      if (unpaired(would) === undefined) {
        replacing()
        expect(textsOf(log.fold.surface.snapshot().entries.map(({ message }) => message))).toEqual(textsOf(would))
      } else expect(replacing).toThrow('L16')
    }), { numRuns: 500 })
  })

  it('of one after another leaves every snapshot that was taken on the way as it was, and the chain that of the history', () => {
    const few = fc.integer({ min: 0, max: 3 })
    const step = fc.record({ at: fc.nat(), length: fc.integer({ min: 1, max: 3 }), count: few, look: fc.boolean(), turn: fc.boolean() })
    fc.assert(fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const log = new LogBuilder({ seed: ['a', 'b', 'c', 'd', 'e'].map((text) => user(text)) as never })
      const taken: { readonly entries: readonly Entry[]; readonly length: number; readonly texts: readonly string[] }[] = []
      let model = ['a', 'b', 'c', 'd', 'e']
      for (const [round, { at, length, count, look, turn }] of steps.entries()) {
        if (turn) model.push(`prompt ${log.fold.surface.length && round}`)
        if (turn) log.prompt(model.at(-1)!)
        if (turn) log.endTurn()
        if (look) {
          const { entries, length: long } = log.fold.surface.snapshot()
          taken.push({ entries, length: long, texts: [...model] })
        }
        if (model.length === 0) continue
        const first = at % model.length
        const last = Math.min(model.length, first + length) - 1
        // Not by a snapshot: that would have a copy made each time.
        const all = log.fold.surface.visible().map(({ id }) => id)
        const texts = Array.from({ length: count }, (_, index) => `${round}.${index}`)
        replaced(log, all[first]!, all[last]!, ...texts)
        model = [...model.slice(0, first), ...texts, ...model.slice(last + 1)]
      }
      for (const { entries, length, texts } of taken) expect(textsOf(entries.slice(0, length).map(({ message }) => message))).toEqual(texts)
      expect(log.fold.surface.chain()).toBe(chainOf(log.fold.surface.visible().map(({ message }) => message)))
      expect(shown(log)).toEqual(model)
    }), { numRuns: 300 })
  })
})

type Act = { readonly kind: 'prompt' | 'inject' | 'tools' | 'answer' | 'replace'; readonly a: number; readonly b: number; readonly ask: boolean }

/** Runs random acts; each leaves a log that is well-formed. */
function play(acts: readonly Act[], after: (log: LogBuilder) => void): LogBuilder {
  const log = new LogBuilder()
  log.turn()
  for (const { kind, a, b, ask } of acts) {
    if (kind === 'prompt') log.add('user/message', { message: user(`p${a}`), owner: 'user', prompt: log.queue(`p${a}`) })
    if (kind === 'inject') log.context(system(`i${a}`))
    if (kind === 'tools') log.toolStep('', ...Array.from({ length: 1 + (a % 3) }, (_, index) => `${index}`))
    if (kind === 'answer') {
      log.step()
      log.context(system(`inside ${b}`))
      log.answer(assistant(`said ${a}`))
      if (ask) expect(log.fold.surface.closingChain()).toBe(chainOf(log.fold.surface.visible().map(({ message }) => message)))
      log.endStep()
    }
    if (kind === 'replace') tryReplace(log, a, b)
    if (ask) after(log)
  }
  return log
}

function tryReplace(log: LogBuilder, a: number, b: number): void {
  const { entries } = log.fold.surface.snapshot()
  if (entries.length === 0) return
  const [first, last] = [a % entries.length, b % entries.length].sort((x, y) => x - y)
  const event = { seq: log.events.length, time: 0, type: 'surface/replace', data: { first: entries[first!]!.id, last: entries[last!]!.id, messages: a % 2 ? [{ message: system(`r${a}`), owner: 'x/y' }] : [], owner: 'x/y', reason: 'test' } } as SessionEvent
  const probe = new Surface()
  for (const each of log.events) probe.apply(each)
  try {
    probe.apply(event)
  } catch {
    return
  }
  log.add('surface/replace', event.data as SessionEvent<'surface/replace'>['data'])
}

describe('the chain', () => {
  const acts = fc.array(fc.record({ kind: fc.constantFrom('prompt', 'inject', 'tools', 'answer', 'replace'), a: fc.nat({ max: 40 }), b: fc.nat({ max: 40 }), ask: fc.boolean() }), { maxLength: 25 }) as fc.Arbitrary<Act[]>

  it('kept while the log grows is the chain over the history, made from scratch', () => {
    let replacements = 0
    fc.assert(fc.property(acts, (sequence) => {
      const check = (log: LogBuilder): void =>
        expect(log.fold.surface.chain()).toBe(
          chainOf(log.fold.surface.snapshot().entries.map(({ message }) => message)),
        )
      const log = play(sequence, check)
      check(log)
      replacements += log.events.filter(({ type }) => type === 'surface/replace').length
      const again = new Surface()
      for (const event of log.parsed) again.apply(event)
      expect(again.chain()).toBe(log.fold.surface.chain())
    }), { numRuns: 200 })
    expect(replacements).toBeGreaterThan(20)
  })

  it('keeps every history well-formed (L16)', () => {
    fc.assert(fc.property(acts, (sequence) => {
      play(sequence, (log) => expect(unpaired(log.fold.surface.snapshot().entries.map(({ message }) => message))).toBeUndefined())
    }))
  })

  it('closing an open step is the chain after step/end', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const seq = log.answer(assistant('a', call('1'), call('2')))
    log.context(system('c'))
    log.result(seq, 1, result('2', 'y'), system('of 2'))
    log.result(seq, 0, result('1', 'x'))
    const closing = log.fold.surface.closingChain()
    expect(closing).not.toBe(log.fold.surface.chain())
    log.endStep()
    expect(log.fold.surface.chain()).toBe(closing)
    expect(log.fold.surface.closingChain()).toBe(closing)
  })
})
