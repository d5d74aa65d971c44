import { describe, expect, it } from 'vitest'
import { type Message, EMPTY_CHAIN, chainOf, copyJson, isOurs, sha256, textOf } from '@headrace/message'
import { type EpochHeader, type SessionEvent, Fold, StoreError, Verifier, Witness, rebuild, verify, verifyLog } from '@headrace/session'
import { HEADER, LogBuilder, assistant, call, result, system, user } from './log-builder.ts'
import { everyKind } from './every-kind.ts'

const tool = { name: 'read', description: 'Reads.', parameters: { type: 'object' } }
const FULL: EpochHeader = { config: HEADER.config, system: 'Be kind.', tools: [tool], prefix: [system('prefix')], before: [system('before')], after: [system('after')], owners: { prefix: ['a/p'], before: ['a/b'], after: ['a/z'] } }

/** A log whose event at `seq` is another. */
const altered = (events: readonly SessionEvent[], seq: number, change: (data: never) => unknown): readonly SessionEvent[] =>
  structuredClone(events).map((event) => (event.seq === seq ? ({ ...event, data: change(event.data as never) } as SessionEvent) : event))

describe('rebuild', () => {
  it('gives a request back: prefix, before, history, after, their lengths and owners (L1)', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.toolStep('', '1')
    log.step()
    const dispatch = log.dispatch(FULL)
    const request = rebuild(log.parsed, dispatch)
    expect(request).toMatchObject({ session: 'demo', dispatch, config: FULL.config, system: 'Be kind.', tools: [tool], segments: { prefix: 1, before: 1, history: 3, after: 1 } })
    expect(request.messages).toEqual([system('prefix'), system('before'), user('do it'), assistant('', call('1')), result('1', 'what 1 found'), system('after')])
    expect(request.owners).toEqual(['a/p', 'a/b', 'user', 'model', 'tool', 'a/z'])
  })

  it('gives frozen values', () => {
    const log = everyKind()
    for (const { seq } of log.events.filter(({ type }) => type === 'request/dispatch')) {
      const request = rebuild(log.parsed, seq)
      for (const value of [request, request.messages, request.owners, request.segments]) expect(Object.isFrozen(value)).toBe(true)
      expect(isOurs(request.config)).toBe(true)
      for (const message of request.messages) expect(() => { (message.content as unknown[]).push(1) }).toThrow(TypeError)
    }
  })

  it('gives each attempt and step what it had, though the log went on', () => {
    const log = everyKind()
    const atTheTime = new Map<number, string>()
    for (let length = 1; length <= log.events.length; length++) {
      const last = log.parsed[length - 1]!
      if (last.type === 'request/dispatch') atTheTime.set(last.seq, JSON.stringify(rebuild(log.parsed.slice(0, length), last.seq)))
    }
    expect(atTheTime.size).toBe(6)
    for (const [seq, request] of atTheTime) expect(JSON.stringify(rebuild(log.parsed, seq))).toBe(request)
  })

  it('gives a side request: the surface and what it adds, without after, under what differs', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    log.answer(assistant('done'), FULL)
    log.endStep()
    const seq = log.ask('title', [{ message: user('A title?'), owner: 'app' }], { config: { model: 'test/small' }, tools: 'none' })
    const request = rebuild(log.parsed, seq)
    expect(request.messages).toEqual([system('prefix'), system('before'), user('do it'), assistant('done'), user('A title?')])
    expect(request).toMatchObject({ config: { model: 'test/small' }, segments: { prefix: 1, before: 1, history: 3, after: 0 } })
    expect(Object.hasOwn(request, 'tools')).toBe(false)
    expect(request.owners.at(-1)).toBe('app')
  })

  it('refuses what is no dispatch, is not there, has no header, or stands behind a broken log', () => {
    const log = everyKind()
    expect(() => rebuild(log.parsed, 0)).toThrow('it is a session/open')
    expect(() => rebuild(log.parsed, 999)).toThrow('there is no event 999')
    const bare = new LogBuilder()
    bare.turn()
    const boundary = bare.step()
    bare.add('request/dispatch', { boundary, history: EMPTY_CHAIN, digest: '' })
    expect(() => rebuild(bare.parsed, 3)).toThrow('without a header')
    const dispatch = log.events.find(({ type }) => type === 'request/dispatch')!.seq
    expect(() => rebuild(log.parsed.filter(({ seq }) => seq !== 1), dispatch)).toThrow('event 1 was expected')
    expect(() => rebuild([{ seq: 0, time: 0, type: 'session/open', data: null }] as never, 0)).toThrow('data must be an object')
  })
})

