import type { Context } from 'cordis'
import { onTestFinished, describe, expect, it } from 'vitest'
import { type Request, textOf } from '@headrace/message'
import { rebuild, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, expectAppendOnly, harness } from '@headrace/testing'
import { BriefingService } from '@headrace/briefing'

async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness({ script: (_request, index) => `answer ${index}`, ...options })
  onTestFinished(() => made.dispose())
  return made
}

const texts = ({ messages }: Pick<Request, 'messages'>): string[] => messages.map(textOf)
const history = ({ agent }: Harness): string[] => texts({ messages: agent.session.deriveMessages() })
const bytes = ({ session, dispatch, config, system, tools, messages, segments, owners }: Omit<Request, 'signal'>): string => JSON.stringify({ session, dispatch, config, system, tools, messages, segments, owners })

async function expectVerified(made: Harness): Promise<void> {
  const events = await made.events()
  expect(verify(events)).not.toHaveProperty('difference')
  for (const request of made.requests) expect(bytes(rebuild(events, request.dispatch!))).toBe(bytes(request))
}

const framing = {
  name: 'framing', inject: ['agents', 'system'],
  apply: async (ctx: Context) => {
    ctx.system.section({ key: 's', content: 'You are a test.' })
    ctx.agents.prefix({ key: 'p', content: () => 'The prefix.' })
    ctx.agents.before({ key: 'b', content: () => 'The frame.' })
    ctx.agents.after({ key: 'a', content: () => 'Last.' })
  },
}

