import { type Context, Service } from 'cordis'
import { type CallConfig, type Contribution, type ContributionInput, keyOf, toContribution } from '@headrace/message'
import type { Agent } from '../contract/agent.ts'
import { checkOption } from '../contract/check-options.ts'
import { AgentError } from '../contract/error.ts'
import type { Keyed } from '../contract/keyed.ts'
import type { CreateOptions, ForkOptions, ResumeOptions } from '../contract/options.ts'
import { type Settings, SettingsSchema } from '../contract/settings.ts'
import type { Step, Turn } from '../contract/turn.ts'
import { Agents, type AgentsOptions } from '../life/agents.ts'
import { isList, isPlainObject } from '../seams/guards.ts'
import { type Contributor, kContribution } from '../seams/listener-owner.ts'
import { type KeyedPlace, KeyedRegistry } from '../seams/keyed.ts'
import { pluginOf } from '../seams/owner.ts'
import { callerOf } from './caller.ts'

declare module 'cordis' {
  interface Context {
    agents: AgentsService
  }
}

/** What a plugin contributes under a key: a contribution, or a function that gives some. Blank text and nothing are left out. */
export type ContributionSource<A extends unknown[]> = ContributionInput | ((...args: A) => Output | Promise<Output>)
type Output = ContributionInput | readonly ContributionInput[] | undefined | null

/** `ctx.agents`: creates agents, and has shorthands for the seams that most plugins need. */
export interface AgentsService {
  /** Default config of agents; removed with the caller's plugin. @throws ConfigError */
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
  /**
   * Says that a person sees the questions of an agent (of all agents, where none is given) and answers them through the caller's plugin,
   * which is a door: `agent.answer()`. Without a door nobody is asked, and what needs a permission is denied. Goes with the plugin.
   */
  attend(agent?: string): () => void
  /** Turns that run, and that wait for a slot (`concurrentTurns`). */
  readonly turns: { readonly running: number; readonly waiting: number }
  /** Contributes to the prefix, once per loop instance; goes with the caller's plugin. Signed `plugin/key`. @throws AgentError */
  prefix(contribution: Keyed<ContributionSource<[agent: Agent, turn: Turn]>>): () => void
  /** Contributes to `before`: framing in front of the history, cached while unchanged. @throws AgentError */
  before(contribution: Keyed<ContributionSource<[agent: Agent, turn: Turn, step: Step]>>): () => void
  /** Contributes to `after`: small, fresh, last; paid again on every request. @throws AgentError */
  after(contribution: Keyed<ContributionSource<[agent: Agent, turn: Turn, step: Step]>>): () => void
}

type Places = [prefix: KeyedRegistry, before: KeyedRegistry, after: KeyedRegistry]

/** The service; its agents and registries stay in this closure (L1, L14). */
export function agentsService(parts: Omit<AgentsOptions, 'ctx' | 'settings'>): new (ctx: Context, settings: Settings) => Service & AgentsService {
  // Set by the running fiber; each class made here has one fiber.
  let agents: Agents
  const [prefix, before, after] = ['prefix', 'before', 'after'].map((place) => new KeyedRegistry(`ctx.agents.${place}`, `contribution to ${place}`)) as Places
  return class AgentsOfApp extends Service implements AgentsService {
    static inject = ['sessions', 'llm', 'tools', 'system']
    static Config = SettingsSchema

    constructor(ctx: Context, settings: Settings) {
      super(ctx, 'agents')
      const mine = (agents = new Agents({ ...parts, ctx, settings }))
      ctx.effect(() => () => mine.parkAll(), 'ctx.agents')
    }

    default(config: Partial<CallConfig>): () => void {
      return callerOf(this, 'ctx.agents.default').effect(() => agents.addDefault(config), 'ctx.agents.default()')
    }

    async create(options: CreateOptions = {}): Promise<Agent> {
      return agents.create(callerOf(this, 'ctx.agents.create'), options)
    }

    async resume(id: string, options: ResumeOptions = {}): Promise<Agent> {
      return agents.resume(callerOf(this, 'ctx.agents.resume'), id, options)
    }

    async fork(parent: string, options: ForkOptions = {}): Promise<Agent> {
      return agents.fork(callerOf(this, 'ctx.agents.fork'), parent, options)
    }

    get(id: string): Agent | undefined {
      return agents.get(id, pluginOf(callerOf(this, 'ctx.agents.get')))
    }

    ids(): readonly string[] {
      return agents.ids
    }

    attend(agent?: string): () => void {
      const ctx = callerOf(this, 'ctx.agents.attend')
      checkOption('agents.attend', agent === undefined || typeof agent === 'string', 'takes the id of a session')
      return ctx.effect(() => agents.attend(pluginOf(ctx), agent), 'ctx.agents.attend()')
    }

    get turns(): { readonly running: number; readonly waiting: number } {
      return agents.turns
    }

    prefix(contribution: Keyed<ContributionSource<[agent: Agent, turn: Turn]>>): () => void {
      return contribute(this, prefix, contribution, (ctx, content, sign) => ctx.on('agent/session-prefix',
        sign(async (agent, turn, _prefix, next) => [...await listOf(content, agent, turn), ...await next()])))
    }

    before(contribution: Keyed<ContributionSource<[agent: Agent, turn: Turn, step: Step]>>): () => void {
      return contribute(this, before, contribution, (ctx, content, sign) => ctx.on('agent/request-messages',
        sign(async (agent, turn, step, _messages, next) => {
          const own = await listOf(content, agent, turn, step)
          const { before, after } = await next()
          return { before: [...own, ...before], after }
        })))
    }

    after(contribution: Keyed<ContributionSource<[agent: Agent, turn: Turn, step: Step]>>): () => void {
      return contribute(this, after, contribution, (ctx, content, sign) => ctx.on('agent/request-messages',
        sign(async (agent, turn, step, _messages, next) => {
          const own = await listOf(content, agent, turn, step)
          const { before, after } = await next()
          return { before, after: [...own, ...after] }
        })))
    }
  }
}

/** Registers a contribution: `listen` adds the listener that gives it, which `sign` marks with its key and order. */
function contribute<C>(
  service: unknown, keys: KeyedRegistry, given: Keyed<C>,
  listen: (ctx: Context, content: C, sign: <L extends object>(listener: L) => L) => () => void,
): () => void {
  const ctx = callerOf(service, keys.call)
  const what = 'a text, a contribution { role?, content }, or a function (agent, turn, step) that gives them'
  const place = keys.place(ctx, given, { content: what, allows: isPlainObject })
  const { key, order } = place
  const { content } = given
  // Checked now, not at the first turn.
  if (isPlainObject(content)) checkContribution(content, place)
  return ctx.effect(function* () {
    yield keys.take(place)
    yield listen(ctx, content, (listener) => Object.assign(listener, { [kContribution]: { key, order } satisfies Contributor }))
  }, `${keys.call}(${JSON.stringify(key)})`)
}

/** @throws AgentError, MessageError */
function checkContribution(content: object, { owner, key }: KeyedPlace): void {
  toContribution(content, owner)
  const own = keyOf(content, owner)
  if (own !== undefined && own !== key) {
    throw new AgentError('REGISTRATION_INVALID', `${owner} has a contribution with another key, ${JSON.stringify(own)}; leave that away`)
  }
}

async function listOf<A extends unknown[]>(content: ContributionSource<A>, ...args: A): Promise<readonly Contribution[]> {
  const value = await (typeof content === 'function' ? content(...args) : content)
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) return [value as Contribution]
  if (!isList(value)) throw new TypeError('returned a list with holes')
  return value as readonly Contribution[]
}