describe('verify', () => {
  it('finds no difference in a log with every kind of event', () => {
    const log = everyKind()
    const verification = verify(log.parsed)
    expect(verification).toEqual({
      events: log.events.length,
      requests: log.events.filter(({ type }) => type === 'request/dispatch').length,
      messages: log.fold.surface.snapshot().length,
      chain: chainOf(log.fold.surface.snapshot().entries.map(({ message }) => message)),
    })
  })

  it('verifies every beginning of it', () => {
    const log = everyKind()
    for (let length = 1; length <= log.events.length; length++) expect(verify(log.parsed.slice(0, length)).difference).toBeUndefined()
  })

  it('names the first difference, what it is, where the change is, and up to where the log is proven', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.lastStep('one')
    const proof = log.events.length - 1
    log.context(system('a fact'))
    const fact = log.events.length - 1
    log.lastStep('two')
    const { difference, chain } = verify(altered(log.events, fact, (data: { message: Message }) => ({ ...data, message: system('a lie') })))
    expect(difference!.what).toContain(`something in events ${proof + 1} to ${difference!.seq} was changed; everything up to event ${proof} is proven`)
    expect(proof < fact && fact < difference!.seq).toBe(true)
    expect(difference!.what).toContain('history rebuilds as')
    expect(log.events[difference!.seq]!.type).toBe('request/dispatch')
    expect(chain).toBe(verify(log.parsed.slice(0, proof + 1)).chain)
  })

  it('says of a log whose first request differs that nothing of it is proven', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.lastStep('one')
    const { difference } = verify(altered(log.events, log.events.findIndex(({ type }) => type === 'user/message'), (data: object) => ({ ...data, message: user('do not') })))
    expect(difference!.what).toMatch(new RegExp(`something in events 0 to ${difference!.seq} was changed; nothing is proven$`))
  })

  it('finds a changed last answer by the end of its step', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.lastStep('yes')
    const answer = log.events.findIndex(({ type }) => type === 'assistant/message')
    const { difference } = verify(altered(log.events, answer, (data: object) => ({ ...data, message: assistant('no') })))
    expect(difference).toMatchObject({ seq: log.events.length - 1, what: expect.stringContaining('end of the step') as string })
  })

  it.each([
    ['config', { config: { ...FULL.config, model: 'test/n' } }], ['system', { system: 'Be cruel.' }], ['tools', { tools: [{ ...tool, description: 'Writes.' }] }],
    ['prefix', { prefix: [system('p')] }], ['before', { before: [] }], ['after', { after: [system('z')] }],
  ])('finds a header with another %s', (_field, change) => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const dispatch = log.dispatch(FULL)
    const { difference } = verify(
      altered(log.events, dispatch - 1, (data: { header: object }) => ({
        ...data,
        header: { ...data.header, ...change },
      })),
    )
    expect(difference).toMatchObject({ seq: dispatch, what: expect.stringContaining('the request rebuilds as') as string })
  })

  it.each([[{ boundary: 1 }, 'names boundary 1'], [{ history: EMPTY_CHAIN }, 'history'], [{ digest: EMPTY_CHAIN }, 'request']])('finds a dispatch with %j', (change, problem) => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    const dispatch = log.dispatch()
    const { difference } = verify(altered(log.events, dispatch, (data: object) => ({ ...data, ...change })))
    expect(difference).toMatchObject({ seq: dispatch, what: expect.stringContaining(problem) as string })
  })

  it('finds a dispatch outside a step, and a side request that names another boundary', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.lastStep('done')
    const side = log.ask('title', [])
    expect(verify(altered(log.events, side, (data: object) => ({ ...data, boundary: 3 }))).difference!.what).toContain('names boundary 3')
    expect(verify(altered(log.events, side, ({ purpose: _, ...data }: { purpose: string }) => data)).difference!.what).toContain('no step is open')
  })

  it('gives the chain that, kept elsewhere, tells a log whose digests were made anew', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.lastStep('yes')
    const forged = new LogBuilder()
    forged.prompt('do it')
    forged.lastStep('no')
    expect(verify(forged.parsed).difference).toBeUndefined()
    expect(verify(forged.parsed).chain).not.toBe(verify(log.parsed).chain)
  })

  it('never throws for what is in a log', () => {
    const log = everyKind().events
    const shapes = [null, 1, 'x', [], {}, { in: 0 }, { in: 'x' }, [null], [1], [[]], true]
    let found = 0
    for (const event of log) {
      for (const key of Object.keys(event.data)) {
        for (const shape of shapes) if (verify(altered(log, event.seq, (data: object) => ({ ...data, [key]: shape }))).difference) found++
      }
      for (const shape of shapes) if (verify(log.map((each) => (each.seq === event.seq ? shape : each)) as never).difference) found++
    }
    expect(found).toBeGreaterThan(500)
  })

  it('never throws for what is in a header, two levels deep', () => {
    const log = everyKind().events
    const shapes = [null, 1, 'x', [], {}, { in: 0 }, [null], [{}], { set: 1 }, { set: [{}], remove: [1] }, { head: -1, tail: 0, lines: [] }, [{ owner: 1 }]]
    for (const { seq, data } of log.filter(({ type }) => type.startsWith('request/header'))) {
      for (const [part, value] of Object.entries(data).filter(([, each]) => typeof each === 'object')) {
        for (const key of [...Object.keys(value as object), 'config', 'system', 'tools', 'prefix', 'before', 'after', 'owners']) {
          for (const shape of shapes) {
            const events = altered(log, seq, (whole: object) => ({ ...whole, [part]: { ...(value as object), [key]: shape } }))
            expect(() => verify(events)).not.toThrow()
          }
        }
      }
    }
  })

  it('says where something is nested too deeply to be written again', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    log.dispatch()
    let deep: unknown = 1
    for (let level = 0; level < 50_000; level++) deep = [deep]
    const events = log.parsed.map((event) => (event.type === 'user/message' ? { ...event, data: { ...event.data, message: { role: 'user', content: [{ type: 'text', text: 'x', metadata: { deep } }] } } } : event))
    const { difference, chain } = verify(events as never)
    expect(difference).toMatchObject({ seq: 3, what: expect.stringContaining('data.message.content.0.metadata.deep.0… is nested deeper than 128') as string })
    expect(chain).toBe(EMPTY_CHAIN)
  })

  it('lets an error of the reader through', () => {
    const failing = function* (): Generator<SessionEvent> {
      yield new LogBuilder().events[0]!
      throw new TypeError('a bug')
    }
    expect(() => verify(failing())).toThrow('a bug')
  })

  it('may be fed one event at a time', () => {
    const verifier = new Verifier()
    const log = everyKind()
    for (const event of log.parsed) verifier.feed(event)
    expect(verifier.result()).toEqual(verify(log.parsed))
  })
})