describe('rewind', () => {
  it('takes back the last turn, or several; the next request is what stood, and the new prompt, byte for byte', async () => {
    const made = await app({ plugins: [framing] })
    for (const prompt of ['one', 'two', 'three']) await made.run(prompt)
    await made.agent.rewind()
    expect(history(made)).toEqual(['one', 'answer 0', 'two', 'answer 1'])
    await made.agent.rewind({ turns: 1 })
    await made.run('four')
    const [, second, , fourth] = made.requests as [Request, Request, Request, Request]
    expect(texts(fourth)).toEqual(['The prefix.', 'The frame.', 'one', 'answer 0', 'four', 'Last.'])
    // What the provider has cached of the second request, it reads again: all but that request's own prompt.
    const common = (request: Request): string =>
      JSON.stringify([request.system, request.tools, request.config, request.messages.slice(0, 4)])
    expect(common(fourth)).toBe(common(second))
    expect((await made.events()).filter(({ type }) => type.startsWith('request/header'))).toHaveLength(1)
    await expectVerified(made)
  })

  it('goes to the beginning of a turn by its number; turns go on counting, and those taken back are not counted again', async () => {
    const made = await app()
    for (const prompt of ['one', 'two', 'three']) await made.run(prompt)
    const event = await made.agent.rewind({ to: 3 })
    expect(event.data).toEqual({ turn: 3, owner: 'app', reason: 'rewound by app' })
    await made.run('four')
    expect(made.agent.session.turns.map(({ turn }) => turn)).toEqual([1, 2, 4])
    await made.agent.rewind({ turns: 2, reason: 'two was wrong too' })
    expect(history(made)).toEqual(['one', 'answer 0'])
    expect((await made.events()).filter(({ type }) => type === 'surface/rewind').map(({ data }) => data)).toEqual([
      { turn: 3, owner: 'app', reason: 'rewound by app' }, { turn: 2, owner: 'app', reason: 'two was wrong too' },
    ])
    await made.agent.rewind({ to: 1 })
    expect(history(made)).toEqual([])
    await made.run('anew')
    expect(texts(made.requests.at(-1)!)).toEqual(['anew'])
    await expectVerified(made)
  })

  it('is durable when it resolves: a resume goes on from there, a fork too', async () => {
    const made = await app({ plugins: [framing] })
    for (const prompt of ['one', 'two']) await made.run(prompt)
    await made.agent.rewind()
    await made.resume()
    expect(history(made)).toEqual(['one', 'answer 0'])
    await made.run('three')
    expect(texts(made.requests.at(-1)!)).toEqual(['The prefix.', 'The frame.', 'one', 'answer 0', 'three', 'Last.'])
    expectAppendOnly([made.requests[0]!, made.requests[2]!])
    const fork = await made.ctx.agents.fork('test', { id: 'child' })
    expect(texts({ messages: fork.session.deriveMessages() })).toEqual(['one', 'answer 0', 'three', 'answer 2'])
    expect(fork.session.turns.map(({ turn }) => turn)).toEqual([1, 3])
    await expectVerified(made)
  })

  it('goes past a compaction: what was summarised stands there again', async () => {
    const made = await app()
    for (const prompt of ['one', 'two', 'three']) await made.run(prompt)
    const entries = made.agent.session.entries()
    made.agent.replace(entries[0]!.id, entries[3]!.id, ['A summary.'], { reason: 'compaction' })
    await made.run('four')
    expect(texts(made.requests.at(-1)!)).toEqual(['A summary.', 'three', 'answer 2', 'four'])
    await made.agent.rewind({ to: 3 })
    expect(history(made)).toEqual(['one', 'answer 0', 'two', 'answer 1'])
    await made.run('five')
    expectAppendOnly([made.requests[1]!, made.requests[4]!])
    await expectVerified(made)
  })

  it('takes tool calls and results back together; what the tools did stays done', async () => {
    let calls = 0
    const tool = { name: 'tool', inject: ['tools'], apply: async (ctx: Context) => void ctx.tools.define({ name: 'write', description: '', parameters: { type: 'object' }, execute: () => `written ${++calls}` }) }
    const made = await app({ plugins: [tool], script: (_request, index) => (index === 0 ? { calls: [{ name: 'write' }, { name: 'write' }] } : `answer ${index}`) })
    await made.run('write')
    await made.agent.rewind()
    await made.run('hello')
    expect(calls).toBe(2)
    expect(texts(made.requests.at(-1)!)).toEqual(['hello'])
    await expectVerified(made)
  })

  it('has what topics told and it hid told again, and what it did not hide not', async () => {
    let state = 'It rains.'
    const topic = {
      name: 'weather', inject: ['briefing'],
      apply: async (ctx: Context) => {
        ctx.briefing.topic({ key: 'sky', content: () => state })
        ctx.briefing.topic({ key: 'ground', content: () => 'Wet.' })
      },
    }
    const made = await app({ plugins: [BriefingService, topic] })
    await made.run('one')
    state = 'It snows.'
    await made.run('two')
    const told = texts(made.requests[1]!).slice(-2)
    expect(told[0]).toContain('It snows.')
    await made.agent.rewind()
    await made.run('three')
    const [, second, third] = made.requests as [Request, Request, Request]
    expect(texts(third).slice(0, -1)).toEqual(texts(second).slice(0, -1))
    expect(texts(third).at(-1)).toBe('three')
    await made.agent.rewind({ to: 1 })
    await made.run('four')
    expect(texts(made.requests[3]!)).toEqual(['Wet.', 'It snows.', 'four'])
  })

  it('keeps the config, and what was configured since', async () => {
    const made = await app()
    await made.run('one')
    made.agent.configure({ temperature: 0.5 })
    await made.run('two')
    await made.agent.rewind()
    await made.run('three')
    expect(made.requests[2]!.config.temperature).toBe(0.5)
  })

  it('while a turn runs is refused; with cancel the turn ends first, and is taken back itself', async () => {
    const made = await app({ script: (request) => (texts(request).at(-1) === 'two' ? { text: 'half', hang: true } : `answer to ${texts(request).at(-1)}`) })
    await made.run('one')
    const running = made.agent.prompt('two')
    await expect.poll(() => made.agent.turn).toBeDefined()
    await expect(made.agent.rewind()).rejects.toThrow(expect.objectContaining({ code: 'TURN_RUNS' }))
    await expect(made.agent.rewind()).rejects.toThrow('a turn runs; let it end, or rewind with { cancel: true }')
    const waits = made.agent.prompt('three')
    await made.agent.rewind({ cancel: true })
    expect((await running.result).reason).toBe('cancelled')
    // The queue goes on behind it.
    expect((await waits.result).reason).toBe('done')
    expect(history(made)).toEqual(['one', 'answer to one', 'three', 'answer to three'])
    await expectVerified(made)
  })

  it('with queue: withdraw takes the prompts back that wait', async () => {
    const made = await app({ script: (request, index) => (texts(request).at(-1) === 'two' ? { hang: true } : `answer ${index}`) })
    await made.run('one')
    void made.agent.prompt('two')
    const waits = made.agent.prompt('three')
    await expect.poll(() => made.agent.turn).toBeDefined()
    await made.agent.rewind({ cancel: true, queue: 'withdraw' })
    expect((await waits.result).reason).toBe('withdrawn')
    await made.agent.idle()
    expect(history(made)).toEqual(['one', 'answer 0'])
  })

  it('right behind a turn\'s result, and a prompt right behind the rewind, go in that order', async () => {
    const made = await app()
    await made.run('one')
    const rewinding = made.agent.rewind()
    const next = made.agent.prompt('two')
    await rewinding
    await next.result
    expect(history(made)).toEqual(['two', 'answer 1'])
    await expectVerified(made)
  })

  it('from inside its own turn, with cancel, does not wait for itself', async () => {
    const plugin = {
      name: 'judge', inject: ['agents'],
      apply: async (ctx: Context) => void ctx.on('agent/pre-step', async (agent, turn, step, next) => {
        if (turn.number === 2 && step.number === 1) await agent.rewind({ cancel: true })
        return next()
      }),
    }
    const made = await app({ plugins: [plugin] })
    await made.run('one')
    expect((await made.run('two')).reason).toBe('cancelled')
    await made.agent.idle()
    await expect.poll(() => history(made)).toEqual(['one', 'answer 0'])
    expect((await made.events()).find(({ type }) => type === 'surface/rewind')?.data).toMatchObject({ owner: 'judge/rewind', reason: 'rewound by judge' })
  })

  it('does not wake a resumed session: its queue waits for wake()', async () => {
    const made = await app({ script: (request) => (texts(request).at(-1) === 'two' ? { hang: true } : 'fine') })
    await made.run('one')
    void made.agent.prompt('two')
    void made.agent.prompt('three')
    await expect.poll(() => made.agent.turn).toBeDefined()
    const agent = await made.resume()
    await agent.rewind({ to: 1 })
    await agent.idle()
    expect(history(made)).toEqual([])
    agent.wake()
    await agent.idle()
    expect(history(made)).toEqual(['three', 'fine'])
  })

  it('is refused where there is no such turn, and for what is no number of turns', async () => {
    const made = await app()
    await expect(made.agent.rewind()).rejects.toThrow('1 turn cannot be taken back: 0 stand')
    await made.run('one')
    await expect(made.agent.rewind({ turns: 2 })).rejects.toThrow('2 turns cannot be taken back: 1 stands')
    await expect(made.agent.rewind({ to: 2 })).rejects.toThrow('there is no turn 2 to go back to; the newest is 1')
    for (const wrong of [{ turns: 0 }, { turns: 1.5 }, { to: Number.NaN }, { to: -1 }, { turns: 1, to: 1 }, { turns: '1' as unknown as number }]) {
      await expect(made.agent.rewind(wrong)).rejects.toThrow(expect.objectContaining({ code: 'REWIND_INVALID' }))
    }
    expect(history(made)).toEqual(['one', 'answer 0'])
    await made.run('two')
    await expectVerified(made)
  })

  it('counts a turn that was blocked, and one that failed', async () => {
    const plugin = { name: 'guard', inject: ['agents'], apply: async (ctx: Context) => void ctx.on('agent/prompt-submit', async (_agent, turn, _submission, next) => (turn.number === 2 ? { block: 'no' } : next())) }
    const made = await app({ plugins: [plugin], script: (_request, index) => (index === 1 ? { error: { kind: 'invalid' } } : `answer ${index}`) })
    await made.run('one')
    expect((await made.run('two')).reason).toBe('blocked')
    expect((await made.run('three')).reason).toBe('error')
    await made.agent.rewind({ turns: 2 })
    expect(history(made)).toEqual(['one', 'answer 0'])
  })
})
