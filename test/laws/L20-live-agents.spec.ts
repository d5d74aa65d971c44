import { describe, expect, it } from 'vitest'
import type { Agent, ErrorDecision } from '@headrace/agent'
import { type ItemChange, ShownItems, itemFold, itemsOf, saidItems } from '@headrace/desk'
import type { SessionEvent } from '@headrace/session'
import type { Harness, Reply } from '@headrace/testing'
import { turns } from '@headrace/testing/gate'
import { amount } from '../scale.ts'
import { app, thrownBy } from './help.ts'
import { randomOf } from './random-log.ts'
import { idsOf } from './said-ids.ts'

/** Lives by their seeds, so many to a test. */
const LIVES = amount(30, 300, 3_000)
const PER_TEST = 5
const SEEDS = Array.from({ length: LIVES / PER_TEST }, (_, index) => index * PER_TEST)

/** A door on a live session, over all of its lives: after each event it looks whether it shows what the log says. */
class Door {
  private readonly fold = itemFold()
  private readonly shown = new ShownItems()
  private readonly events: SessionEvent[] = []
  readonly removed = new Set<string>()
  pieces = 0
  /** The first difference, with the event behind which it was. */
  wrong: unknown

  attach({ session }: Agent): void {
    this.append([...session.events(this.events.length)])
    session.on('event', (event) => this.append([event]))
    session.on('piece', (piece) => {
      this.pieces++
      this.take(this.fold.piece(piece))
    })
  }

  private append(events: readonly SessionEvent[]): void {
    if (events.length === 0) return
    this.events.push(...events)
    this.take(this.fold.append(events))
    if (this.wrong) return
    try {
      const said = itemsOf(this.events)
      expect(saidItems(this.shown.items)).toEqual(said)
      expect(said.map(({ id }) => id)).toEqual(idsOf(this.events))
    } catch (error) {
      this.wrong = error
    }
  }

  private take(changes: readonly ItemChange[]): void {
    for (const change of changes) if (change.type === 'remove') this.removed.add(change.why)
    this.shown.apply(changes)
  }

  get items(): ShownItems['items'] {
    return this.shown.items
  }
}

