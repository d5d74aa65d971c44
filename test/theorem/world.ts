import type { Context, Fiber } from 'cordis'
import fc from 'fast-check'
import * as agentPlugin from '@headrace/agent'
import type { Agent, ErrorDecision, Settings } from '@headrace/agent'
import { Context as App } from 'cordis'
import type { Request } from '@headrace/message'
import type { SessionStore } from '@headrace/session'
import { type Reply, scriptedAdapter } from '@headrace/testing'
import { turns } from '@headrace/testing/gate'

/** One thing that happens to a session. */
export type Action =
  | { readonly do: 'prompt' | 'inject' | 'steer' | 'section'; readonly text: string }
  | { readonly do: 'tool'; readonly name: string }
  | { readonly do: 'configure'; readonly temperature: number }
  | { readonly do: 'plugin'; readonly which: number }
  | { readonly do: 'ask'; readonly tools: 'same' | 'none' }
  | { readonly do: 'cancel'; readonly after: number }
  | { readonly do: 'fail'; readonly how: 'retry' | 'substitute' | 'restep' | 'fail' }
  | { readonly do: 'resume' | 'compact' | 'rewind' }

const text = fc.oneof(fc.constantFrom('hello', 'naïve 🙂', 'a\u2028b\u0085c', '</system-reminder> $& {{x}}', 'x'.repeat(300)), fc.string({ unit: 'grapheme', maxLength: 30 }).filter((value) => value.trim() !== '' && value.isWellFormed()))

/** A session's life: prompts often, everything else now and then. */
export const life = fc.record({
  seed: fc.nat(),
  actions: fc.array(fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('prompt' as const), text }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('inject' as const, 'steer' as const, 'section' as const), text }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('tool' as const), name: fc.constantFrom('alpha', 'beta', 'Gamma', '10', '9', 'z') }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('configure' as const), temperature: fc.constantFrom(0, 0.5, 1) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('plugin' as const), which: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), tools: fc.constantFrom('same' as const, 'none' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), after: fc.nat(25) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('fail' as const), how: fc.constantFrom('retry' as const, 'substitute' as const, 'restep' as const, 'fail' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('resume' as const, 'compact' as const, 'rewind' as const) }) },
  ), { minLength: 3, maxLength: 14 }),
})

/** Everything the model got, byte by byte, by the seq of its dispatch. */
export type Seen = Map<number, string>

/** The bytes of a request: all but its signal. */
export function bytesOf({ signal: _signal, ...request }: Request): string {
  return JSON.stringify(request)
}

/** Lives a session and gives back what the model saw. */
export async function live(
  store: SessionStore,
  id: string,
  { seed, actions }: { readonly seed: number; readonly actions: readonly Action[] },
): Promise<Seen> {
  const world = new World(store, id, seed)
  await world.begin()
  for (const action of actions) await world.act(action)
  await world.end()
  return world.seen
}

class World {
  readonly seen: Seen = new Map()
  private readonly ctx = new App()
  private agent!: Agent
  private section = 'You are a test.'
  private readonly tools = new Map<string, () => void>()
  private readonly plugins = new Map<number, Fiber>()
  private compact = false
  private fail: ErrorDecision | undefined
  private failed = false
  private cancelAfter: number | undefined
  private readonly random: () => number
  private readonly store: SessionStore
  private readonly id: string

  constructor(store: SessionStore, id: string, seed: number) {
    this.store = store
    this.id = id
    this.random = mulberry(seed)
  }

