import { describe, expect, it } from 'vitest'
import { MemoryStore } from '@headrace/session'
import type { Context } from 'cordis'
import { type App, SDKS, app, folded } from './kit.ts'

const cwd = process.cwd()
const begin = async ({ client }: App): Promise<string> => (await client.newSession({ cwd, mcpServers: [] })).sessionId
const say = (text: string): { readonly type: 'text'; readonly text: string }[] => [{ type: 'text', text }]
const writes = (ran: string[]) => (ctx: Context): void => void ctx.tools.define({
  name: 'write', description: 'Writes.', parameters: { type: 'object' }, ask: ({ path }) => `Write ${String(path)}?`,
  execute: ({ path }: Record<string, unknown>) => {
    ran.push(String(path))
    return 'written'
  },
})
const CALL = { text: 'I write.', calls: [{ name: 'write', arguments: { path: 'a.txt', content: 'hello' } }] }

describe.each(Object.keys(SDKS) as (keyof typeof SDKS)[])('a client of SDK %s', (sdk) => {
  it('is answered at once, begins a session, and is told the answer; the reply comes behind its last update', async () => {
    const one = await app({ sdk, script: [{ reasoning: 'Let me see.', text: 'It is fine.' }] })
    const sessionId = await begin(one)
    expect(await one.client.prompt({ sessionId, prompt: say('How is it?') })).toMatchObject({ stopReason: 'end_turn' })
    const kinds = one.updates.map(({ sessionUpdate }) => sessionUpdate)
    expect(kinds).toEqual(expect.arrayContaining(['agent_thought_chunk', 'agent_message_chunk']))
    expect(folded(one.updates)).toEqual(expect.arrayContaining([[expect.stringMatching(/^agent_message_chunk /), { type: 'agent_message_chunk', text: 'It is fine.' }]]))
    // Its own words it has.
    expect(kinds).not.toContain('user_message_chunk')
    const told = one.updates.length
    await one.stop()
    expect(one.updates.length).toBe(told)
  })

  it('is asked before a call runs, which is pending until then, and is shown all of what is asked', async () => {
    const ran: string[] = []
    const seen: unknown[] = []
    const one: App = await app({
      sdk, script: [CALL, 'Done.'], setup: writes(ran),
      answer: ({ options }) => {
        seen.push(one.updates.filter((update) => 'status' in update).map(({ status }) => status))
        expect(ran).toEqual([])
        return { outcome: { outcome: 'selected', optionId: options.find(({ kind }) => kind === 'allow_once')!.optionId } }
      },
    })
    const sessionId = await begin(one)
    expect(await one.client.prompt({ sessionId, prompt: say('Write it.') })).toMatchObject({ stopReason: 'end_turn' })
    expect(ran).toEqual(['a.txt'])
    expect(new Set(seen.flat())).toEqual(new Set(['pending']))
    expect(one.asked).toHaveLength(1)
    expect(JSON.stringify(one.asked[0]!['toolCall'])).toContain('Write a.txt?')
    expect((await one.events(sessionId)).find(({ type }) => type === 'question/answered')).toMatchObject({ data: { answer: 'allow', by: 'user' } })
  })

  it('that rejects, or closes the question, has consented to nothing', async () => {
    for (const outcome of [{ outcome: 'selected', optionId: 'deny' }, { outcome: 'cancelled' }, { outcome: 'selected', optionId: 'made-up' }]) {
      const ran: string[] = []
      const one = await app({ sdk, script: [CALL, 'Then not.'], setup: writes(ran), answer: () => ({ outcome }) })
      const sessionId = await begin(one)
      expect(await one.client.prompt({ sessionId, prompt: say('Write it.') })).toMatchObject({ stopReason: 'end_turn' })
      expect(ran).toEqual([])
      expect(one.updates.filter((update) => update['status'] === 'failed')).not.toEqual([])
    }
  })

  it('that cancels gets cancelled, whatever runs', async () => {
    let begun!: () => void
    const running = new Promise<void>((resolve) => (begun = resolve))
    const one = await app({
      sdk, script: [{ calls: [{ name: 'wait' }] }, 'Never.'],
      setup: (ctx) => void ctx.tools.define({
        name: 'wait', description: 'Waits.', parameters: { type: 'object' },
        execute: async (_: object, { signal }: { readonly signal: AbortSignal }) => {
          begun()
          await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))))
          return 'never'
        },
      }),
    })
    const sessionId = await begin(one)
    const reply = one.client.prompt({ sessionId, prompt: say('Wait.') })
    await running
    await one.client.cancel({ sessionId })
    expect(await reply).toMatchObject({ stopReason: 'cancelled' })
    expect((await one.events(sessionId)).at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'cancelled' } })
  })

  it('that loads a session is told what it was told live', async () => {
    const store = new MemoryStore()
    const first = await app({ sdk, store, script: [{ reasoning: 'Hm.', ...CALL }, 'Done.', 'Again.'], setup: writes([]) })
    const sessionId = await begin(first)
    await first.client.prompt({ sessionId, prompt: say('Write it.') })
    await first.client.prompt({ sessionId, prompt: say('Again.') })
    await first.stop()
    const second = await app({ sdk, store, setup: writes([]) })
    await second.client.loadSession({ sessionId, cwd, mcpServers: [] })
    const user = (entries: unknown): unknown[] => (entries as [string, unknown][]).filter(([key]) => !key.startsWith('user_message_chunk'))
    expect(user(folded(second.updates))).toEqual(user(folded(first.updates)))
    // What a client said itself it is told only now.
    expect(second.updates.filter(({ sessionUpdate }) => sessionUpdate === 'user_message_chunk')).toHaveLength(2)
  })
})

