import type { Context } from 'cordis'
import fc from 'fast-check'
import { BriefingService } from '@headrace/briefing'
import { type SessionEvent, verify } from '@headrace/session'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { RunContext } from '@headrace/run-context'
import { describe, expect, it } from 'vitest'

/** Texts that are cut in the middle of a character, and whole ones between. */
const broken = fc.array(fc.oneof(fc.constantFrom('\ud83d', '\ude00', '😀', 'ä', '\0', '\u2028'), fc.string({ maxLength: 4 })), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(''))

/** A text at one border of the app. It may throw what says so, and be refused so; it may not reach the log or the model as it is. */
interface Border {
  readonly options?: (text: string) => HarnessOptions
  readonly act?: (made: Harness, text: string) => unknown
}

const plugin = (apply: (ctx: Context) => unknown) => ({ name: 'border', inject: ['agents', 'tools', 'system'], apply: async (ctx: Context) => void apply(ctx) })
const loaded = (apply: (ctx: Context, text: string) => unknown, script?: HarnessOptions['script']) => (text: string): HarnessOptions => ({ plugins: [plugin((ctx) => apply(ctx, text))], ...(script && { script }) })
const CALL: HarnessOptions['script'] = [{ calls: [{ name: 'it' }] }, 'fine']
const tool = (ctx: Context, more: object): unknown => ctx.tools.define({ name: 'it', description: 'd', parameters: { type: 'object' }, execute: () => 'fine', ...more } as never)

const borders: Record<string, Border> = {
  'a prompt': { act: ({ agent }, text) => agent.prompt(text).result },
  'a prompt of blocks': { act: ({ agent }, text) => agent.prompt([{ type: 'text', text }]).result },
  'the context of a prompt': { act: ({ agent }, text) => agent.prompt('x', { context: new RunContext({ facts: [[text, text]], headSections: [[text, text]], tailSections: [['k', text]] }) }).result },
  'inject': { act: ({ agent }, text) => agent.inject(text) },
  'the key of an inject': { act: ({ agent }, text) => agent.inject({ key: text, content: 'x' }) },
  'steer': { act: ({ agent }, text) => agent.steer(text) },
  'replace': { act: ({ agent }, text) => agent.replace(agent.session.entries()[0]!.id, agent.session.entries()[0]!.id, [text, { role: 'assistant', content: text }], { reason: text, key: text }) },
  'rewind': { act: ({ agent }, text) => agent.rewind({ reason: text }) },
  'withdraw': { act: async ({ agent }, text) => agent.withdraw(agent.prompt('x').prompt!, text) },
  'cancel': { act: async ({ agent }, text) => { const { result } = agent.prompt('x'); agent.cancel(text, { queue: 'withdraw' }); await result } },
  'a handle\'s cancel': { act: async ({ agent }, text) => { const handle = agent.prompt('x'); await expect.poll(() => agent.turn === handle || agent.state === 'idle').toBe(true); handle.cancel(text); await handle.result } },
  'configure': { act: ({ agent }, text) => agent.configure({ model: text, providerOptions: { [text]: text } } as never) },
  'a side request': { act: async ({ agent }, text) => agent.ask([text], { purpose: text }).catch(refusal) },
  'an event of a plugin': { act: ({ agent }, text) => agent.session.append({ type: `x/${text}`, data: { [text]: text } } as never) },
  'a report': { act: ({ agent }, text) => agent.report(text, text) },
  'an id, a folder and a config of a session': {
    act: async ({ ctx }, text) => {
      for (const options of [{ id: text }, { cwd: `/${text}` }, { model: `scripted/${text}` }, { seed: [{ role: 'user', content: text }] }]) {
        await ctx.agents.create(options as never).then((agent) => agent.dispose(), refusal)
      }
    },
  },
  'a section': { options: loaded((ctx, text) => ctx.system.section({ key: 's', content: text })) },
  'a section of a function, its key': { options: loaded((ctx, text) => ctx.system.section({ key: text, content: () => text })) },
  'a prefix, a before and an after, their keys': { options: loaded((ctx, text) => ['prefix', 'before', 'after'].forEach((name) => ctx.agents[name as 'prefix']({ key: text, content: () => [text, text] }))) },
  'a topic': { options: (text) => ({ plugins: [BriefingService, { name: 'border', inject: ['briefing'], apply: async (ctx: Context) => void ctx.briefing.topic({ key: 'k', content: () => text }) }] }) },
  'the key of a topic': { options: (text) => ({ plugins: [BriefingService, { name: 'border', inject: ['briefing'], apply: async (ctx: Context) => void ctx.briefing.topic({ key: text, content: () => 'x' }) }] }) },
  'the name of a plugin': { options: (text) => ({ plugins: [{ name: text, inject: ['agents'], apply: async (ctx: Context) => void ctx.agents.prefix({ key: 'p', content: () => 'x' }) }] }) },
  'the name of a tool': { options: loaded((ctx, text) => tool(ctx, { name: text })) },
  'the description and schema of a tool': { options: loaded((ctx, text) => tool(ctx, { description: text, parameters: { type: 'object', description: text, properties: { [text]: { type: 'string' } } } })) },
  'the result of a tool': { options: loaded((ctx, text) => tool(ctx, { execute: () => text }), CALL) },
  'blocks and values of a tool': { options: loaded((ctx, text) => tool(ctx, { execute: () => ({ a: text, [text]: 1 }) }), CALL) },
  'an error of a tool': { options: loaded((ctx, text) => tool(ctx, { execute: () => { throw new Error(text) } }), CALL) },
  'the question of a tool': { options: loaded((ctx, text) => tool(ctx, { ask: () => text }), CALL) },
  'a denial': { options: loaded((ctx, text) => { tool(ctx, {}); ctx.on('tools/pre-execute', async () => ({ deny: text })) }, CALL) },
  'what is added behind a result': { options: loaded((ctx, text) => { tool(ctx, {}); ctx.on('tools/post-execute', async (_a, _t, _c, _o, next) => ({ ...await next(), outcome: text, additionalContext: [text, { key: text, content: text }] } as never)) }, CALL) },
  'a prompt that is rewritten': { options: loaded((ctx, text) => ctx.on('agent/prompt-submit', async (_a, _t, _s, next) => ({ ...await next(), input: text, additionalContext: [text] } as never))) },
  'a prompt that is blocked': { options: loaded((ctx, text) => ctx.on('agent/prompt-submit', async () => ({ block: text }))) },
  'a turn that is stopped': { options: loaded((ctx, text) => ctx.on('agent/pre-step', async () => ({ stop: text }))) },
  'a config of a listener': { options: loaded((ctx, text) => ctx.on('agent/request', async (_a, _t, _s, _c, next) => ({ ...await next(), stop: [text], providerOptions: { a: { [text]: text } } } as never))) },
  'an error of a listener': { options: loaded((ctx, text) => ctx.on('agent/request', async () => { throw new Error(text) })) },
  'an answer': { options: (text) => ({ script: [{ text, reasoning: text }] }) },
  'an answer in pieces that cut characters': { options: (text) => ({ script: [{ text: `${text}😀😀`, pieces: 7 }] }) },
  'calls of an answer': { options: (text) => ({ script: [{ calls: [{ name: text, id: text, arguments: text }, { name: 'it', arguments: { a: text } }] }, 'fine'] }) },
  'an error of a model': { options: (text) => ({ script: [{ error: { kind: 'server', message: text, code: text } as never }] }) },
  'what an adapter\'s stream says besides': { options: loaded((ctx, text) => ctx.on('llm/stream', async function* () {
    yield { type: 'text', text: 'a', metadata: { x: { [text]: text } } } as never
    yield { type: 'wire', digest: text } as never
    yield { type: text } as never
    yield { type: 'finish', reason: text } as never
  })) },
}