describe('Witness', () => {
  it('folds what was serialised, and agrees with a request that is as the log says', () => {
    const log = new LogBuilder()
    log.prompt('do it')
    log.step()
    log.dispatch(FULL)
    const witness = new Witness('demo')
    for (const line of log.lines) witness.feed(line)
    expect(() => witness.check(log.events.at(-1) as SessionEvent<'request/dispatch'>)).not.toThrow()
    const other = copyJson({ ...log.events.at(-1)!, data: { ...log.events.at(-1)!.data, digest: EMPTY_CHAIN } }) as SessionEvent<'request/dispatch'>
    expect(() => witness.check(other)).toThrow('not as 000')
  })
})

describe('reading again', () => {
  it('gives what the writer had: messages, queue, what is owed, header, chain', () => {
    const log = everyKind()
    const fold = Fold.of(log.parsed)
    expect(fold.surface.snapshot().entries).toEqual(log.fold.surface.snapshot().entries)
    expect(fold.headers.header).toEqual(log.fold.headers.header)
    expect(fold.headers.baseline).toEqual(log.fold.headers.baseline)
    const seen = ({ ledger, surface }: typeof fold) => [ledger.owed, ledger.queue, ledger.turns, surface.chain()]
    expect(seen(fold)).toEqual(seen(log.fold))
    expect(fold.surface.snapshot().entries.map(({ message }) => textOf(message))).toContain('a fact behind the last proof')
  })
})

