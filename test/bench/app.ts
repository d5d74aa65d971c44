import { Context, type Plugin } from 'cordis'
import * as agentPlugin from '@headrace/agent'
import type { Adapter, Agent, AgentOptions, Settings } from '@headrace/agent'
import type { Chunk } from '@headrace/message'
import { MemoryStore, type SessionStore } from '@headrace/session'

/** What the model of the bench does: calls the tool until it has answered so many requests of a turn, then says that it is done. */
export interface Answers {
  /** Steps of a turn. */
  steps: number
  /** Reads `request.messages`, as every real adapter does. */
  reads: boolean
}

/** An app as measured: three tools, a system section, three listeners of seams and an `after` that moves with every request. */
export interface App {
  readonly store: SessionStore
  readonly answers: Answers
  create(id: string, options?: AgentOptions): Promise<Agent>
  /** Drives the session of a log that is there. */
  resume(id: string, options?: AgentOptions): Promise<Agent>
}

export interface AppOptions {
  readonly store?: SessionStore
  /** Leaves out the listeners and the moving `after`. */
  readonly bare?: boolean
  /** Loaded behind the agent's services, each with its config. */
  readonly plugins?: readonly (readonly [plugin: unknown, config: unknown])[]
  /** In the place of the model that calls the tool. */
  readonly adapter?: Adapter
}

const LIMITS = { steps: 1_000_000, requests: 1_000_000 }
const PARAMETERS = { type: 'object', properties: { path: { type: 'string' }, line: { type: 'integer' } }, required: ['path'], additionalProperties: false } as const
/** What the tool reads: 200 characters, as a line or two of a source file. */
const RESULT = 'export function add(a: number, b: number): number { return a + b } '.repeat(3)

export async function makeApp({ store = new MemoryStore(), bare = false, plugins = [], adapter }: AppOptions = {}): Promise<App> {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, { strict: false, limits: LIMITS } as Settings)
  ctx.sessions.store(store)
  const answers: Answers = { steps: 1, reads: false }
  ctx.llm.adapter('bench', adapter ?? toolCaller(answers))
  await ctx.plugin({ name: 'bench-tools', inject: ['tools', 'system'], apply: tools })
  for (const [plugin, config] of plugins) await ctx.plugin(plugin as Plugin, config)
  if (!bare) await ctx.plugin({ name: 'bench-listeners', inject: ['agents'], apply: listeners })
  const model = 'bench/model'
  return {
    store, answers,
    create: (id, options) => ctx.agents.create({ id, model, cwd: '/', ...options }),
    resume: (id, options) => ctx.agents.resume(id, { model, ...options }),
  }
}

const tools = (ctx: Context): void => {
  ctx.system.section({ key: 'who', content: 'You are an agent that works on a source tree. Look before you change something; say what you did.' })
  for (const name of ['edit', 'list', 'read']) {
    ctx.tools.define({ name, description: `The tool ${name}, which the model of the bench may call.`, parameters: PARAMETERS, execute: () => RESULT })
  }
}

const listeners = (ctx: Context): void => {
  let clock = 0
  ctx.on('agent/pre-step', async (_agent, _turn, _step, next) => next())
  ctx.on('agent/request', async (_agent, _turn, _step, _config, next) => ({ ...await next(), temperature: 0 }))
  ctx.on('tools/post-execute', async (_agent, _turn, _call, _outcome, next) => next())
  ctx.agents.after({ key: 'clock', content: () => `It is tick ${++clock}.` })
}

function toolCaller(answers: Answers): Adapter {
  let step = 0
  return {
    async *stream(request): AsyncIterable<Chunk> {
      if (answers.reads && request.messages.length === 0) throw new Error('a request without messages')
      if (++step === answers.steps) {
        step = 0
        yield { type: 'text', text: 'Done.' }
        yield { type: 'usage', usage: { input: 1_000, cached: 900, written: 0, output: 2 } }
        yield { type: 'finish', reason: 'stop' }
        return
      }
      yield { type: 'tool-call', index: 0, id: `call_${step}`, name: 'read', arguments: '{"path":"src/add.js","line":1}' }
      yield { type: 'usage', usage: { input: 1_000, cached: 900, written: 0, output: 20 } }
      yield { type: 'finish', reason: 'tool-calls' }
    },
  }
}
