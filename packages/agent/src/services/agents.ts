import { resolve } from 'node:path'
import { type Context, Service } from 'cordis'
import { type CallConfig, type Contribution, type ContributionInput, type MessageInput, resolveModel, toConfigPatch } from '@headrace/message'
import { Session, forkLog } from '@headrace/session'
import type { RequestBudget } from '@headrace/tokens'
import type { Agent } from '../life/agent.ts'
import { AgentCore, type ContextProvider, type CoreOptions } from '../life/core.ts'
import { AgentError } from '../contract/error.ts'
import { isList } from '../seams/guards.ts'
import { type Contributor, Departures, kContribution } from '../seams/hooks.ts'
import { checkOptions, namesOf } from '../contract/options.ts'
import { Places } from '../life/turn-slots.ts'
import { pluginOf } from '../seams/owner.ts'
import { checkSeed, toSeed } from '../life/seed.ts'
import { type Limits, type Settings, SettingsSchema, checkSettings, toLimits } from '../contract/settings.ts'
import type { Step, Turn } from '../contract/turn.ts'

declare module 'cordis' {
  interface Context {
    agents: AgentsService
  }
}

/** What an agent is made with, new or not; a field that is left out is the log's, then the app's. */
export interface AgentOptions {
  /** Folder it works in. Default: the session's, else the process's. */
  readonly cwd?: string
  /** `provider/name`, as `config.model`; beats it, and what the log says. */
  readonly model?: string
  readonly config?: Partial<CallConfig>
  readonly limits?: Partial<Limits>
  readonly strict?: boolean
  /** Says what is true for each turn, when it starts. */
  readonly context?: ContextProvider
  /** Refuses requests that their model's window cannot hold. Count what others billed with a counter per budget. */
  readonly budget?: RequestBudget
  /** The history so far. On `create` it begins the log; on `resume` it is compared with the log, which is refused where they differ. */
  readonly seed?: readonly MessageInput[]
}

/** Options of `ctx.agents.create()`. */
export interface CreateOptions extends AgentOptions {
  /** Default: made of the time and a random part. */
  readonly id?: string
}

/** Options of `ctx.agents.resume()`. */
export interface ResumeOptions extends AgentOptions {
  /** What becomes of a turn that was cut off: it goes on (the default), or ends `lost`. */
  readonly turn?: 'continue' | 'close'
}

/** Options of `ctx.agents.fork()`. */
export interface ForkOptions extends ResumeOptions {
  /** The last event that the child has. Default: the newest. */
  readonly at?: number
  /** The child's id. Default: made of the time and a random part. */
  readonly id?: string
}

const SHARED = namesOf<AgentOptions>({ cwd: true, model: true, config: true, limits: true, strict: true, context: true, budget: true, seed: true })

/** Gives a message for a seam; blank text and nothing are left out. */
export type ContributionSource<A extends unknown[]> = (...args: A) => Output | Promise<Output>
type Output = ContributionInput | readonly ContributionInput[] | undefined | null

/** `ctx.agents`: makes agents, and has the words that most plugins need over the seams. */
export class AgentsService extends Service {
  static inject = ['sessions', 'llm', 'tools', 'system']
  static Config = SettingsSchema
  private readonly settings: Settings
  private readonly live = new Map<string, AgentCore>()
  private readonly departures: Departures
  private readonly places: Places
  private readonly own: Context
  /** What plugins said for agents that say nothing else; what was said last counts. */
  private readonly said: Partial<CallConfig>[] = []

  constructor(ctx: Context, settings: Settings) {
    super(ctx, 'agents')
    checkSettings(settings)
    this.settings = { ...settings, limits: toLimits(settings.limits) }
    this.places = new Places(settings.concurrentTurns)
    this.own = ctx
    this.departures = new Departures(ctx)
    // Its agents go with it, or with a service that it needs: they would drive on with tools and models that nobody registers any more.
    ctx.effect(() => async () => void await Promise.allSettled([...this.live.values()].map((core) => core.park())), 'ctx.agents')
  }

  /** Config for agents that say nothing else; goes with the caller's plugin. @throws ConfigError */
  default(config: Partial<CallConfig>): () => void {
    const { said } = this
    const patch = resolveModel(toConfigPatch(config), this.defaults.model)
    return this.ctx.effect(() => {
      said.push(patch)
      return () => void said.splice(said.indexOf(patch), 1)
    }, 'ctx.agents.default()')
  }

  private get defaults(): Partial<CallConfig> {
    return Object.assign({}, ...this.said) as Partial<CallConfig>
  }

  /** Begins a session and drives it. It goes with the caller's plugin. @throws SessionExistsError, StoreError, ConfigError */
  async create(options: CreateOptions = {}): Promise<Agent> {
    checkOptions('agents.create', options, [...SHARED, 'id'])
    const { ctx } = this
    const cwd = resolve(options.cwd ?? process.cwd())
    const settings = this.settingsFor(options)
    const store = this.own.sessions.current
    const explicit = explicitOf(options)
    const config = { ...this.defaults, ...resolveModel(explicit, this.defaults.model) }
    const seed = options.seed && toSeed(options.seed)
    const opening = { id: options.id ?? newSessionId(), cwd, ...(Object.keys(config).length > 0 && { config }), ...(seed && { seed }) }
    const session = await Session.create(store, opening, { strict: settings.strict, maxEvent: settings.limits.event })
    const { context, budget } = options
    const core = await this.adopt(ctx, { session, store, settings, cwd, explicit, context, budget, resumed: false, forked: false })
    return core.view(pluginOf(ctx))
  }