function replyOf(random: () => number): Reply {
  const pick = <T>(...list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const how = pick('calls', 'calls', 'fails', 'answers', 'answers')
  const calls = Array.from({ length: pick(1, 2) }, () => ({ name: pick('alpha', 'beta', 'missing'), arguments: pick('{}', '{"a"', '{"a":1}') }))
  if (how === 'calls') return { reasoning: pick('Hm.', ''), text: pick('Let me look.', ''), pieces: 3, calls }
  if (how === 'fails') return { text: 'half an answer', pieces: 4, error: { kind: 'network' } }
  return { reasoning: 'So.', text: 'It is so.', pieces: 3 }
}

/** A session of a real agent, to which things happen at random. */
class Life {
  private readonly random: () => number
  private readonly made: Harness
  readonly door = new Door()
  agent: Agent
  private forks = 0

  constructor(made: Harness, random: () => number) {
    this.made = made
    this.random = random
    this.agent = made.agent
  }

  async live(): Promise<void> {
    const { ctx } = this.made
    ctx.agents.attend()
    for (const name of ['alpha', 'beta']) ctx.tools.define({
      name, description: 'Works.', parameters: { type: 'object' }, sequential: name === 'beta', ask: () => (this.chance(0.3) ? 'May it?' : undefined),
      execute: async (_, run) => {
        for (let count = this.below(4); count > 0; count--) {
          if (this.chance(0.5)) run.output('line\n')
          else run.progress({ done: count })
          await turns(this.below(3))
        }
        if (this.chance(0.2)) run.agent.inject('from a tool')
        if (this.chance(0.2)) run.agent.session.append({ type: 'agent/child', data: { assistant: this.answer(), index: run.call.index, session: 'child' } })
        const told = this.chance(0.2) ? await run.ask({ question: 'How many?' }) : 'fine'
        if (this.chance(0.1)) throw new Error('it broke')
        return { content: String(told), ...(this.chance(0.3) && { details: { kind: 'plan', entries: [{ content: 'a', status: 'pending' }] } }) }
      },
    })
    ctx.on('agent/request-error', async (): Promise<ErrorDecision> => this.pick<ErrorDecision>(['retry', 'restep', 'fail', { retry: { config: { model: 'other' } } }]))
    ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => ({ ...await next(), ...(this.chance(0.2) && { additionalContext: ['behind it'] }) }))
    ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => (this.chance(0.1) ? { block: 'not now' } : next()))
    ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
      this.compact(agent)
      return next()
    })
    ctx.on('session/event', (agent, event) => this.onEvent(agent, event))
    this.door.attach(this.agent)
    for (let left = 4 + this.below(6); left > 0; left--) await this.act()
    await this.agent.idle()
  }

  private async act(): Promise<void> {
    const { agent } = this
    const does = this.below(12)
    if (does < 6) {
      const handle = agent.prompt('Go on.')
      if (this.chance(0.3)) agent.steer('And this.')
      if (this.chance(0.3)) agent.prompt('Then that.')
      if (this.chance(0.7)) await handle.result
    } else if (does < 7) agent.setTitle(this.pick(['one', 'two']))
    else if (does < 8) agent.configure({ model: this.pick(['model', 'other']) })
    else if (does < 9) await agent.ask(['Title?'], { purpose: 'title' }).catch(() => undefined)
    else if (does < 11) {
      const where = this.chance(0.5) ? { turns: 1 } : { to: 1 + this.below(4) }
      await agent.rewind({ cancel: true, ...where }).catch(() => undefined)
    } else await this.resume()
  }

  private async resume(): Promise<void> {
    const { agents } = this.made.ctx
    await (this.chance(0.7) ? this.agent.park() : this.agent.dispose())
    this.agent = await agents.resume('test')
    this.door.attach(this.agent)
    this.agent.wake()
  }

  private onEvent(agent: Agent, { type, seq }: SessionEvent): void {
    if (type === 'question/asked') queueMicrotask(() => void agent.answer(seq, this.pick(['allow', 'deny'])).catch(() => undefined))
    if (agent.id !== 'test') return
    if (this.chance(0.01)) queueMicrotask(() => agent.cancel('stop'))
    if (type === 'prompt/queued' && this.chance(0.1)) queueMicrotask(() => thrownBy(() => agent.withdraw(seq)))
  }

  private compact(agent: Agent): void {
    const entries = agent.session.entries()
    const users = entries.filter(({ message }) => message.role === 'user')
    if (users.length < 3 || this.chance(0.7)) return
    const end = entries[entries.indexOf(users[2]!) - 1]!
    agent.replace(users[0]!.id, end.id, ['A summary.'], { reason: 'summarised' })
  }

  /** As after a kill: the log up to some event, repaired. */
  async cut(): Promise<void> {
    const log = [...this.agent.session.events()]
    const id = `cut-${++this.forks}`
    const door = new Door()
    const child = await this.made.ctx.agents.fork('test', { id, at: this.below(log.length) })
    door.attach(child)
    await child.prompt('Where were we?').result
    expect(door.wrong).toBeUndefined()
    await child.dispose()
  }

  private answer(): number {
    let seq = -1
    for (const event of this.agent.session.events()) if (event.type === 'assistant/message') ({ seq } = event)
    return seq
  }

  private chance(share: number): boolean {
    return this.random() < share
  }

  private below(count: number): number {
    return Math.floor(this.random() * count)
  }

  private pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }
}

describe('L20 Shown means said', () => {
  const removed = new Set<string>()
  let pieces = 0

  it.each(SEEDS)('of a real agent, whatever happens to it, and of its log cut anywhere: lives from %i on', async (first) => {
    for (let seed = first; seed < first + PER_TEST; seed++) {
      const random = randomOf(seed)
      const made = await app({ reports: 'allow', script: () => replyOf(random), settings: { grace: 20, limits: { steps: 6, requests: 12 } } })
      const life = new Life(made, random)
      await life.live()
      expect(life.door.wrong, `life ${seed}`).toBeUndefined()
      expect(saidItems(life.door.items), `life ${seed}`).toEqual(itemsOf(await made.events()))
      await life.cut()
      await life.agent.dispose()
      for (const why of life.door.removed) removed.add(why)
      pieces += life.door.pieces
    }
  })

  it('what was shown and is not kept was taken back, for each of the reasons', () => {
    expect([[...removed].sort(), pieces > 20 * LIVES]).toEqual([['failed', 'rewound', 'taken', 'withdrawn'], true])
  })
})