describe('what verify looks at beside the digests', () => {
  const whole = everyKind()
  const seqOf = (type: string, index = 0) => whole.events.filter((event) => event.type === type)[index]!.seq
  const found = (type: string, change: object, index = 0) => {
    const { difference } = verify(altered(whole.events, seqOf(type, index), (data: object) => ({ ...data, ...change })))
    expect(difference).toMatchObject({ seq: seqOf(type, index) })
    return difference!.what
  }

  it('is where a dispatch says that it stands', () => {
    expect(found('request/dispatch', { turn: 7 })).toContain('it says turn 7, and stands in turn 1')
    expect(found('request/dispatch', { step: 9 })).toContain('it says step 9, and stands in step 1')
    expect(found('request/dispatch', { attempt: 1 }, 2)).toContain('it says attempt 1, behind attempt 1')
    // One that could not be sent has none.
    expect(verify(altered(whole.events, seqOf('request/dispatch', 2), (data: object) => ({ ...data, attempt: 5 }))).difference).toBeUndefined()
  })

  it('is what an answer answers, and what starts', () => {
    expect(found('assistant/message', { dispatch: 0 })).toContain('it answers event 0, which is no dispatch of its step')
    expect(found('assistant/message', { dispatch: seqOf('request/dispatch') }, 1)).toContain('no dispatch of its step')
    expect(found('tool/start', { index: 0 }, 1)).toContain('starts a second time')
    expect(found('question/answered', { question: 1 })).toContain('which is no question')
    expect(found('letter/refused', { letter: 'l1' })).toContain('"l1" a second time')
  })

  it('is not what a plugin calls by the same names: their types are passed over', () => {
    const log = new LogBuilder()
    for (let index = 0; index < 2; index++) {
      log.add('mail/seen' as never, { letter: 'l1', question: 99, dispatch: 99, assistant: 99, prompt: 99, turn: 99, step: 99, key: 'k' } as never)
    }
    log.add('letter/refused', { letter: 'l1', reason: 'r' })
    expect(verify(log.parsed).difference).toBeUndefined()
  })

  it('is whether there is a log at all', () => {
    expect(verify([]).difference).toEqual({ seq: 0, what: 'there is no event: nothing was acknowledged, or this is no log' })
  })
})

