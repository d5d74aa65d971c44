import type { Context } from 'cordis'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Agent, CallDecision, Permission, ToolRun } from '@headrace/agent'
import type { Json } from '@headrace/message'
import { type EventType, type OpenQuestion, type SessionEvent, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { gate, until } from '@headrace/testing/gate'

const CALL = { calls: [{ name: 'cut', arguments: { what: 'rope' } }] }

/** An app with a tool that asks, and, unless it says otherwise, somebody who can be asked. */
async function app(options: HarnessOptions & { readonly door?: false } = {}): Promise<Harness & { readonly ran: readonly string[] }> {
  const { door, ...rest } = options
  const made = await harness({ script: [CALL, 'ok'], ...rest })
  onTestFinished(() => made.dispose())
  const ran: string[] = []
  made.ctx.tools.define({ name: 'cut', description: 'Cuts.', parameters: { type: 'object' }, ask: () => 'May it cut?', execute: () => (ran.push('cut'), 'done') })
  if (door !== false) made.ctx.agents.attend()
  return { ...made, ran }
}

const asked = (agent: Agent): Promise<OpenQuestion> => until(() => agent.questions[0], 'a question')

const of = async <T extends EventType>(made: Harness, ...types: T[]): Promise<SessionEvent<T>[]> =>
  (await made.events()).filter(({ type }) => (types as string[]).includes(type)) as SessionEvent<T>[]

const CONSENT = ['approval/decided', 'question/asked', 'question/answered', 'tool/start', 'tool/result'] as const
const story = async (made: Harness): Promise<string[]> => (await of(made, ...CONSENT)).map(({ type, data }) => {
  switch (type) {
    case 'question/answered': return `answered ${JSON.stringify(data.answer)} by ${data.by}`
    case 'approval/decided': return `${data.decision} by ${data.rule}`
    case 'tool/result': return `result ${data.outcome}`
    default: return type === 'tool/start' ? 'start' : 'asked'
  }
})

/** A plugin with the services of agents. */
interface Made { readonly name: string; readonly inject: string[]; readonly apply: (ctx: Context) => Promise<void> }
const plugin = (name: string, apply: (ctx: Context) => void): Made => ({
  name, inject: ['sessions', 'llm', 'tools', 'system', 'agents'], apply: async (ctx) => apply(ctx),
})

describe('a permission', () => {
  it('is a question in the log, and its answer stands there in front of the call', async () => {
    const made = await app()
    const running = made.run('Go.')
    const question = await asked(made.agent)
    expect(question).toMatchObject({ kind: 'permission', question: 'May it cut?', index: 0, options: [{ answer: 'allow' }, { answer: 'deny' }] })
    expect(await made.store.card('test')).toMatchObject({ state: 'asks', asks: [{ question: question.seq }] })
    const event = await made.agent.answer(question.seq, 'allow')
    expect((await made.events()).at(event.seq)).toEqual(event)
    expect(await running).toMatchObject({ reason: 'done' })
    expect(await story(made)).toEqual(['asked', 'answered "allow" by user', 'start', 'result done'])
    expect(verify(await made.events())).not.toHaveProperty('difference')
  })

  it.each([['deny', 'the user said no'], [{ deny: 'not on a Friday' }, 'not on a Friday']])('%j denies the call, in those words', async (answer, words) => {
    const made = await app()
    const running = made.run('Go.')
    await made.agent.answer((await asked(made.agent)).seq, answer)
    await running
    expect(made.ran).toEqual([])
    expect(JSON.stringify((await of(made, 'tool/result'))[0]!.data.message)).toContain(words)
  })

  it('is denied at once where nobody is, and not asked', async () => {
    const made = await app({ door: false })
    await made.run('Go.')
    expect(await story(made)).toEqual(['result denied'])
  })

  it('a door that goes with its plugin is none', async () => {
    const made = await app({ door: false })
    const fiber = made.ctx.plugin(plugin('door', (ctx) => void ctx.agents.attend()))
    await fiber
    await fiber.dispose()
    await made.run('Go.')
    expect(await story(made)).toEqual(['result denied'])
  })

  it('the first answer counts, the second is refused with the name of who gave the first', async () => {
    const made = await app()
    const running = made.run('Go.')
    const { seq } = await asked(made.agent)
    const [first, second] = [made.agent.answer(seq, 'deny'), made.agent.answer(seq, 'allow')]
    await first
    await expect(second).rejects.toMatchObject({ code: 'QUESTION_CLOSED', message: `question ${seq} was answered by user already` })
    await running
    expect(made.ran).toEqual([])
  })

  it.each([['yes'], [true], [{ allow: true }], [null], [{ deny: 'x', allow: true }]])('%j is no answer: the question stays open', async (answer) => {
    const made = await app()
    const running = made.run('Go.')
    const { seq } = await asked(made.agent)
    await expect(made.agent.answer(seq, answer as Json)).rejects.toMatchObject({ code: 'ANSWER_INVALID' })
    expect(made.agent.questions).toHaveLength(1)
    await made.agent.answer(seq, 'deny')
    await running
  })

  it('a plugin that is no door answers nothing; a door signs with its name', async () => {
    const made = await app()
    let [quiet, door]: (Agent | undefined)[] = []
    await made.ctx.plugin(plugin('quiet', (ctx) => void (quiet = ctx.agents.get('test'))))
    await made.ctx.plugin(plugin('chat', (ctx) => {
      ctx.agents.attend('test')
      door = ctx.agents.get('test')
    }))
    const running = made.run('Go.')
    const { seq } = await asked(made.agent)
    await expect(quiet!.answer(seq, 'allow')).rejects.toMatchObject({ code: 'NO_DOOR' })
    expect(() => quiet!.session.append({ type: 'question/answered', data: { question: seq, answer: 'allow', by: 'user' } })).toThrow('written by the loop only')
    await door!.answer(seq, 'allow')
    await running
    expect(await story(made)).toEqual(['asked', 'answered "allow" by chat/answer', 'start', 'result done'])
  })

  it('a mailed answer answers it; one for another question, or a second one, is on record as refused', async () => {
    const made = await app()
    const running = made.run('Go.')
    const { seq } = await asked(made.agent)
    await made.store.post('test', { kind: 'answer', question: 0, answer: 'allow' })
    await until(async () => (await of(made, 'letter/refused')).length === 1)
    await made.store.post('test', { kind: 'answer', question: seq, answer: 'allow' })
    await running
    expect(await of(made, 'question/answered')).toMatchObject([{ data: { question: seq, by: 'user', letter: expect.any(String) } }])
    expect((await of(made, 'letter/refused'))[0]!.data).toEqual({ letter: expect.any(String), reason: 'event 0 is no question' })
    expect(await made.store.letters('test')).toEqual([])
  })

  it('a listener of tools/ask answers in the name of its plugin, also while a door is there', async () => {
    const made = await app()
    await made.ctx.plugin(plugin('house', (ctx) => void ctx.on('tools/ask', async (): Promise<Permission> => 'allow')))
    await made.run('Go.')
    expect(await story(made)).toEqual(['asked', 'answered "allow" by house/ask', 'start', 'result done'])
  })

  it('a listener that thinks for ever does not keep a person from answering, one that passes on cannot turn a no', async () => {
    const made = await app()
    await made.ctx.plugin(plugin('turner', (ctx) => void ctx.on('tools/ask', async (_agent, _turn, _call, _question, next): Promise<Permission> => {
      await next()
      return 'allow'
    })))
    const slow = made.ctx.plugin(plugin('slow', (ctx) => void ctx.on('tools/ask', () => new Promise<Permission>(() => undefined))))
    await slow
    const running = made.run('Go.')
    await made.agent.answer((await asked(made.agent)).seq, 'deny')
    await running
    expect(await story(made)).toEqual(['asked', 'answered "deny" by user', 'result denied'])
  })

  it('what lets a call through without asking is on record with its name', async () => {
    const made = await app({ script: [CALL, CALL, 'ok'] })
    const decisions: CallDecision[] = [{ allow: '--yes' }, 'allow']
    await made.ctx.plugin(plugin('guard', (ctx) => void ctx.on('tools/pre-execute', async () => decisions.shift()!)))
    await made.run('Go.')
    expect(await story(made)).toEqual(['allow by guard/--yes', 'start', 'result done', 'allow by guard/tools/pre-execute', 'start', 'result done'])
  })

  it('a rule that denies or asks is on record; a tool that asks nothing leaves no record', async () => {
    const made = await app({ script: [CALL, CALL, { calls: [{ name: 'look' }] }, 'ok'] })
    made.ctx.tools.define({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
    const decisions: CallDecision[] = [{ deny: 'no cutting', rule: 'cut(*)' }, { ask: 'Really?', rule: 'cut(r*)', options: [{ answer: 'allow', remember: { rule: 'cut' } }] }, 'allow']
    await made.ctx.plugin(plugin('guard', (ctx) => void ctx.on('tools/pre-execute', async () => decisions.shift()!)))
    const running = made.run('Go.')
    const { seq, question } = await asked(made.agent)
    expect(question).toBe('Really?')
    await expect(made.agent.answer(seq, 'allow', { remember: { rule: '*' } })).rejects.toMatchObject({ code: 'ANSWER_INVALID' })
    await made.agent.answer(seq, 'allow', { remember: { rule: 'cut' } })
    await running
    expect(made.agent.remembered).toMatchObject([{ remember: { rule: 'cut' } }])
    expect(await story(made)).toEqual([
      'deny by guard/cut(*)', 'result denied', 'ask by guard/cut(r*)', 'asked', 'answered "allow" by user', 'start', 'result done', 'start', 'result done',
    ])
  })
})

describe('a question of a running tool', () => {
  const INPUT = { calls: [{ name: 'survey' }] }

  async function survey(options: HarnessOptions & { readonly door?: false } = {}, question: Parameters<ToolRun['ask']>[0] = { question: 'How many?', schema: { type: 'number' } }): Promise<Harness> {
    const made = await app({ script: [INPUT, 'ok'], ...options })
    made.ctx.tools.define({ name: 'survey', description: 'Asks.', parameters: { type: 'object' }, execute: async (_, run) => `got ${JSON.stringify(await run.ask(question))}` })
    return made
  }

  it('gets any JSON that fits its schema, durable before the tool has it; another answer is refused and it stays open', async () => {
    const made = await survey()
    const running = made.run('Go.')
    const { seq, kind, schema } = await asked(made.agent)
    expect([kind, schema]).toEqual(['input', { type: 'number' }])
    await expect(made.agent.answer(seq, 'many')).rejects.toMatchObject({ code: 'ANSWER_INVALID', message: expect.stringContaining('must be number') })
    await made.agent.answer(seq, 3)
    await running
    expect(await story(made)).toEqual(['start', 'asked', 'answered 3 by user', 'result done'])
    expect(JSON.stringify(made.requests[1]!.messages.at(-1))).toContain('got 3')
  })

  it('null declines; with nobody there it is refused, with a code', async () => {
    const made = await survey()
    const running = made.run('Go.')
    await made.agent.answer((await asked(made.agent)).seq, null)
    await running
    expect(JSON.stringify(made.requests[1]!.messages.at(-1))).toContain('got null')
    const alone = await survey({ door: false })
    await alone.run('Go.')
    expect(await story(alone)).toEqual(['start', 'result error'])
  })

  it('what it asks wrongly is refused at once', async () => {
    const made = await survey({}, { question: 'x?', schema: { type: 'nonsense' } })
    await made.run('Go.')
    expect(await story(made)).toEqual(['start', 'result error'])
  })

  it('neither the time of the tool nor that of the turn runs while it waits', async () => {
    const made = await app({ script: [INPUT, 'ok'], settings: { limits: { time: 60_000 }, toolTimeout: 50_000 } })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    made.ctx.tools.define({ name: 'survey', description: 'Asks.', parameters: { type: 'object' }, execute: (_, run) => run.ask({ question: 'How many?' }) })
    const running = made.run('Go.')
    const { seq } = await asked(made.agent)
    vi.advanceTimersByTime(3_600_000)
    await made.agent.answer(seq, 'x')
    expect(await running).toMatchObject({ reason: 'done' })
  })
})

describe('what ends a question', () => {
  it.each([
    ['a cancel', (agent: Agent) => agent.cancel('enough')],
    ['a park', (agent: Agent) => void agent.park()],
  ])('%s closes it with its call, which was not started; a later answer is told so, also after a resume', async (_, end) => {
    const made = await app()
    const handle = made.agent.prompt('Go.')
    const { seq } = await asked(made.agent)
    end(made.agent)
    await handle.result
    expect(await story(made)).toEqual(['asked', 'result not-started'])
    const agent = made.ctx.agents.get('test') ?? await made.ctx.agents.resume('test', { turn: 'close' })
    await expect(agent.answer(seq, 'allow')).rejects.toMatchObject({ code: 'QUESTION_CLOSED', message: `question ${seq} is closed: its call was not started` })
    expect(made.ran).toEqual([])
    if (agent !== made.agent) await agent.dispose()
  })

  it('of a running tool it is closed as unknown, and the model is told', async () => {
    const made = await app({ script: [{ calls: [{ name: 'survey' }] }, 'ok'], settings: { grace: 0 } })
    const held = gate<string>()
    made.ctx.tools.define({ name: 'survey', description: 'Asks.', parameters: { type: 'object' }, execute: async (_, run) => run.ask({ question: 'How many?' }).catch(() => held.promise) })
    const handle = made.agent.prompt('Go.')
    const { seq } = await asked(made.agent)
    await made.agent.park()
    await handle.result
    expect(await story(made)).toEqual(['start', 'asked', 'result unknown'])
    const agent = await made.ctx.agents.resume('test')
    await agent.idle()
    await expect(agent.answer(seq, 'x')).rejects.toMatchObject({ code: 'QUESTION_CLOSED', message: expect.stringContaining('unknown') })
    expect(JSON.stringify(made.requests[1]!.messages.at(-1))).toContain('its outcome is unknown')
    held.open('')
    await agent.dispose()
  })

  it('a fork does not remember what its parent was told, a rewind does not forget', async () => {
    const made = await app({ door: false })
    await made.ctx.plugin(plugin('guard', (ctx) => {
      ctx.agents.attend()
      ctx.on('tools/pre-execute', async () => ({ ask: 'Really?', options: [{ answer: 'allow', remember: 'always' }] }))
    }))
    const running = made.run('Go.')
    await made.agent.answer((await asked(made.agent)).seq, 'allow', { remember: 'always' })
    await running
    await made.agent.rewind()
    expect(made.agent.remembered).toMatchObject([{ remember: 'always' }])
    const fork = await made.ctx.agents.fork('test')
    expect(fork.remembered).toEqual([])
    await fork.dispose()
  })
})

it('a turn that waits for a person keeps its slot, and lends the app one more', async () => {
  const made = await app({ script: (request) => (JSON.stringify(request.messages).includes('Plain') ? 'plain' : request.messages.at(-1)!.role === 'tool' ? 'ok' : CALL), settings: { concurrentTurns: 1 } })
  const running = made.run('Go.')
  const { seq } = await asked(made.agent)
  const other = await made.ctx.agents.create({ id: 'other', model: 'scripted/model' })
  expect(await other.prompt('Plain').result).toMatchObject({ text: 'plain' })
  await made.agent.answer(seq, 'allow')
  expect(await running).toMatchObject({ text: 'ok' })
  await other.dispose()
  expect(made.ctx.agents.turns).toEqual({ running: 0, waiting: 0 })
})
