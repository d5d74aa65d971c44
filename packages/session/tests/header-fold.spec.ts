import { describe, expect, it } from 'vitest'
import { type EpochHeader, type HeaderReason, type SessionEvent, HeaderFold, foldRequestHeader } from '@headrace/session'
import { HEADER, system } from './log-builder.ts'

class HeaderLog {
  readonly fold = new HeaderFold()
  readonly events: SessionEvent[] = []

  /** What is owed for a header, appended; its length in the log. */
  write(next: EpochHeader, anchor?: Exclude<HeaderReason, 'fallback'>, substitute?: true): number {
    const draft = this.fold.owed(next, anchor, substitute)
    if (!draft) return 0
    const line = JSON.stringify({ seq: this.events.length, time: 0, ...draft })
    this.take(JSON.parse(line) as SessionEvent)
    return line.length
  }

  take(event: SessionEvent): void {
    this.fold.apply(event)
    this.events.push(event)
  }
}

const event = (type: 'request/header' | 'request/header-delta', data: unknown, seq = 9): SessionEvent => ({ seq, time: 0, type, data }) as unknown as SessionEvent
const tool = { name: 't', description: 'd', parameters: {} }

describe('HeaderFold', () => {
  it('owes a first header, nothing where nothing changed, and a whole one where an instance anchors (L8, L13)', () => {
    const log = new HeaderLog()
    expect(log.fold.owed(HEADER)).toMatchObject({ type: 'request/header', data: { reason: 'initial' } })
    log.write(HEADER)
    expect(log.fold.owed(HEADER)).toBeUndefined()
    expect(log.fold.owed(HEADER, 'resume')).toMatchObject({ type: 'request/header', data: { reason: 'resume' } })
    expect(log.fold.owed({ ...HEADER, system: 'Hi' })).toEqual({ type: 'request/header-delta', data: { delta: { system: { head: 0, tail: 0, lines: ['Hi'] } } } })
    expect(log.fold.owed({ ...HEADER, prefix: [system('p')] })).toMatchObject({ type: 'request/header', data: { reason: 'fallback' } })
  })

  it('pays an unchanged prefix of 30 KB once in forty resumes: the others are small lines', () => {
    const log = new HeaderLog()
    const full: EpochHeader = { ...HEADER, system: 'Be kind.\n'.repeat(3_000), tools: [{ ...tool, description: 'd'.repeat(5_000) }], prefix: [system('Run the tests. '.repeat(2_000))], before: [system('b'.repeat(500))], after: [system('a'.repeat(500))], owners: { prefix: ['agents-md/root'] } }
    const first = log.write(full)
    expect(first).toBeGreaterThan(60_000)
    for (let resume = 0; resume < 40; resume++) expect(log.write(full, 'resume')).toBeLessThan(300)
    expect(log.events.at(-1)!.data).toMatchObject({
      header: { system: { in: 0 }, tools: { in: 0 }, prefix: { in: 0 }, before: { in: 0 }, after: { in: 0 } },
    })
    expect(foldRequestHeader(log.events)).toEqual(full)
  })

  it('points to the first event that carried a value, also from a delta, and after something else stood between', () => {
    const log = new HeaderLog()
    const after = (text: string): EpochHeader => ({ ...HEADER, after: [system(text)] })
    log.write(HEADER)
    log.write(after('one'))
    log.write(after('two'))
    log.write(after('one'))
    expect(log.events[3]!.data).toEqual({ delta: { after: { in: 1 } } })
    log.write(after('two'), 'resume')
    expect(log.events[4]!.data).toMatchObject({ header: { after: { in: 2 } } })
    expect(log.fold.header!.after).toEqual([system('two')])
    expect(foldRequestHeader(log.events)).toEqual(after('two'))
  })

  it('points to the first of several events that carry one value, as another writer may have left them', () => {
    const log = new HeaderLog()
    const full: EpochHeader = { ...HEADER, prefix: [system('p')] }
    log.write(full)
    log.take(event('request/header', { reason: 'resume', owners: {}, header: full }, 1))
    log.write(full, 'resume')
    expect(log.events[2]!.data).toMatchObject({ header: { prefix: { in: 0 } } })
  })

  it('never points to a delta for system or tools, which holds only what changed', () => {
    const log = new HeaderLog()
    const grown: EpochHeader = { ...HEADER, system: 'one\ntwo', tools: [tool] }
    log.write(HEADER)
    log.write(grown)
    log.write(grown, 'resume')
    expect(log.events[2]!.data).toMatchObject({ header: { system: 'one\ntwo', tools: [tool] } })
    log.write(grown, 'resume')
    expect(log.events[3]!.data).toMatchObject({ header: { system: { in: 2 }, tools: { in: 2 } } })
  })

  it('keeps equal values of different fields apart', () => {
    const log = new HeaderLog()
    log.write({ ...HEADER, before: [system('x')] })
    log.write({ ...HEADER, before: [system('x')], after: [system('x')] })
    expect(log.events[1]!.data).toEqual({ delta: { after: [system('x')] } })
  })

  it('takes a message that looks like a reference for a message', () => {
    const log = new HeaderLog()
    const odd: EpochHeader = { ...HEADER, system: '{"in":0}', before: [system('{"in":0}')] }
    log.write(odd)
    log.write(odd, 'resume')
    expect(foldRequestHeader(log.events)).toEqual(odd)
  })

  it.each([
    ['to nowhere', { in: 7 }],
    ['to an event that carries another field only', { in: 1 }],
    ['to an event where the field is a reference itself', { in: 2 }],
    ['to an event that is no header event', { in: 3 }],
    ['to itself', { in: 9 }],
  ])('refuses a reference %s', (_name, ref) => {
    const log = new HeaderLog()
    log.write({ ...HEADER, prefix: [system('p')] })
    log.take(event('request/header-delta', { delta: { after: [system('a')] } }, 1))
    log.take(event('request/header', { reason: 'resume', owners: {}, header: { config: HEADER.config, prefix: { in: 0 } } }, 2))
    const refused = expect.objectContaining({ code: 'LOG_INVALID', seq: 9, message: expect.stringContaining('prefix') as string }) as Error
    expect(() => log.take(event('request/header', { reason: 'resume', owners: {}, header: { config: HEADER.config, prefix: ref } }))).toThrow(refused)
  })

  it('refuses a delta of the prefix (L5), and a delta without a header', () => {
    const log = new HeaderLog()
    expect(() => log.fold.apply(event('request/header-delta', { delta: {} }))).toThrow('without a header')
    log.write(HEADER)
    expect(() => log.fold.apply(event('request/header-delta', { delta: { prefix: [system('p')] } }))).toThrow('L5')
  })
})

