import { type Harness, harness } from '@headrace/testing'
import { afterEach, expect, it } from 'vitest'
import { Feed, type Told } from '../src/feed.ts'

let app: Harness
afterEach(() => app.dispose())

const shown = (told: Told): string => (told === 'skipped' ? told : 'seq' in told ? told.type : told.type === 'text' ? `"${told.text}"` : told.type)
const seqs = (all: readonly Told[]): number[] => all.flatMap((told) => (typeof told === 'object' && 'seq' in told ? [told.seq] : []))

async function collect(feed: Feed, signal = new AbortController().signal, follow = false): Promise<Told[]> {
  const all: Told[] = []
  for await (const told of feed.read(signal, follow)) all.push(told)
  return all
}

it('tells pieces where they stood: in front of the event that ends their answer', async () => {
  app = await harness({ script: [{ text: 'abcd', pieces: 4 }] })
  const stop = new AbortController()
  const reading = collect(new Feed(app.agent.session, 0, 100), stop.signal, true)
  await app.run('Go.')
  stop.abort()
  const all = await reading
  expect(all.map(shown).join(' ')).toMatch(/request\/dispatch "a" "b" "c" "d" usage finish request\/end assistant\/message .*turn\/end$/)
  expect(seqs(all)).toEqual(seqs(all).map((_, index) => index))
})

it('keeps only a few pieces for a reader that is slow, says so, and tells it every event', async () => {
  app = await harness({ script: [{ text: 'x'.repeat(50), pieces: 50 }] })
  const feed = new Feed(app.agent.session, 0, 10)
  const reading = feed.read(new AbortController().signal, false)
  const [first] = [await reading.next()]
  await app.run('Go.')
  const all = [first.value as Told]
  for await (const told of reading) all.push(told)
  expect(seqs(all)).toEqual([...app.agent.session.events()].map(({ seq }) => seq))
  expect(all.filter((told) => told === 'skipped')).toHaveLength(1)
  expect(all.filter((told) => typeof told === 'object' && 'type' in told && told.type === 'text').length).toBeLessThan(10)
})

it('begins at a seq, at the end of the log where that is ahead of it, and ends with the log or with its signal', async () => {
  app = await harness({ script: ['one', 'two'] })
  await app.run('Go.')
  const { session } = app.agent
  expect(seqs(await collect(new Feed(session, 4, 10)))[0]).toBe(4)
  expect(await collect(new Feed(session, 1_000, 10))).toEqual([])
  const stop = new AbortController()
  stop.abort()
  expect(seqs(await collect(new Feed(session, 0, 10), stop.signal, true))).toHaveLength(session.length)
})
