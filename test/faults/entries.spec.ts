import type { Context } from 'cordis'
import { afterAll, describe, expect, it } from 'vitest'
import briefing from '@headrace/briefing'
import { textOf } from '@headrace/message'
import type { Script } from '@headrace/testing'
import { plugin } from '../laws/help.ts'
import { good } from '../laws/listeners.ts'
import { figure } from '../reliability/figures.ts'
import { some } from '../scale.ts'
import { ENTRIES, type Entry } from './entries.ts'
import { WATCHED, expectPassed } from './seams.ts'
import { EVIL, SIMPLE, THROWN } from './values.ts'
import { type Ran, injected, withFault } from './world.ts'

const script: Script = ({ messages }) => {
  const said = messages.filter(({ role }) => role !== 'system')
  if (said.at(-1)?.role === 'tool' || textOf(said.at(-1)!) !== 'Hi.') return 'Done.'
  return { calls: [{ name: 'own' }] }
}

afterAll(() => figure('faults', 'entries', { faults: injected.faults }))

/** A run in which an entry does this, once: what is called again does nothing wrong. */
function at(
  { entry, register, model, inject = [] }: Entry,
  what: string,
  act: () => unknown,
  check: (ran: Ran) => unknown,
  cancels = false,
): Promise<void> {
  const spare = plugin(
    'spare',
    (ctx) =>
      void ctx.llm.adapter('own', {
        async *stream() {
          yield { type: 'text', text: 'Done.' }
          yield { type: 'finish', reason: 'stop' }
        },
      }),
  )
  return withFault({
    what: `${entry}: ${what}`,
    seam: entry,
    cancels,
    check,
    script,
    inject,
    plugins: [[briefing, { readTimeout: 10 }], good],
    ...(model && { agent: { model } }),
    apply: (ctx, reached) =>
      register(ctx, () => {
        reached()
        return act()
      }),
    // The provider is gone with its plugin.
    ...(model && { after: spare }),
  })
}

describe.each(ENTRIES)('$entry', (entry: Entry) => {
  it.each(some(THROWN, 2))('that throws $what: named, and the turn ends as it is told', async ({ make }) => {
    await at(entry, 'throws', () => { throw make() }, (ran) => entry.broken(ran))
  })

  it.each(some(THROWN, 2))('that gives a promise rejected with $what: the same', async ({ make }) => {
    await at(entry, 'rejects', async () => { throw make() }, (ran) => entry.broken(ran))
  })

  it('that never ends: its deadline, or the type that is wrong, ends it', async () => {
    await at(entry, 'never', () => new Promise(() => undefined), (ran) => entry.broken(ran))
  })

  it.each(some([...SIMPLE, ...EVIL], 4))('that gives $what: refused and named, or taken as plain JSON', async ({ make, what, plain }) => {
    await at(entry, what, make, (ran) => {
      if (entry.lenient && ran.result.reason === 'done' && (plain || ran.made.reports.length === 0)) return
      if (plain && ran.result.reason === 'done') return
      entry.broken(ran)
    })
  })
})

describe.each(WATCHED)('A listener of %s, which is told and not asked', (seam) => {
  const register = (act: () => unknown) => (ctx: Context, reached: () => void): unknown => ctx.on(seam as 'session/event', (() => {
    reached()
    return act()
  }) as never, { prepend: true })
  const run = (what: string, act: () => unknown, check: (ran: Ran) => unknown): Promise<void> => withFault({ what: `${seam}: ${what}`, seam, apply: register(act), check })

  it.each(some(THROWN, 2))('that throws or rejects with $what: reported, named, and passed over', async ({ make }) => {
    const check = (ran: Ran): void => {
      expectPassed(ran)
      if (seam !== 'agent/report') expect(ran.made.reports).toContainEqual(expect.objectContaining({ kind: 'failed', plugin: 'bad', seam }))
    }
    await run('throws', () => { throw make() }, check)
    await run('rejects', async () => { throw make() }, check)
  })

  it('that never ends: passed over', async () => {
    await run('never', () => new Promise(() => undefined), expectPassed)
  })

  it.each(some([...SIMPLE, ...EVIL], 4))('that returns $what: ignored', async ({ make, what }) => {
    await run(what, make, expectPassed)
  })

  it('that writes to what it was given: nobody else sees a change', async () => {
    await withFault({ what: seam, seam, check: expectPassed, apply: (ctx) => ctx.on(seam as 'session/event', ((...args: unknown[]) => {
      for (const value of args) {
        Reflect.set(value as object, 'type', 'turn/end')
        Reflect.set((value as { data?: object }).data ?? {}, 'turn', 99)
      }
    }) as never, { prepend: true }) })
  })
})
