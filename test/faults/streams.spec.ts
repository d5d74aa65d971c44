import type { Context } from 'cordis'
import { afterAll, describe, expect, it } from 'vitest'
import type { Chunk } from '@headrace/message'
import { plugin } from '../laws/help.ts'
import { figure } from '../reliability/figures.ts'
import { some } from '../scale.ts'
import { EVIL, SIMPLE, THROWN } from './values.ts'
import { type Ran, injected, withFault } from './world.ts'

type Next = () => AsyncIterable<Chunk>
/** A stream that is wrong, the first time, as a listener around the model's gives it, or an adapter. */
type Stream = (next: Next) => unknown

const FINISH: Chunk = { type: 'finish', reason: 'stop' }
const never = (): Promise<never> => new Promise(() => undefined)

const model: Next = async function* () {
  yield { type: 'text', text: 'Looking.' }
  yield FINISH
}

/** Where the stream stands: around the model's, or in its place. */
const PLACES = ['a listener of llm/stream', 'an adapter'] as const

afterAll(() => figure('faults', 'streams', { faults: injected.faults }))

function at(place: (typeof PLACES)[number], what: string, stream: Stream, check: (ran: Ran) => unknown, cancels = false): Promise<void> {
  const isAdapter = place === 'an adapter'
  return withFault({
    what: `${place}: ${what}`, seam: place, check, cancels,
    ...(isAdapter && {
      agent: { model: 'own/model' },
      after: plugin('spare', (ctx) => void ctx.llm.adapter('own', { async *stream() { yield { type: 'text', text: 'Done.' }; yield FINISH } })),
    }),
    apply: (ctx: Context, reached) => {
      let calls = 0
      const act = (next: Next): never => {
        reached()
        return (calls++ === 0 ? stream(next) : next()) as never
      }
      if (isAdapter) ctx.llm.adapter('own', { stream: () => act(model) })
      else ctx.on('llm/stream', (_agent, _turn, _request, next) => act(next), { prepend: true })
    },
  })
}

const failed = ({ result }: Ran): void => expect(result).toMatchObject({ reason: 'error', error: { code: 'MODEL_FAILED' } })
const ended = ({ result }: Ran): void => expect(['done', 'error']).toContain(result.reason)

/** Ways to put a value into a chunk. */
const CHUNKS: readonly ((value: unknown) => unknown)[] = [
  (value) => value,
  (value) => ({ type: value }),
  (value) => ({ type: 'text', text: value }),
  (value) => ({ type: 'text', text: 'x', metadata: value }),
  (value) => ({ type: 'tool-call', index: 0, id: value, name: 'look', arguments: '{}' }),
  (value) => ({ type: 'tool-call', index: value, id: 'a', name: value, arguments: '{}' }),
  (value) => ({ type: 'tool-call', index: 0, id: 'a', name: 'look', arguments: value }),
  (value) => ({ type: 'usage', usage: value }),
  (value) => ({ type: 'usage', usage: { input: value, output: value } }),
  (value) => ({ type: 'wire', digest: value }),
  (value) => ({ type: 'finish', reason: value }),
]

describe.each(PLACES)('%s', (place) => {
  it.each(THROWN)('that throws $what in the middle of its stream: the attempt fails, and nothing of it is kept', async ({ make }) => {
    await at(place, 'throws', async function* () { yield { type: 'text', text: 'half' }; throw make() }, (ran) => {
      failed(ran)
      expect(ran.log.some(({ type }) => type === 'assistant/message')).toBe(false)
    })
  })

  it('that stops in the middle, or never goes on: the attempt fails, or a cancel ends it and what was said is kept', async () => {
    await at(place, 'stops', async function* () { yield { type: 'text', text: 'half' } }, failed)
    await at(place, 'hangs', async function* () { yield { type: 'text', text: 'half' }; await never() }, ({ result }) => expect(result.reason).toBe('cancelled'), true)
  })

  it.each(some([...SIMPLE, ...EVIL], 6))('that gives $what in a chunk: the attempt fails, or it is taken as text', async ({ make }) => {
    for (const [index, chunk] of CHUNKS.entries()) {
      await at(place, `chunk ${index}`, async function* () { yield chunk(make()); yield { type: 'text', text: 'Done.' }; yield FINISH }, ended)
    }
  })

  it('whose iterator is wrong: it gives no objects, it never returns, its return() throws', async () => {
    const iterator = (more: object): unknown => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: { type: 'text', text: 17 } }), ...more }) })
    await at(place, 'no objects', () => iterator({ next: () => 17 }), failed)
    await at(place, 'no promise', () => iterator({ next: () => undefined }), failed)
    await at(place, 'no next', () => ({ [Symbol.asyncIterator]: () => ({}) }), failed)
    await at(place, 'no iterator', () => ({ [Symbol.asyncIterator]: () => undefined }), failed)
    for (const end of [() => { throw new Error('return') }, () => Promise.reject(new Error('return')), never, () => 17]) {
      await at(place, 'return()', () => iterator({ return: end, next: async () => { throw new Error('next') } }), failed)
      await at(place, 'return() after a cancel', () => iterator({ return: end, next: never }), ({ result }) => expect(result.reason).toBe('cancelled'), true)
    }
  })

  it('whose stream has no end: it is cut off where an answer may not be longer', async () => {
    await at(place, 'endless', async function* () { for (;;) yield { type: 'text', text: 'x'.repeat(1_000_000) } }, failed)
  })

  it('that writes to its chunks after it gave them: what was taken stands', async () => {
    await at(place, 'mutates', async function* () {
      const chunk = { type: 'text' as const, text: 'Done.' }
      yield chunk
      chunk.text = 'written'
      yield FINISH
    }, ({ result }) => expect(result).toMatchObject({ reason: 'done', text: 'Done.' }))
  })
})
