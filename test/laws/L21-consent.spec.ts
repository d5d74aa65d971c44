import { describe, expect, it } from 'vitest'
import type { Context } from 'cordis'
import type { Agent, CallDecision, Permission } from '@headrace/agent'
import * as approval from '@headrace/plugin-approval'
import { type CallRef, MemoryStore, type OpenQuestion, type SessionEvent } from '@headrace/session'
import type { Harness, HarnessOptions } from '@headrace/testing'
import { gate, turns, until } from '@headrace/testing/gate'
import { app, eventsOf, plugin } from './help.ts'

const CALL = { calls: [{ name: 'cut', arguments: { what: 'rope' } }] }

async function asking(options: HarnessOptions = {}): Promise<Harness & { readonly ran: string[] }> {
  const made = await app({ script: [CALL, 'Done.'], ...options })
  const ran: string[] = []
  made.ctx.tools.define({
    name: 'cut', description: 'Cuts.', parameters: { type: 'object' }, ask: () => 'May it cut?', execute: () => (ran.push('cut'), 'cut'),
  })
  return Object.create(made, { ran: { value: ran } }) as Harness & { readonly ran: string[] }
}

const question = (agent: Agent): Promise<OpenQuestion> => until(() => agent.questions[0], 'a question')

/** For each call that started and whose tool asks: what in the log, in front of it, let it through. */
function consentOf(events: readonly SessionEvent[]): readonly (string | undefined)[] {
  return eventsOf(events, 'tool/start').map(({ seq, data: { assistant, index } }) => {
    const before = events.slice(0, seq)
    const isOf = (data: CallRef): boolean => data.assistant === assistant && data.index === index
    const rule = eventsOf(before, 'approval/decided').find(({ data }) => isOf(data) && data.decision === 'allow')
    const asked = eventsOf(before, 'question/asked').filter(({ data }) => isOf(data) && data.kind === 'permission').map((event) => event.seq)
    const answer = eventsOf(before, 'question/answered').find(({ data }) => asked.includes(data.question))
    return rule?.data.rule ?? (answer?.data.answer === 'allow' ? answer.data.by : undefined)
  })
}

/** A store that says which events were durable when a tool ran. */
class Watched extends MemoryStore {
  durable = 0
  /** A sync waits for it. */
  held: Promise<void> = Promise.resolve()
  override async create(id: string): ReturnType<MemoryStore['create']> {
    const lease = await super.create(id)
    let appended = 0
    const flush = lease.flush.bind(lease)
    const append = lease.append.bind(lease)
    lease.append = (batch) => {
      append(batch)
      appended += batch.events.length
    }
    lease.flush = async () => {
      const upTo = appended
      await this.held
      await flush()
      this.durable = Math.max(this.durable, upTo)
    }
    return lease
  }
}

describe('L21 Consent counts for what was seen, after it was asked', () => {
  it('an answer is in the log, durably, before the tool runs', async () => {
    const store = new Watched()
    const made = await asking({ store })
    made.ctx.agents.attend()
    let durable = 0
    made.ctx.on('tools/execute', async (_agent, _turn, _call, next) => {
      durable = store.durable
      return next()
    })
    const running = made.run('Go.')
    const { seq } = await until(() => made.agent.questions[0])
    const { seq: answered } = await made.agent.answer(seq, 'allow')
    await running
    expect(durable).toBeGreaterThan(answered)
    expect(consentOf(await made.events())).toEqual(['user'])
  })

  it('a tool gets the answer to what it asks once that is durable', async () => {
    const store = new Watched()
    const made = await app({ script: [{ calls: [{ name: 'survey' }] }, 'Done.'], store })
    made.ctx.agents.attend()
    const got: unknown[] = []
    made.ctx.tools.define({ name: 'survey', description: 'Asks.', parameters: { type: 'object' }, execute: async (_, run) => {
      got.push(await run.ask({ question: 'How many?' }))
      return 'thanks'
    } })
    const running = made.run('Go.')
    const { seq } = await question(made.agent)
    const sync = gate()
    await until(() => store.durable > seq)
    store.held = sync.promise
    const answering = made.agent.answer(seq, 3)
    await turns()
    expect(got).toEqual([])
    sync.open()
    await running
    expect([got, (await answering).data.answer]).toEqual([[3], 3])
  })

  it.each<[string, (ctx: Context) => unknown, string]>([
    ['an option that a person gave', (ctx) => ctx.on('tools/pre-execute', async (): Promise<CallDecision> => ({ allow: '--yes' })), 'guest/--yes'],
    ['a listener that says allow', (ctx) => ctx.on('tools/pre-execute', async (): Promise<CallDecision> => 'allow'), 'guest/tools/pre-execute'],
    ['a listener that says allow over another\'s question', (ctx) => ctx.on('tools/pre-execute', async (_a, _t, _c, next) => { await next(); return 'allow' }), 'guest/tools/pre-execute'],
    ['a listener that answers', (ctx) => ctx.on('tools/ask', async (): Promise<Permission> => 'allow'), 'guest/ask'],
  ])('%s is named in front of the call', async (_, apply, named) => {
    const made = await asking()
    await made.ctx.plugin(plugin('guest', apply))
    await made.run('Go.')
    expect([made.ran, consentOf(await made.events())]).toEqual([['cut'], [named]])
  })

  it('a rule is named in front of the call', async () => {
    const made = await asking({ plugins: [[approval, { allow: ['cut'] }]] })
    await made.run('Go.')
    expect(consentOf(await made.events())).toEqual(['approval/cut'])
  })

  it('without anybody, or where what judges breaks, the call does not run', async () => {
    const alone = await asking()
    await alone.run('Go.')
    const broken = await asking({ reports: 'allow' })
    broken.ctx.agents.attend()
    await broken.ctx.plugin(plugin('guest', (ctx) => ctx.on('tools/pre-execute', async () => { throw new Error('no') })))
    await broken.run('Go.')
    expect([alone.ran, broken.ran]).toEqual([[], []])
  })

  it('a person\'s no stands, whatever listeners make of it, and whoever answers later', async () => {
    const made = await asking()
    made.ctx.agents.attend()
    const late = gate()
    await made.ctx.plugin(plugin('guest', (ctx) => ctx.on('tools/ask', async (_a, _t, _c, _q, next): Promise<Permission> => {
      await next()
      await late.promise
      return 'allow'
    })))
    const running = made.run('Go.')
    const { seq } = await question(made.agent)
    await made.agent.answer(seq, 'deny')
    await expect(made.agent.answer(seq, 'allow')).rejects.toMatchObject({ code: 'QUESTION_CLOSED' })
    late.open()
    await running
    expect(made.ran).toEqual([])
  })

  it('only an option of the question is remembered, and no plugin answers in a person\'s name', async () => {
    const made = await asking({ plugins: [[approval, {}]] })
    made.ctx.agents.attend()
    let guest: Agent | undefined
    await made.ctx.plugin(plugin('guest', (ctx) => { guest = ctx.agents.get('test') }))
    const running = made.run('Go.')
    const { seq } = await question(made.agent)
    await expect(made.agent.answer(seq, 'allow', { remember: { rule: 'cut', scope: 'session' } })).rejects.toMatchObject({ code: 'ANSWER_INVALID' })
    await expect(guest!.answer(seq, 'allow')).rejects.toMatchObject({ code: 'NO_DOOR' })
    await made.agent.answer(seq, 'deny')
    await running
    expect([made.ran, made.agent.remembered]).toEqual([[], []])
  })
})