  /**
   * Drives a session that is there: takes its lease, repairs it durably. Its queue waits for `agent.wake()`; a turn that was cut off goes
   * on, or is closed `lost`.
   *
   * @throws SessionNotFoundError, SessionBusyError, LogError, StoreError
   */
  async resume(id: string, options: ResumeOptions = {}): Promise<Agent> {
    checkOptions('agents.resume', options, [...SHARED, 'turn'])
    return this.open(this.ctx, id, options, false)
  }

  private async open(ctx: Context, id: string, options: ResumeOptions, forked: boolean): Promise<Agent> {
    if (this.live.has(id)) throw new AgentError('AGENT_RUNNING', `session ${id} has an agent in this process already; use ctx.agents.get(${JSON.stringify(id)})`)
    const settings = this.settingsFor(options)
    const store = this.own.sessions.current
    const explicit = explicitOf(options)
    const session = await Session.open(store, id, { strict: settings.strict, maxEvent: settings.limits.event })
    try {
      if (options.seed) checkSeed(toSeed(options.seed), session.deriveMessages())
      if (forked) for (const { seq } of session.ledger.queue) session.append({ type: 'prompt/withdrawn', data: { prompt: seq, reason: 'the session was forked; the prompt waits in its parent' } })
      await session.repair()
    } catch (error) {
      await session.close()
      throw error
    }
    const open = session.at(0)
    const cwd = resolve(options.cwd ?? (open?.type === 'session/open' ? open.data.cwd : undefined) ?? process.cwd())
    const core = await this.adopt(ctx, { session, store, settings, cwd, explicit, context: options.context, budget: options.budget, resumed: true, forked })
    if (options.turn === 'close' && session.ledger.turn) {
      core.endTurn('lost')
      await session.flush().catch(async (error: unknown) => {
        await core.dispose().catch(() => undefined)
        throw error
      })
      core.settleTurn()
    }
    core.driver.goOn()
    return core.view(pluginOf(ctx))
  }

  /**
   * Begins a session with another's log up to an event, and drives it: repaired as on resume, its queue withdrawn, on the recorded prefix.
   * Explicit options win over the log's.
   *
   * @throws LogError where the parent has no event `at`; what {@link resume} throws
   */
  async fork(parent: string, given: ForkOptions = {}): Promise<Agent> {
    checkOptions('agents.fork', given, [...SHARED, 'turn', 'at', 'id'])
    const { ctx } = this
    const { at, id = newSessionId(), ...options } = given
    await forkLog(this.own.sessions.current, parent, id, at)
    return this.open(ctx, id, options, true)
  }

  /** @throws where the plugin that asked for the agent is gone by now; the session is given back then */
  private async adopt(home: Context, parts: Pick<CoreOptions, 'session' | 'store' | 'settings' | 'cwd' | 'explicit' | 'context' | 'budget' | 'resumed' | 'forked'>): Promise<AgentCore> {
    const { own, live, departures, places, defaults } = this
    const { llm, tools, system } = own
    const { id } = parts.session
    try {
      const core = new AgentCore({
        ...parts, ctx: own, home, departures, places, defaults,
        llm: llm.registry, tools: tools.registry, system: system.registry,
      })
      const forget = home.effect(() => {
        live.set(id, core)
        return async () => {
          live.delete(id)
          await core.dispose()
        }
      }, `ctx.agents.create(${JSON.stringify(id)})`)
      // What is wrong with the end of an agent is told to who ended it.
      core.onDispose = () => void forget().catch(() => undefined)
      return core
    } catch (error) {
      await parts.session.close()
      throw error
    }
  }

  private settingsFor({ limits, strict }: AgentOptions): Settings {
    return { ...this.settings, limits: toLimits({ ...this.settings.limits, ...limits }), strict: strict ?? this.settings.strict }
  }

  /** The agent of a session that is driven in this process, as the caller's plugin sees it. */
  get(id: string): Agent | undefined {
    return this.live.get(id)?.view(pluginOf(this.ctx))
  }

  /** Turns that run, and that wait for a place among them (`concurrentTurns`). */
  get turns(): { readonly running: number; readonly waiting: number } {
    return this.places.load
  }

  /** Ids of the sessions that are driven in this process. */
  ids(): readonly string[] {
    return [...this.live.keys()]
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

function explicitOf({ model, config }: AgentOptions): Partial<CallConfig> {
  return toConfigPatch({ ...config, ...(model !== undefined && { model }) })
}

/** Sorts by the time it was made: `20261130-141503-8f3a2c`. */
export function newSessionId(now = new Date()): string {
  const stamp = now.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15)
  return `${stamp}-${Math.floor(Math.random() * 0x1000000).toString(16).padStart(6, '0')}`
}