describe('a substitute', () => {
  const other: EpochHeader = { config: { model: 'other/big' }, owners: { config: { model: 'retry/fallback' } } }

  it('leaves the baseline as it was, and is the header of its own request', () => {
    const log = new HeaderLog()
    log.write(HEADER)
    log.write(other, undefined, true)
    expect(log.events[1]!.data).toMatchObject({ substitute: true })
    expect(log.fold.header!.config).toEqual(other.config)
    expect(log.fold.baseline).toEqual({ config: HEADER.config, owners: {} })
    log.write(HEADER)
    expect(log.fold.header).toEqual(HEADER)
    expect(log.fold.baseline!.config).toEqual(HEADER.config)
  })

  it('that is configured to stay becomes the baseline, though no field changes', () => {
    const log = new HeaderLog()
    log.write(HEADER)
    log.write(other, undefined, true)
    expect(log.fold.owed(other, undefined, true)).toBeUndefined()
    expect(log.write(other)).toBeGreaterThan(0)
    expect(log.fold.baseline).toEqual({ config: other.config, owners: other.owners.config })
    expect(log.fold.owed(other)).toBeUndefined()
  })

  it('may come with the first header of a log', () => {
    const log = new HeaderLog()
    log.write(other, undefined, true)
    expect(log.fold.baseline).toBeUndefined()
    log.write(HEADER)
    expect(log.fold.baseline!.config).toEqual(HEADER.config)
  })
})