/** What refuses a text says so. */
function refusal(error: unknown): void {
  expect(error).toBeInstanceOf(Error)
  expect((error as Error).message).toSatisfy((message: string) => message.isWellFormed())
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)])
}

async function cross({ options, act }: Border, text: string, refused: (error: unknown) => void = refusal): Promise<void> {
  const made = await harness({ settings: { grace: 0 }, reports: 'allow', ...options?.(text) }).catch(refused)
  if (!made) return
  try {
    await made.run('Hello')
    try {
      await act?.(made, text)
    } catch (error) {
      refused(error)
    }
    await made.agent.idle()
    // Whatever it was, the agent goes on.
    const { reason } = await made.run('And now?')
    expect(['done', 'error', 'blocked', 'stopped']).toContain(reason)
    const events: readonly SessionEvent[] = await made.events()
    expect(textsIn(events).filter((found) => !found.isWellFormed())).toEqual([])
    const sent = made.requests.map(({ signal: _, ...request }) => request)
    expect(textsIn(sent).filter((found) => !found.isWellFormed())).toEqual([])
    expect(verify(events)).not.toHaveProperty('difference')
  } finally {
    await made.dispose()
  }
}

describe('half a character, at any border, is made whole or refused; what is in the log and what a model gets is text', () => {
  it.each(Object.entries(borders))('%s', async (_, border) => {
    // A whole text passes, so that it is the half character that is refused.
    await cross(border, 'whole', (error) => { throw error })
    await fc.assert(fc.asyncProperty(broken, (text) => cross(border, text)), { numRuns: 12, examples: [['\ud83d'], ['a\ude00b']] })
  })

  it('and a repair is reported, with the place', async () => {
    const made = await harness({ script: ['cut \ud83d'] })
    await made.run('cut \ud83d')
    made.agent.inject('cut \ude00')
    expect(made.reports.filter(({ kind }) => kind === 'repaired').map(({ problem }) => problem)).toEqual([
      expect.stringContaining('lone surrogate'), expect.stringContaining('lone surrogate'), expect.stringContaining('lone surrogate'),
    ])
    await made.dispose()
  })
})
