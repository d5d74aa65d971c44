import type { Context } from 'cordis'
import { z } from 'zod'
import { textOf } from '@headrace/message'
import { type SessionEvent, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'

async function app(options: HarnessOptions = {}): Promise<Harness> {
  const made = await harness(options)
  onTestFinished(() => made.dispose().catch(() => undefined))
  return made
}

const models = (made: Harness): string[] => made.requests.map(({ config }) => config.model)
const headers = async (made: Harness): Promise<unknown[]> => (await made.events())
  .filter((event): event is SessionEvent<'request/header' | 'request/header-delta'> => event.type.startsWith('request/header'))
  .map(({ type, data }) => [type, data.substitute === true])

describe("a prompt's own config", () => {
  it('is of its turn alone: the baseline does not move', async () => {
    const made = await app()
    await made.run('One')
    await made.agent.prompt('Two', { config: { model: 'large', temperature: 1 } }).result
    await made.run('Three')
    expect(made.requests.map(({ config }) => config)).toEqual([{ model: 'scripted/model' }, { model: 'scripted/large', temperature: 1 }, { model: 'scripted/model' }])
    expect(await headers(made)).toEqual([['request/header', false], ['request/header-delta', true], ['request/header-delta', false]])
    expect(verify(await made.events()).difference).toBeUndefined()
  })

  it('on the first prompt says what it stands in for ahead of it', async () => {
    const made = await app()
    await made.agent.prompt('One', { config: { model: 'large' } }).result
    await made.resume()
    await made.run('Two')
    expect(models(made)).toEqual(['scripted/large', 'scripted/model'])
    expect((await headers(made)).slice(0, 2)).toEqual([['request/header', false], ['request/header-delta', true]])
  })

  it('holds in each step and attempt of its turn, and what a listener returns in it goes with it', async () => {
    const tools = { name: 'tools', inject: ['tools'], apply: async (ctx: Context) => {
      ctx.tools.define({ name: 't', description: 't', parameters: { type: 'object' }, execute: () => 'x' })
      ctx.on('agent/request', async (_agent, turn, _step, _config, next) => (turn.number === 2 ? { ...await next(), topP: 0.5 } : next()))
    } }
    const made = await app({ plugins: [tools], script: (_request, index) => (index === 1 ? { calls: [{ name: 't' }] } : 'ok') })
    await made.run('One')
    await made.agent.prompt('Two', { config: { model: 'large' } }).result
    await made.run('Three')
    expect(made.requests.map(({ config }) => config)).toEqual([
      { model: 'scripted/model' }, { model: 'scripted/large', topP: 0.5 }, { model: 'scripted/large', topP: 0.5 }, { model: 'scripted/model' },
    ])
  })

  it('a configure waits for the first turn without one', async () => {
    const made = await app()
    await made.run('One')
    made.agent.configure({ temperature: 0.3 })
    await made.agent.prompt('Two', { config: { model: 'large' } }).result
    await made.run('Three')
    expect(made.requests.map(({ config }) => config)).toEqual([{ model: 'scripted/model' }, { model: 'scripted/large' }, { model: 'scripted/model', temperature: 0.3 }])
  })

  it('is kept with the prompt, for a resume', async () => {
    const made = await app({ script: [{ text: 'half', hang: true }, 'whole', 'more'] })
    const turn = made.agent.prompt('One', { config: { model: 'large' } })
    made.agent.prompt('Two', { config: { model: 'small' } })
    await new Promise((resolve) => made.agent.session.on('chunk', resolve))
    await made.agent.park()
    await turn.result
    const agent = await made.ctx.agents.resume('test')
    agent.wake()
    await agent.idle()
    expect(models(made)).toEqual(['scripted/large', 'scripted/large', 'scripted/small'])
    await agent.dispose()
  })

  it('one that cannot be sent is refused, and nothing is queued', async () => {
    const made = await app()
    expect(() => made.agent.prompt('x', { config: { modle: 'y' } as never })).toThrow(/unknown field "modle"/)
    expect(() => made.agent.prompt('x', { confg: {} } as never)).toThrow(/no option "confg"/)
    expect(made.agent.session.length).toBe(1)
  })
})

describe("a prompt's signal", () => {
  it('cancels its turn, or takes it back', async () => {
    const made = await app({ script: [{ text: 'half', hang: true }] })
    const [one, two] = [new AbortController(), new AbortController()]
    const running = made.agent.prompt('One', { signal: one.signal })
    const waiting = made.agent.prompt('Two', { signal: two.signal })
    await new Promise((resolve) => made.agent.session.on('chunk', resolve))
    two.abort(new Error('not needed'))
    expect(await waiting.result).toMatchObject({ reason: 'withdrawn', error: { message: 'not needed' } })
    one.abort()
    expect(await running.result).toMatchObject({ reason: 'cancelled' })
    expect(await made.agent.prompt('Three', { signal: one.signal }).result).toMatchObject({ reason: 'withdrawn' })
  })
})

describe("a prompt's output", () => {
  const output = z.object({ file: z.string(), line: z.number() })
  const good = '{"file":"a.ts","line":3}'

  it('is in the config, the log and the result, typed', async () => {
    const made = await app({ script: [good, 'free text'] })
    const result = await made.agent.prompt('Where?', { output }).result
    expectTypeOf(result.output).toEqualTypeOf<{ file: string; line: number } | undefined>()
    expect(result).toMatchObject({ reason: 'done', output: { file: 'a.ts', line: 3 } })
    expect(made.requests[0]!.config.output).toMatchObject({ type: 'object', required: ['file', 'line'] })
    expect((await made.events()).find(({ type }) => type === 'prompt/queued')!.data).toMatchObject({ output: { type: 'object' } })
    expect(await made.run('And now?')).not.toHaveProperty('output')
    expect(made.requests[1]!.config).not.toHaveProperty('output')
  })

  it('that does not fit is told to the model once, and then the turn fails', async () => {
    const made = await app({ script: ['no JSON', good, '{"file":1}', '{}'] })
    expect(await made.agent.prompt('Where?', { output }).result).toMatchObject({ reason: 'done', steps: 2, output: { line: 3 } })
    expect(made.agent.session.entries().map(({ owner }) => owner)).toEqual(['user', 'model', 'loop/output', 'model'])
    expect(textOf(made.requests[1]!.messages.at(-1)!)).toContain('does not fit')
    expect(await made.agent.prompt('Where?', { output }).result).toMatchObject({ reason: 'error', steps: 2, error: { code: 'OUTPUT_INVALID' } })
  })

  it('takes JSON Schema of any value, and is checked after a resume too', async () => {
    const made = await app({ script: [{ text: '[', hang: true }, '"no list"', '[1,2]'] })
    made.agent.prompt('List', { output: { type: 'array', items: { type: 'number' } } })
    await new Promise((resolve) => made.agent.session.on('chunk', resolve))
    await made.agent.park()
    const agent = await made.ctx.agents.resume('test')
    const result = agent.turn?.result
    await agent.idle()
    if (result) expect(await result).toMatchObject({ reason: 'done', output: [1, 2] })
    expect(made.requests).toHaveLength(3)
    await agent.dispose()
  })

  it('steps with calls are not checked', async () => {
    const tools = { name: 'tools', inject: ['tools'], apply: async (ctx: Context) => void ctx.tools.define({ name: 't', description: 't', parameters: { type: 'object' }, execute: () => 'x' }) }
    const made = await app({ plugins: [tools], script: [{ text: 'let me look', calls: [{ name: 't' }] }, good] })
    expect(await made.agent.prompt('Where?', { output }).result).toMatchObject({ reason: 'done', steps: 2, output: { file: 'a.ts' } })
  })

  it('is nothing to a side request: a title, a summary', async () => {
    const made = await app({ script: ({ config }) => (config.output ? good : 'A title') })
    const titles: string[] = []
    made.ctx.on('agent/turn-stopping', async (agent) => {
      const { message } = await agent.ask(['Title?'], { purpose: 'title', config: { temperature: 0 } })
      titles.push(textOf(message))
    })
    expect(await made.agent.prompt('Where?', { output, config: { model: 'large' } }).result).toMatchObject({ output: { line: 3 } })
    titles.push(textOf((await made.agent.ask(['Title?'], { purpose: 'title' })).message))
    expect(titles).toEqual(['A title', 'A title'])
    expect(made.requests.map(({ config }) => ({ ...config, output: config.output !== undefined }))).toEqual([
      { model: 'scripted/large', output: true }, { model: 'scripted/large', output: false, temperature: 0 }, { model: 'scripted/large', output: false },
    ])
    const asked = await made.agent.ask(['Which?'], { purpose: 'file', config: { output: { type: 'object' } } })
    expect(textOf(asked.message)).toBe(good)
    expect(verify(await made.events()).difference).toBeUndefined()
  })

  it('what is no schema is refused', async () => {
    const made = await app()
    expect(() => made.agent.prompt('x', { output: 'object' as never })).toThrow(/output of a prompt/)
    expect(() => made.agent.prompt('x', { output: { type: 'nothing' } })).toThrow(/JSON Schema is wrong/)
    expect(made.agent.session.length).toBe(1)
  })
})
