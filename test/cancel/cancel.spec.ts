import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { textOf } from '@headrace/message'
import { type Lease, MemoryStore, unpaired } from '@headrace/session'
import { type Harness, type Reply, harness } from '@headrace/testing'
import { settles } from '@headrace/testing/gate'
import { figure } from '../reliability/figures.ts'
import { amount } from '../scale.ts'

/** Kinds of moments at which a run can be cancelled. */
const KINDS = ['event', 'chunk', 'flush', 'seam', 'timer'] as const
type Kind = (typeof KINDS)[number]
/** From one moment that is tried to the next. */
const STEP = amount(5, 1)

/** Counts moments of one kind, and calls back at the k-th. */
class Moments {
  count = 0
  private readonly kind: Kind
  private readonly at: number
  private readonly hit: () => void

  constructor(kind: Kind, at: number, hit: () => void) {
    this.kind = kind
    this.at = at
    this.hit = hit
  }

  pass(kind: Kind): void {
    if (kind === this.kind && this.count++ === this.at) this.hit()
  }
}

/** A store whose flushes take a moment, and are moments. */
class WatchedStore extends MemoryStore {
  moments: Moments | undefined

  override async lease(id: string): Promise<Lease> {
    const lease = await super.lease(id)
    return { ...lease, flush: async () => {
      this.moments?.pass('flush')
      await new Promise((resolve) => setImmediate(resolve))
      return lease.flush()
    } }
  }
}

const SEAMS = ['agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request', 'agent/request-messages', 'agent/request-error', 'tools/pre-execute', 'tools/ask', 'tools/execute', 'tools/post-execute'] as const

/** What waits for a timer, which is a moment too, and ends it when it is told to stop. */
async function timed(signal: AbortSignal, moments: () => Moments | undefined): Promise<void> {
  await new Promise((resolve, reject) => {
    // oxlint-disable-next-line headrace/no-sleep -- a timer that would be left is what is looked for
    const timer = setTimeout(() => { moments()?.pass('timer'); resolve(undefined) }, 5)
    signal.addEventListener('abort', () => { clearTimeout(timer); reject(new Error('stopped')) }, { once: true })
  })
}

/** A run with everything in it: an ask, two tools, a failed attempt that waits, streamed text, a steer, two prompts that wait. */
async function world(store: WatchedStore, moments: () => Moments | undefined): Promise<Harness> {
  const script = (_request: unknown, index: number): Reply => {
    if (index === 0) return { text: 'Let me look at it.', pieces: 4, calls: [{ name: 'quick' }, { name: 'slow' }] }
    if (index === 1) return { text: 'half', error: { kind: 'server' } }
    return { text: 'That is all there is to say.', pieces: 4 }
  }
  const everywhere = { name: 'everywhere', inject: ['agents', 'tools'], apply: async (ctx: Context) => {
    for (const seam of SEAMS) {
      ctx.on(seam, (async (...args: unknown[]) => {
        moments()?.pass('seam')
        await new Promise((resolve) => setImmediate(resolve))
        if (seam === 'tools/ask') return 'allow'
        if (seam === 'agent/request-error') {
          const turn = args[1] as { signal: AbortSignal }
          turn.signal.throwIfAborted()
          await timed(turn.signal, moments)
          return 'retry'
        }
        return (args.at(-1) as () => unknown)()
      }) as never)
    }
    ctx.on('agent/turn-stopping', () => { moments()?.pass('seam') })
    ctx.agents.after({ key: 'last', content: () => 'after' })
    ctx.tools.define({ name: 'quick', description: '', parameters: { type: 'object' }, ask: true, execute: () => 'quick result' })
    ctx.tools.define({ name: 'slow', description: '', parameters: { type: 'object' }, execute: async (_input, { signal }) => {
      await timed(signal, moments)
      return 'slow result'
    } })
  } }
  const h = await harness({ store, script, plugins: [everywhere], settings: { grace: 30 } })
  h.agent.session.on('event', () => moments()?.pass('event'))
  h.agent.session.on('chunk', () => moments()?.pass('chunk'))
  return h
}

/** Timers, sockets and the like that keep a process alive. */
const resources = (): number => process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length

describe.each(['keep', 'withdraw'] as const)('cancelled with the queue to %s', (queue) => {
  it.each(KINDS)(`after every ${STEP === 1 ? '' : 'fifth '}%s of a run: the log is balanced, what was streamed is kept, nothing hangs, nothing leaks`, async (kind) => {
    let cancelled = true
    let runs = 0
    for (let at = 0; cancelled; at += STEP) {
      const what = `${kind} ${at}`
      const store = new WatchedStore()
      let moments: Moments | undefined
      const h = await world(store, () => moments)
      const before = resources()
      cancelled = false
      let streamed = ''
      h.agent.session.on('chunk', (chunk) => { if (chunk.type === 'text') streamed += chunk.text })
      moments = store.moments = new Moments(kind, at, () => {
        cancelled = true
        h.agent.cancel(what, { queue })
      })
      const { letter } = await store.post(h.agent.id, { kind: 'cancel', turn: 7, reason: 'of another turn' })
      const handle = h.agent.prompt('Go')
      const waits = h.agent.prompt('waits')
      const result = await settles(handle.result, what)
      const waited = await settles(waits.result, what)
      moments = store.moments = undefined
      await settles(h.agent.idle(), what)
      const { session } = h.agent
      expect(unpaired(session.deriveMessages()), what).toBeUndefined()
      expect(session.owed, what).toBe(false)
      const events = await h.events()
      const count = (type: string): number => events.filter((event) => event.type === type).length
      expect(count('turn/start'), what).toBe(count('turn/end'))
      expect(count('step/start'), what).toBe(count('step/end'))
      expect(count('request/dispatch'), what).toBe(count('request/end'))
      expect((await h.verify()).difference, what).toBeUndefined()
      if (cancelled) {
        // Which of the two turns it hit depends on the moment; the other one is untouched, or withdrawn.
        const reasons = [result.reason, waited.reason]
        expect(reasons.every((reason) => ['done', 'cancelled', 'withdrawn'].includes(reason)), `${what}: ${reasons.join()}`).toBe(true)
        if (queue === 'keep' && result.reason === 'cancelled') expect(waited.reason, what).toBe('done')
        if (queue === 'withdraw' && result.reason === 'cancelled') expect(waited.reason, what).toBe('withdrawn')
      } else expect([result.reason, waited.reason], what).toEqual(['done', 'done'])
      const interrupted = events.find((event) => event.type === 'assistant/message' && event.data.interrupted)
      if (interrupted?.type === 'assistant/message') expect(streamed, what).toContain(textOf(interrupted.data.message))
      if (kind === 'chunk' && cancelled && result.reason === 'cancelled' && streamed !== '' && !streamed.startsWith('Let me look at it.')) expect(interrupted, what).toBeDefined()
      const { id } = h.agent
      await settles(h.dispose(), what)
      expect(await store.letters(id), `${what}: a letter that waits is left as it was`).toMatchObject([{ id: letter, turn: 7 }])
      expect(resources(), `${what}: something is left`).toBeLessThanOrEqual(before)
      runs++
    }
    expect(runs).toBeGreaterThan((kind === 'timer' ? 2 : 8) / STEP)
    // All but the last, which nothing cancelled.
    figure('cancel', 'everywhere', { cancels: runs - 1 })
  })
})
