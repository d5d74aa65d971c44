import type { Context } from 'cordis'
import { afterAll, describe, expect, it } from 'vitest'
import { turns } from '@headrace/testing/gate'
import { figure } from '../reliability/figures.ts'
import { some } from '../scale.ts'
import { SEAMS, type Seam, expectPassed } from './seams.ts'
import { EVIL, SIMPLE, THROWN } from './values.ts'
import { type Ran, injected, withFault } from './world.ts'

type Next = () => Promise<unknown>
type Listener = (next: Next, args: readonly unknown[]) => unknown

const never = (): Promise<never> => new Promise(() => undefined)

interface More {
  readonly strict?: boolean
  readonly cancels?: boolean
}

/** A run with a listener outside all others. */
function at(seam: string, what: string, listener: Listener, check: (ran: Ran) => unknown, more: More = {}): Promise<void> {
  const apply = (ctx: Context, reached: () => void): unknown => ctx.on(seam as 'agent/pre-step', ((...args: unknown[]) => {
    reached()
    return listener(args.at(-1) as Next, args.slice(0, -1))
  }) as never, { prepend: true })
  return withFault({ what: `${seam}: ${what}`, seam, apply, check, ...more })
}

const MODES = [false, true]

afterAll(() => figure('faults', 'seams', { faults: injected.faults }))

describe.each(SEAMS)('A listener of $seam', ({ seam, deadline, places, answer, without, broken }: Seam) => {
  it.each(some(THROWN, 2))('that throws or rejects with $what: what its row of the table says happens, named', async ({ make }) => {
    for (const strict of MODES) {
      await at(seam, 'throws', () => { throw make() }, (ran) => broken(ran, strict), { strict })
      await at(seam, 'rejects', async () => { throw make() }, (ran) => broken(ran, strict), { strict })
      await at(seam, 'throws behind next()', async (next) => {
        await next()
        throw make()
      }, (ran) => broken(ran, strict), { strict })
    }
  })

  it('that never ends: its deadline ends it, or where it has none a cancel', async () => {
    for (const [what, listener] of [['never ends', never], ['never ends behind next()', async (next: Next) => (await next(), never())]] as const) {
      await at(seam, what, listener, (ran) => {
        if (deadline) broken(ran, false)
        else expect(ran.result.reason).toBe('cancelled')
      }, { cancels: !deadline })
    }
  })

  it.each(some(SIMPLE, 2))('that returns $what, as it is or as a promise: refused, named', async ({ make, what }) => {
    // Any JSON is an outcome.
    const fine = seam === 'tools/execute' && ['null', 'a number', 'true'].includes(what)
    const check = (ran: Ran): void => (fine ? expectPassed(ran) : broken(ran, false))
    await at(seam, `returns ${what}`, make, check)
    await at(seam, `returns a promise of ${what}`, async () => make(), check)
    await at(seam, `returns ${what} behind next()`, async (next) => (await next(), make()), check)
  })

  it.each(some([...SIMPLE, ...EVIL], 4))('that returns $what where a value belongs: refused and named, or taken as plain JSON', async ({ make, what, plain }) => {
    for (const [index, place] of places.entries()) {
      await at(seam, `place ${index}: ${what}`, async (next) => {
        await next()
        return place(make())
      }, (ran) => {
        // What is JSON, or text, may be taken; everything else is refused.
        if (plain && ran.result.reason === 'done') return
        if (what === 'nothing' && ran.result.reason === 'done') return
        if (seam === 'agent/request-error' || ran.result.reason !== 'stopped') broken(ran, false)
      })
    }
  })

  it('that calls next() twice: refused, whatever it returns', async () => {
    for (const strict of MODES) {
      await at(seam, 'twice', async (next) => {
        const value = await next()
        await next().catch(() => undefined)
        return value
      }, (ran) => broken(ran, strict), { strict })
      await at(seam, 'twice at once', async (next) => (await Promise.allSettled([next(), next()]), next()), (ran) => broken(ran, strict), { strict })
    }
  })

  it(`that never calls next(), or not in time: ${without === 'lost' ? 'what the others contributed stands, and it is reported' : 'a decision'}`, async () => {
    const many = (ran: Ran): void => {
      if (without !== 'nothing') expectPassed(ran)
      expect(ran.made.reports.length > 0).toBe(without === 'lost')
      for (const report of ran.made.reports) expect(report).toMatchObject({ kind: 'lost', plugin: 'bad', seam })
    }
    await at(seam, 'no next()', async () => answer, many)
    await at(seam, 'next() is not waited for', async (next) => (void next(), answer), (ran) => expect(ran.made.reports.every(({ plugin }) => plugin === 'bad')).toBe(true))
    const late: unknown[] = []
    await at(seam, 'next() after it returned', async (next) => {
      void turns(5).then(next).catch((error: unknown) => late.push(error))
      return answer
    }, async (ran) => {
      await turns()
      many(ran)
    })
    for (const error of late) expect(error).toMatchObject({ code: expect.stringMatching(/SEAM_FAILED|CANCELLED/) as unknown })
  })

  it('that writes to everything it was given: it throws in its own frame, and nobody else sees a change', async () => {
    await at(seam, 'mutates', async (next, args) => {
      const result = await next()
      for (const value of [...args, result]) write(value)
      return result
    }, (ran) => {
      if (without === 'nothing') expect(ran.result.reason).toBe('error')
      else expectPassed(ran)
      expect(ran.made.reports).toEqual([])
    })
  })

  it('that cancels, prompts, injects and steers from where it stands: the turn ends, and so do those', async () => {
    await at(seam, 're-entrant', async (next, args) => {
      const agent = args[0] as { inject(text: string): void; cancel(): void }
      agent.inject('from inside')
      agent.cancel()
      await turns(1)
      return next()
    }, (ran) => expect(ran.result.reason).toBe('cancelled'))
  })
})

/** Tries to change a value in all its depth. What is frozen throws; what is not is somebody's own. */
function write(value: unknown, seen = new Set<unknown>()): void {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value) || value instanceof AbortSignal) return
  seen.add(value)
  for (const key of Reflect.ownKeys(value)) {
    const inside = Reflect.getOwnPropertyDescriptor(value, key)
    if (inside && 'value' in inside) write(inside.value, seen)
    Reflect.set(value, key, 'written')
    Reflect.deleteProperty(value, key)
  }
  Reflect.set(value, 'added', true)
  Reflect.setPrototypeOf(value, null)
  if (Array.isArray(value)) Reflect.set(value, 'length', 0)
}
