import { type Context, Service } from 'cordis'
import type { CallConfig, Contribution, ContributionInput } from '@headrace/message'
import type { Agent } from '../contract/agent.ts'
import type { CreateOptions, ForkOptions, ResumeOptions } from '../contract/options.ts'
import { type Settings, SettingsSchema } from '../contract/settings.ts'
import type { Step, Turn } from '../contract/turn.ts'
import { Agents, type AgentsOptions } from '../life/agents.ts'
import { isList } from '../seams/guards.ts'
import { type Contributor, kContribution } from '../seams/hooks.ts'
import { pluginOf } from '../seams/owner.ts'

declare module 'cordis' {
  interface Context {
    agents: AgentsService
  }
}

/** Gives a message for a seam; blank text and nothing are left out. */
export type ContributionSource<A extends unknown[]> = (...args: A) => Output | Promise<Output>
type Output = ContributionInput | readonly ContributionInput[] | undefined | null

/** `ctx.agents`: makes agents, and has the words that most plugins need over the seams. */
export interface AgentsService {
  /** Config for agents that say nothing else; goes with the caller's plugin. @throws ConfigError */
  default(config: Partial<CallConfig>): () => void
  /** Begins a session and drives it. @throws SessionExistsError, StoreError, ConfigError */
  create(options?: CreateOptions): Promise<Agent>
  /**
   * Drives a session that is there: takes its lease, repairs it durably. Its queue waits for `agent.wake()`; a turn that was cut off goes
   * on, or is closed `lost`.
   *
   * @throws SessionNotFoundError, SessionBusyError, LogError, StoreError
   */
  resume(id: string, options?: ResumeOptions): Promise<Agent>
  /**
   * Begins a session with another's log up to an event, and drives it: repaired as on resume, its queue withdrawn, on the recorded prefix.
   * Explicit options win over the log's.
   *
   * @throws LogError where the parent has no event `at`; what {@link resume} throws
   */
  fork(parent: string, options?: ForkOptions): Promise<Agent>
  /** The agent of a session that is driven in this process, as the caller's plugin sees it. */
  get(id: string): Agent | undefined
  /** Ids of the sessions that are driven in this process. */
  ids(): readonly string[]
  /** Turns that run, and that wait for a slot (`concurrentTurns`). */
  readonly turns: { readonly running: number; readonly waiting: number }
  /** Contributes to the prefix, once per loop instance; goes with the caller's plugin. Signed `plugin/key`. */
  prefix(key: string, source: ContributionSource<[agent: Agent, turn: Turn]>, options?: { readonly order?: number }): () => void
  /** Contributes to `before`: framing in front of the history, cached while unchanged. */
  before(key: string, source: ContributionSource<[agent: Agent, turn: Turn, step: Step]>, options?: { readonly order?: number }): () => void
  /** Contributes to `after`: small, fresh, last; paid again on every request. */
  after(key: string, source: ContributionSource<[agent: Agent, turn: Turn, step: Step]>, options?: { readonly order?: number }): () => void
}

/** The service; what it makes and holds stays in this closure (L1, L14). */
export function agentsService(parts: Omit<AgentsOptions, 'ctx' | 'settings'>): new (ctx: Context, settings: Settings) => Service & AgentsService {
  // Of the fiber that runs: there is one for each class that this gives.
  let agents: Agents
  return class AgentsOfApp extends Service implements AgentsService {
    static inject = ['sessions', 'llm', 'tools', 'system']
    static Config = SettingsSchema

    constructor(ctx: Context, settings: Settings) {
      super(ctx, 'agents')
      const mine = (agents = new Agents({ ...parts, ctx, settings }))
      ctx.effect(() => () => mine.parkAll(), 'ctx.agents')
    }

    default(config: Partial<CallConfig>): () => void {
      return this.ctx.effect(() => agents.addDefault(config), 'ctx.agents.default()')
    }

    create(options: CreateOptions = {}): Promise<Agent> {
      return agents.create(this.ctx, options)
    }

    resume(id: string, options: ResumeOptions = {}): Promise<Agent> {
      return agents.resume(this.ctx, id, options)
    }

    fork(parent: string, options: ForkOptions = {}): Promise<Agent> {
      return agents.fork(this.ctx, parent, options)
    }

    get(id: string): Agent | undefined {
      return agents.get(id, pluginOf(this.ctx))
    }

    ids(): readonly string[] {
      return agents.ids
    }

    get turns(): { readonly running: number; readonly waiting: number } {
      return agents.turns
    }

    /** Contributes to the prefix, once per loop instance; goes with the caller's plugin. Signed `plugin/key`. */
    prefix(key: string, source: ContributionSource<[agent: Agent, turn: Turn]>, options: { readonly order?: number } = {}): () => void {
      return this.ctx.on('agent/session-prefix', contributor(key, options, async (agent, turn, _prefix, next) => [...await listOf(source(agent, turn)), ...await next()]))
    }

    /** Contributes to `before`: framing in front of the history, cached while unchanged. */
    before(key: string, source: ContributionSource<[agent: Agent, turn: Turn, step: Step]>, options: { readonly order?: number } = {}): () => void {
      return this.ctx.on('agent/request-messages', contributor(key, options, async (agent, turn, step, _messages, next) => {
        const own = await listOf(source(agent, turn, step))
        const { before, after } = await next()
        return { before: [...own, ...before], after }
      }))
    }

    /** Contributes to `after`: small, fresh, last; paid again on every request. */
    after(key: string, source: ContributionSource<[agent: Agent, turn: Turn, step: Step]>, options: { readonly order?: number } = {}): () => void {
      return this.ctx.on('agent/request-messages', contributor(key, options, async (agent, turn, step, _messages, next) => {
        const own = await listOf(source(agent, turn, step))
        const { before, after } = await next()
        return { before, after: [...own, ...after] }
      }))
    }
  }
}

function contributor<L extends (...args: never[]) => unknown>(key: string, { order = 0 }: { readonly order?: number }, listener: L): L {
  return Object.assign(listener, { [kContribution]: { key, order } satisfies Contributor })
}

async function listOf(output: Output | Promise<Output>): Promise<readonly Contribution[]> {
  const value = await output
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) return [value as Contribution]
  if (!isList(value)) throw new TypeError('returned a list with holes')
  return value as readonly Contribution[]
}