describe('verifyLog', () => {
  const bytes = new Uint8Array([1, 2, 3])
  const digest = sha256(bytes)
  const log = new LogBuilder()
  log.add('context/message', { message: { role: 'user', content: [{ type: 'image', digest, mediaType: 'image/png' }] }, owner: 'x/y' })
  log.add('session/title', { title: 'A', owner: 'app', blobs: [digest] } as never)
  const source = (blob: () => Promise<Uint8Array | undefined>) => ({ load: async function* () { yield log.parsed }, getBlob: blob })

  it('looks for no blob that only looks like one, in what is anybody\'s JSON', async () => {
    const free = new LogBuilder()
    const block = { type: 'image', digest: 'sha1:0a', mediaType: 'image/png' }
    free.add('files/kept' as never, { ...block, content: [block], message: { role: 'user', content: [block] } } as never)
    free.add('context/message', { message: { role: 'user', content: [{ type: 'text', text: 'x', metadata: { block } }] }, owner: 'x/y', block } as never)
    expect(await verifyLog({ load: async function* () { yield free.parsed }, getBlob: async () => undefined }, 'demo')).toEqual({ ...verify(free.parsed), blobs: 0 })
  })

  it('looks at every blob that is named, once', async () => {
    let looks = 0
    expect(await verifyLog(source(async () => (looks++, bytes)), 'demo')).toEqual({ ...verify(log.parsed), blobs: 1 })
    expect(looks).toBe(1)
  })

  it('goes on behind a difference: blobs, places, and what it could not compare', async () => {
    const whole = everyKind()
    const seqOf = (type: string, index = 0): number => whole.events.filter((event) => event.type === type)[index]!.seq
    const change = (events: readonly SessionEvent[], seq: number, more: object): readonly SessionEvent[] =>
      altered(events, seq, (data: object) => ({ ...data, ...more }))
    const [end, start, refused] = [seqOf('step/end'), seqOf('tool/start', 1), seqOf('letter/refused')]
    let events = change(whole.events, end, { digest: digest.replace(/^./, '0') })
    events = change(events, start, { index: 0 })
    events = change(events, refused, { letter: 'l1', blobs: [digest] })
    const load = async function* (): AsyncGenerator<readonly SessionEvent[]> { yield events }
    const found = await verifyLog({ load, getBlob: async () => undefined }, 'demo')
    const seqs = [found.difference!, ...found.more!].map(({ seq }) => seq)
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
    expect(seqs).toEqual(expect.arrayContaining([end, start, refused]))
    expect(found.difference).toEqual(verify(events).difference)
    expect(found.unseen).toEqual({ requests: whole.events.filter(({ seq, type }) => type === 'request/dispatch' && seq > end).length })
    expect(found.blobs).toBeGreaterThan(0)
  })

  it('looks at the blobs behind an event that cannot be rebuilt, and in front of what cannot be read, and lists no more than it can show', async () => {
    const log = new LogBuilder()
    log.add('session/title', { title: 'A', owner: 'app' })
    for (let index = 0; index < 40; index++) log.add('session/title', { title: 'A', owner: 'app', blobs: [sha256(`${index}`)] } as never)
    const load = async function* (): AsyncGenerator<readonly SessionEvent[]> {
      yield log.parsed.map((event) => (event.seq === 1 ? { ...event, type: 'turn/end', data: { turn: 3, reason: 'done', settled: 0 } } : event))
      throw new StoreError('line 50 cannot be read')
    }
    const found = await verifyLog({ load, getBlob: async () => undefined }, 'demo')
    expect(found).toMatchObject({ difference: { seq: 1 }, blobs: 40, unseen: { events: 40, differences: 20, unread: 'line 50 cannot be read' } })
    expect(found.more).toHaveLength(20)
    await expect(verifyLog({ load, getBlob: async () => { throw new StoreError('EIO') } }, 'demo')).rejects.toThrow('EIO')
    const sound = async function* (): AsyncGenerator<readonly SessionEvent[]> {
      yield []
      throw new StoreError('line 1 cannot be read')
    }
    await expect(verifyLog({ load: sound, getBlob: async () => undefined }, 'demo')).rejects.toThrow('line 1 cannot be read')
  })

  it.each([
    ['that is not there', async () => undefined, `names the blob ${digest}, which is not there`],
    ['that was changed', async () => new Uint8Array([1, 2, 4]), `names the blob ${digest}, whose bytes have another digest`],
    ['that its store calls damaged', async () => { throw new StoreError('it is damaged', { code: 'BLOB_DAMAGED' }) }, 'it is damaged'],
  ])('finds one %s', async (_, blob, what) => {
    expect((await verifyLog(source(blob), 'demo')).difference).toEqual({ seq: 1, what: expect.stringContaining(what) as string })
  })
})