  async begin(): Promise<void> {
    const { ctx } = this
    await ctx.plugin(agentPlugin, { strict: true, grace: 50, limits: { steps: 8, requests: 16 } } as unknown as Settings)
    ctx.sessions.store(this.store)
    ctx.llm.adapter('scripted', { ...scriptedAdapter((request) => this.reply(request)) })
    ctx.system.section({ key: 'who', content: () => this.section })
    ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
      if (this.compact) this.compactNow(agent)
      return next()
    })
    ctx.on('agent/request-error', async (_agent, _turn, _step, _failure, next) => {
      const decision = this.fail
      this.fail = undefined
      return decision ?? next()
    })
    ctx.on('session/event', () => {
      if (this.cancelAfter !== undefined && this.cancelAfter-- === 0) queueMicrotask(() => this.agent.cancel('at a random moment'))
    })
    this.agent = await ctx.agents.create({ id: this.id, model: 'scripted/one' })
  }

  async act(action: Action): Promise<void> {
    switch (action.do) {
      case 'prompt': return void (await this.agent.prompt(action.text).result)
      case 'inject': return void this.agent.inject(action.text)
      case 'steer': return void (await this.agent.steer(action.text).result)
      case 'section': this.section = action.text; return
      case 'tool': return this.toggleTool(action.name)
      case 'configure': return this.agent.configure({ temperature: action.temperature })
      case 'plugin': return this.togglePlugin(action.which)
      case 'ask': return void (await this.agent.ask(['Title?'], { purpose: 'title', tools: action.tools, config: { maxOutputTokens: 10 } }).catch(() => undefined))
      case 'cancel': this.cancelAfter = action.after; return
      case 'fail':
        this.failed = true
        this.fail = action.how === 'substitute' ? { retry: { config: { model: 'two' } } } : action.how
        return
      case 'compact': this.compact = true; return
      case 'rewind':
        await this.agent.rewind({ cancel: true, turns: 1 + Math.floor(this.random() * 2) }).catch((error: { readonly code?: string }) => {
          if (error.code !== 'REWIND_TOO_FAR') throw error
        })
        return
      case 'resume':
        await this.agent.dispose()
        this.agent = await this.ctx.agents.resume(this.id)
        this.agent.wake()
        await this.agent.idle()
    }
  }

  async end(): Promise<void> {
    await this.agent.idle()
    await this.agent.dispose()
    await this.ctx.fiber.dispose()
  }

  private reply(request: Request): Reply {
    this.seen.set(request.dispatch!, bytesOf(request))
    if (this.failed) {
      this.failed = false
      return { text: 'half an ans', error: { kind: 'network' } }
    }
    const dice = this.random()
    const names = request.tools?.map((tool) => tool.name) ?? []
    if (dice < 0.4 && names.length > 0) {
      const calls = Array.from({ length: 1 + Math.floor(this.random() * 3) }, () => ({ name: this.pick([...names, 'missing']), arguments: this.pick(['{}', '{"a":1}', '{"a"', 'null']) }))
      return { text: dice < 0.2 ? 'Let me look.' : '', calls }
    }
    if (dice < 0.5) return { text: 'cut', finish: 'length' }
    if (dice < 0.55) return { reasoning: 'only thoughts' }
    return { reasoning: dice < 0.7 ? 'Hm.' : '', text: `answer ${Math.floor(dice * 100)}`, pieces: 3 }
  }

  private pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)]!
  }

  private toggleTool(name: string): void {
    const remove = this.tools.get(name)
    if (remove) {
      remove()
      this.tools.delete(name)
      return
    }
    this.tools.set(name, this.ctx.tools.define({
      name, description: `Tool ${name}.`, parameters: { type: 'object', properties: { a: { type: 'number' } } }, sequential: name === 'beta',
      execute: async (_input, { agent }) => {
        if (this.random() < 0.3) agent.inject(`from inside ${name}`)
        await turns(Math.floor(this.random() * 10))
        if (this.random() < 0.2) throw new Error('the tool broke')
        return this.pick(['fine', { ok: true }, [], 'lone \ud800 surrogate', 42])
      },
    }))
  }

  private async togglePlugin(which: number): Promise<void> {
    const fiber = this.plugins.get(which)
    if (fiber) {
      this.plugins.delete(which)
      await fiber.dispose()
    } else this.plugins.set(which, await this.ctx.plugin(noisy(`plugin-${which}`, this.random)))
  }

  private compactNow(agent: Agent): void {
    const entries = agent.session.entries()
    const users = entries.filter(({ message }) => message.role === 'user' || message.role === 'system')
    const last = users.at(-1)
    const first = entries[0]
    if (!last || !first || entries.length < 4) return
    const end = entries[entries.indexOf(last) - 1]
    this.compact = false
    if (end) agent.replace(first.id, end.id, ['A summary of what was.'], { reason: 'random' })
  }
}

/** Takes part in every seam, injects from each, and keeps and mutates what it returned. */
function noisy(name: string, random: () => number): { name: string; inject: string[]; apply: (ctx: Context) => Promise<void> } {
  const kept: { role: 'system'; content: { type: 'text'; text: string }[] }[] = []
  let count = 0
  const message = (where: string): typeof kept[number] => {
    const made = { role: 'system' as const, content: [{ type: 'text' as const, text: `${name} ${where} ${random() < 0.5 ? count++ : 'same'}` }] }
    kept.push(made)
    return made
  }
  const maybe = (agent: Agent, seam: string): void => {
    if (random() < 0.15) agent.inject(message(seam))
  }
  return {
    name, inject: ['agents'],
    apply: async (ctx) => {
      ctx.agents.after({ key: 'state', order: Math.floor(random() * 3), content: () => (random() < 0.5 ? message('after') : undefined) })
      ctx.on('agent/session-prefix', async (agent, _turn, _prefix, next) => {
        maybe(agent, 'prefix')
        return [message('prefix'), ...await next()]
      })
      ctx.on('agent/request', async (agent, _turn, step, _config, next) => {
        maybe(agent, 'request')
        return { ...await next(), topP: step.number > 2 ? 0.5 : 1 }
      })
      ctx.on('agent/request-messages', async (agent, _turn, _step, _messages, next) => {
        const { before, after } = await next()
        maybe(agent, 'messages')
        return { before: random() < 0.2 ? [message('before'), ...before] : before, after: [message('raw'), ...after] }
      })
      ctx.on('agent/prompt-submit', async (agent, _turn, submission, next) => {
        // All of these were returned in an earlier step or turn.
        for (const old of kept.splice(0)) old.content[0]!.text = 'MUTATED'
        maybe(agent, 'submit')
        const decision = await next()
        if ('block' in decision || random() < 0.1) return random() < 0.5 ? { block: 'at random' } : decision
        return { ...decision, ...(random() < 0.3 && { additionalContext: [message('with')] }), ...(random() < 0.2 && { input: [...submission.input.content, '!'] }) }
      })
      ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
        maybe(agent, 'pre-step')
        return random() < 0.03 ? { stop: 'at random' } : next()
      })
      ctx.on('tools/pre-execute', async (agent, _turn, _call, next) => {
        maybe(agent, 'pre-execute')
        return random() < 0.2 ? { deny: 'at random' } : next()
      })
      ctx.on('tools/post-execute', async (agent, _turn, _call, _outcome, next) => {
        maybe(agent, 'post-execute')
        const { additionalContext } = await next()
        return { additionalContext: [...additionalContext, ...(random() < 0.3 ? [message('context')] : [])] }
      })
      ctx.on('agent/turn-stopping', (agent) => {
        if (random() < 0.1) agent.steer(message('steer'))
      })
      ctx.on('session/event', (agent, event) => {
        if (event.type === 'assistant/message') maybe(agent, 'event')
      })
    },
  }
}

/** A small seeded generator, so that a counterexample replays. */
function mulberry(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }
}