it('sessions are listed by folder, and chosen options hold', async () => {
  const one = await app({ script: ['one', 'two'] })
  const sessionId = await begin(one)
  await one.client.prompt({ sessionId, prompt: say('A title of its own') })
  expect(await one.client.listSessions({ cwd })).toMatchObject({ sessions: [{ sessionId, cwd, title: 'A title of its own' }] })
  expect(await one.client.listSessions({ cwd: '/elsewhere' })).toEqual({ sessions: [] })
  const { configOptions } = await one.client.setSessionConfigOption({ sessionId, configId: 'model', value: 'scripted/other' })
  expect(configOptions).toMatchObject([{ id: 'model', currentValue: 'scripted/other' }, { id: 'thought_level' }, { id: 'permissions', currentValue: 'ask' }])
  await one.client.prompt({ sessionId, prompt: say('And now?') })
  expect((await one.events(sessionId)).filter(({ type }) => type.startsWith('request/header')).at(-1)).toMatchObject({ data: { delta: { config: { model: 'scripted/other' } } } })
})

it('a prompt while a turn runs joins it, and its reply comes with that turn', async () => {
  let go!: () => void
  const gate = new Promise<void>((resolve) => (go = resolve))
  let begun!: () => void
  const running = new Promise<void>((resolve) => (begun = resolve))
  const one = await app({
    script: [{ calls: [{ name: 'wait' }] }, 'Both.'],
    setup: (ctx) => void ctx.tools.define({
      name: 'wait', description: 'Waits.', parameters: { type: 'object' },
      execute: async () => {
        begun()
        await gate
        return 'waited'
      },
    }),
  })
  const sessionId = await begin(one)
  const first = one.client.prompt({ sessionId, prompt: say('Begin.') })
  await running
  const second = one.client.prompt({ sessionId, prompt: say('And this.') })
  await one.ctx.desk.open(sessionId).then(async (seat) => {
    for await (const told of seat.follow()) if (told.type === 'append' && told.events.some(({ type, data }) => type === 'prompt/queued' && (data as { steer?: true }).steer)) break
  })
  go()
  expect(await first).toMatchObject({ stopReason: 'end_turn' })
  expect(await second).toMatchObject({ stopReason: 'end_turn' })
  expect((await one.events(sessionId)).filter(({ type }) => type === 'turn/start')).toHaveLength(1)
})

it('a turn that fails is an error with its reason in the message; what is no session is told as that', async () => {
  const one = await app({ script: [{ error: { kind: 'auth', message: 'the key was refused' } }] })
  const sessionId = await begin(one)
  await expect(one.client.prompt({ sessionId, prompt: say('Hi.') })).rejects.toMatchObject({ message: expect.stringContaining('the key was refused') as string })
  await expect(one.client.loadSession({ sessionId: 'none', cwd, mcpServers: [] })).rejects.toMatchObject({ code: -32002 })
})
