import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FileLayer, JsonlStore } from '@headrace/plugin-store-jsonl'
import type { Lease, SessionStore } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PowerCutFiles } from '../../plugins/store-jsonl/tests/faulty-files.ts'
import { powerCut } from '../../plugins/store-sqlite/tests/power-cut.ts'
import { figure } from '../reliability/figures.ts'
import { amount, seeded } from '../scale.ts'
import { ID, type Promised, exchange, expectExchanged } from './mail.ts'

/** How a process ends: killed, or with its machine, whose disk then has so many bytes of what was not synced. */
type End = { readonly kind: 'killed' } | { readonly kind: 'power cut'; readonly torn: number }

/** A store in a process that ends at one moment: from then on every call of its disk fails, and it says nothing more. */
interface Mortal {
  readonly store: SessionStore
  /** What the next process finds. */
  next(): SessionStore
}

/** Counts moments, and throws from one on. */
class Moments {
  count = 0
  isOver = false
  private readonly at: number
  private readonly onEnd: () => void

  constructor(at: number, onEnd: () => void) {
    this.at = at
    this.onEnd = onEnd
  }

  pass(): void {
    if (!this.isOver && this.count++ === this.at) {
      this.isOver = true
      this.onEnd()
    }
    if (this.isOver) throw new Error('its process has ended')
  }
}

type Make = (at: number, end: End, onEnd: () => void) => { readonly mortal: Mortal; readonly moments: Moments }

/** Each operation on files is a moment. */
const jsonl: Make = (at, end, onEnd) => {
  const root = mkdtempSync(join(tmpdir(), 'headrace-mail-'))
  onTestFinished(() => removeFolder(root))
  const disk = new PowerCutFiles(root)
  const directory = join(root, 'sessions')
  const moments = new Moments(at, () => {
    if (end.kind === 'power cut') disk.cut(end.torn, end.torn)
    onEnd()
  })
  const files = new Proxy<FileLayer>(disk, {
    get: (layer, key: keyof FileLayer) => (...args: never[]): unknown => {
      if (key === 'close') return (layer.close as (...args: unknown[]) => unknown)(...args)
      moments.pass()
      const done = (layer[key] as (...args: unknown[]) => unknown).call(layer, ...args)
      return done instanceof Promise ? done.then((value: unknown) => (moments.pass(), value)) : done
    },
  })
  const next = (): SessionStore => {
    // Its holder is dead.
    rmSync(join(directory, `${ID}.lock`), { force: true })
    return new JsonlStore({ directory, fsync: 'barrier' })
  }
  return { mortal: { store: new JsonlStore({ directory, fsync: 'barrier', files }), next }, moments }
}

/** Each call of the store and of its lease is a moment, before and after, and so is each sync. */
const sqlite: Make = (at, end, onEnd) => {
  let next: SessionStore | undefined
  const moments: Moments = new Moments(at, () => {
    next = machine.cut((tail) => (end.kind === 'killed' ? tail : tail.subarray(0, end.torn)))
    onEnd()
  })
  const machine = powerCut(() => moments.pass())
  const around = <T extends object>(target: T): T => new Proxy<T>(target, {
    get: (inner, key) => {
      const value = Reflect.get(inner, key, inner) as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        moments.pass()
        const done = (value as (...args: unknown[]) => unknown).apply(inner, args)
        const after = (result: unknown): unknown => {
          moments.pass()
          return key === 'create' || key === 'lease' ? around(result as Lease) : result
        }
        return done instanceof Promise ? done.then(after) : after(done)
      }
    },
  })
  return { mortal: { store: around(machine.store), next: () => next ?? machine.cut((tail) => tail) }, moments }
}

/** Runs the exchange to a moment, and looks at what is left. Returns how many moments there were. */
async function run(make: Make, at: number, end: End): Promise<number> {
  const promised: Promised = { posted: new Map(), durable: 0 }
  let said: Promised | undefined
  // What is said behind the end is heard by nobody.
  const { mortal, moments } = make(at, end, () => (said = { posted: new Map(promised.posted), durable: promised.durable }))
  try {
    await exchange(mortal.store, promised)
  } catch (error) {
    if (!moments.isOver) throw error
  }
  const { count } = moments
  await expectExchanged(mortal.next(), said ?? promised, `${end.kind} at ${at}${end.kind === 'killed' ? '' : ` with ${end.torn} bytes`}`)
  return count
}

describe.each([['jsonl', jsonl], ['sqlite', sqlite]] as const)('letters on %s', (name, make) => {
  it.each(['killed', 'power cut'] as const)('are lost or taken twice at no moment at which holder and senders are %s', async (kind) => {
    const random = seeded()
    const moments = await run(make, Infinity, { kind: 'killed' })
    const step = amount(Math.ceil(moments / 5), 3, 1)
    const first = Math.floor(random() * step)
    const tried = Array.from({ length: Math.ceil((moments - first) / step) }, (_, index) => first + index * step)
    for (const at of tried) await run(make, at, kind === 'killed' ? { kind } : { kind, torn: Math.floor(random() ** 2 * 9_000) })
    expect(moments).toBeGreaterThan(40)
    figure('crash', `letters on ${name}`, { [kind === 'killed' ? 'kills' : 'cuts']: tried.length })
  }, 300_000)
})
