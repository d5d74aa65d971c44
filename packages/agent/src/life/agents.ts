import { resolve } from 'node:path'
import { runOf } from '@headrace/cordis'
import type { Context } from 'cordis'
import { type CallConfig, defined, resolveModel, toConfigPatch } from '@headrace/message'
import { Session, type SessionStore, type Under, forkLog } from '@headrace/session'
import type { Agent } from '../contract/agent.ts'
import { checkOption, checkOptions, namesOf } from '../contract/check-options.ts'
import { AgentError } from '../contract/error.ts'
import type { AgentOptions, CreateOptions, ForkOptions, ResumeOptions, Widening } from '../contract/options.ts'
import { type Limits, LimitsSchema, type Settings, checkSettings, toLimits } from '../contract/settings.ts'
import { Departures } from '../seams/listener-owner.ts'
import { Attendance } from '../turn/attendance.ts'
import { pluginOf } from '../seams/owner.ts'
import { begin } from './beginning.ts'
import { type Bounds, boundsOf, checkChoice } from './bounds.ts'
import { knownOfChildren } from '../turn/children.ts'
import { AgentCore } from './core.ts'
import type { CoreOptions, Shared } from './core-options.ts'
import { checkSeed, toSeed } from './seed.ts'
import { TurnSlots } from './turn-slots.ts'

const SHARED = namesOf<AgentOptions>({
  cwd: true,
  model: true,
  config: true,
  limits: true,
  strict: true,
  context: true,
  budget: true,
  seed: true,
  mail: true,
  setup: true,
})

const WIDENING = namesOf<Widening>({ tools: true, limits: true })

/** What the agents of an app are made from. */
export interface AgentsOptions extends Pick<Shared, 'ctx' | 'llm' | 'tools' | 'system'> {
  readonly settings: Settings
  /** The store in use now. */
  store(): SessionStore
}

/** Who asked for an agent: a plugin, and its run at that time. */
interface Maker {
  readonly home: Context
  readonly run: object | undefined
}

type Parts = Pick<CoreOptions, 'session' | 'store' | 'settings' | 'choice' | 'cwd' | 'explicit' | 'context' | 'budget' | 'mail' | 'resumed' | 'forked'>

/** The agents of an app: creates and tracks them, and parks them when the app's services are unloaded. */
export class Agents {
  private readonly settings: Settings
  private readonly store: () => SessionStore
  private readonly shared: Shared
  private readonly live = new Map<string, AgentCore>()
  /** Set when the services are unloaded: sessions that are still opening get no agent. */
  private ended = false
  /** Default configs of plugins; the last one wins. */
  private readonly said: Partial<CallConfig>[] = []

  constructor({ settings, store, ctx, llm, tools, system }: AgentsOptions) {
    checkSettings(settings)
    this.settings = { ...settings, limits: toLimits(settings.limits) }
    this.store = store
    const slots = new TurnSlots(settings.concurrentTurns)
    this.shared = { ctx, llm, tools, system, departures: new Departures(ctx), slots, attendance: new Attendance(), live: this.live }
  }

  /**
   * Parks its agents, for the services go: they would drive on with tools and models that nobody registers any more.
   *
   * @throws what closing a session threw, the first of them; all are parked by then
   */
  async parkAll(): Promise<void> {
    this.ended = true
    const parked = await Promise.allSettled([...this.live.values()].map((core) => core.park()))
    for (const result of parked) if (result.status === 'rejected') throw result.reason
  }

  /** Adds a default; returns the call that takes it back. @throws ConfigError */
  addDefault(config: Partial<CallConfig>): () => void {
    const { said } = this
    const patch = resolveModel(toConfigPatch(config), this.defaults.model)
    said.push(patch)
    return () => void said.splice(said.indexOf(patch), 1)
  }

  private get defaults(): Partial<CallConfig> {
    return Object.assign({}, ...this.said) as Partial<CallConfig>
  }

  async create(home: Context, options: CreateOptions): Promise<Agent> {
    const run = runOf(home.fiber)
    checkOptions('agents.create', options, [...SHARED, 'id', 'under', 'kind', 'title', 'tools'])
    checkGiven('agents.create', options)
    const cwd = resolve(options.cwd ?? process.cwd())
    const { limits, under, kind, title, tools } = options
    for (const [name, text] of Object.entries({ title, kind })) {
      checkOption('agents.create', text === undefined || (typeof text === 'string' && text.trim() !== ''), `has a ${name} that is a text, and not blank`)
    }
    if (under !== undefined) checkUnder(under)
    const { settings, tools: choice } = boundsOf(
      this.settings,
      defined({ limits: limits && toGiven(limits), tools: checkChoice(tools) }),
      options,
    )
    const store = this.store()
    const explicit = explicitOf(options)
    const config = { ...this.defaults, ...resolveModel(explicit, this.defaults.model) }
    const seed = options.seed && toSeed(options.seed)
    const opening = defined({
      id: options.id === undefined ? newSessionId() : options.id, cwd, config: Object.keys(config).length > 0 ? config : undefined, seed,
      under, kind, title, tools, limits: limits && toGiven(limits),
    })
    const session = await Session.create(store, opening, { strict: settings.strict, maxEvent: settings.limits.event })
    const { context, budget } = options
    const mail = options.mail === true
    const parts = { session, store, settings, choice, cwd, explicit, context, budget, mail, resumed: false, forked: false }
    const core = await this.adopt({ home, run }, parts)
    const view = core.view(pluginOf(home))
    await begin(core, options, view)
    return view
  }

  async resume(home: Context, id: string, options: ResumeOptions): Promise<Agent> {
    const run = runOf(home.fiber)
    checkOptions('agents.resume', options, [...SHARED, 'turn', 'recent', 'widen'])
    checkGiven('agents.resume', options)
    return this.open({ home, run }, id, options, false)
  }

  async fork(home: Context, parent: string, given: ForkOptions): Promise<Agent> {
    const run = runOf(home.fiber)
    checkOptions('agents.fork', given, [...SHARED, 'turn', 'recent', 'widen', 'at', 'id'])
    checkGiven('agents.fork', given)
    const { at, id = newSessionId(), ...options } = given
    checkOption('agents.fork', at === undefined || (Number.isSafeInteger(at) && at >= 0), 'has an at that is the seq of an event')
    await forkLog(this.store(), parent, id, at)
    return this.open({ home, run }, id, options, true)
  }

  private async open(maker: Maker, id: string, options: ResumeOptions, forked: boolean): Promise<Agent> {
    if (this.live.has(id)) throw new AgentError('AGENT_RUNNING', `session ${id} has an agent in this process already; use ctx.agents.get(${JSON.stringify(id)})`)
    const store = this.store()
    const explicit = explicitOf(options)
    const { strict = this.settings.strict } = options
    const session = await Session.open(store, id, { strict, recent: options.recent === true })
    let bounds: Bounds
    try {
      bounds = boundsOf(this.settings, session.ledger.origin ?? {}, options)
      session.boundEvents(bounds.settings.limits.event)
      if (options.seed) checkSeed(toSeed(options.seed), session.deriveMessages())
      if (forked) for (const { seq } of session.ledger.queue) session.append({ type: 'prompt/withdrawn', data: { prompt: seq, reason: 'the session was forked; the prompt waits in its parent' } })
      await session.repair(await knownOfChildren(store, session, this.shared.llm.info))
    } catch (error) {
      await session.close()
      throw error
    }
    const cwd = resolve(options.cwd ?? session.ledger.origin?.cwd ?? process.cwd())
    const { settings, tools: choice } = bounds
    const { context, budget } = options
    const mail = options.mail === true
    const core = await this.adopt(maker, { session, store, settings, choice, cwd, explicit, context, budget, mail, resumed: true, forked })
    const view = core.view(pluginOf(maker.home))
    await begin(core, options, view)
    // A cancel that a crash cut off is still a cancel, unless somebody says that it goes on.
    if (session.ledger.turn?.cancelled !== undefined && options.turn !== 'continue') await closeTurn(core, 'cancelled')
    else if (options.turn === 'close' && session.ledger.turn) await closeTurn(core, 'lost')
    core.driver.goOn()
    return view
  }

  /** @throws where the plugin that asked for the agent is gone by now; the session is given back then */
  private async adopt({ home, run }: Maker, parts: Parts): Promise<AgentCore> {
    const { live, shared, defaults } = this
    const { id } = parts.session
    try {
      if (this.ended) throw new AgentError('SERVICE_GONE', `session ${id} gets no agent: the agent services were unloaded meanwhile`)
      // Cordis takes an effect of a plugin that waits for a service, and never disposes of it. A plugin that runs again did not ask for it.
      if (run === undefined || runOf(home.fiber) !== run) {
        const why = runOf(home.fiber) ? 'was reloaded meanwhile' : 'does not run'
        throw new AgentError('PLUGIN_GONE', `session ${id} gets no agent: the plugin ${pluginOf(home)} that asked for it ${why}; resume the session`)
      }
      const core = new AgentCore({ ...parts, ...shared, home, defaults })
      const forget = home.effect(() => {
        live.set(id, core)
        // However its maker is unloaded, the session can be resumed, as after a kill. Only `agent.dispose()` ends the turn.
        return async () => {
          live.delete(id)
          await core.park()
        }
      }, `ctx.agents.create(${JSON.stringify(id)})`)
      // A close that fails rejects where the end was asked for: `dispose()`, `park()`, or the fiber that unloads.
      core.onDispose = () => void Promise.resolve(forget()).catch(() => undefined)
      return core
    } catch (error) {
      await parts.session.close()
      throw error
    }
  }

  get(id: string, plugin: string): Agent | undefined {
    return this.live.get(id)?.view(plugin)
  }

  /** Registers a plugin as a door to a person, for one agent or for all. Returns the call that ends it. */
  attend(plugin: string, agent: string | undefined): () => void {
    return this.shared.attendance.add(plugin, agent)
  }

  get ids(): readonly string[] {
    return [...this.live.keys()]
  }

  /** Turns that run, and that wait for a slot. */
  get turns(): { readonly running: number; readonly waiting: number } {
    return this.shared.slots.load
  }
}

/** Closes the turn that was cut off, durably. */
async function closeTurn(core: AgentCore, reason: 'lost' | 'cancelled'): Promise<void> {
  core.endTurn(reason)
  await core.session.flush().catch(async (error: unknown) => {
    await core.dispose().catch(() => undefined)
    throw error
  })
  core.settleTurn()
}

/** Only the given limits, without defaults. @throws AgentError, and the schema's own error */
function toGiven(limits: Partial<Limits>): Record<string, number> {
  const given = defined(limits)
  const checked = toLimits(given)
  return Object.fromEntries(Object.keys(given).map((name) => [name, checked[name as keyof Limits]]))
}

/** @throws AgentError for what is no call of a session */
function checkUnder(under: Under): void {
  const isPlace = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
  const expected = 'has under: { session, call: { assistant, index } }, the id of a session, the seq of its answer, and which call of it'
  checkOptions('agents.create: under', under, ['session', 'call'])
  checkOption('agents.create', typeof under.session === 'string' && under.session !== '', expected)
  checkOptions('agents.create: under.call', under.call, ['assistant', 'index'])
  checkOption('agents.create', isPlace(under.call.assistant) && isPlace(under.call.index), expected)
}

/** Checks options that no schema covers, for callers in JavaScript. @throws AgentError */
function checkGiven(at: string, options: AgentOptions & Pick<ResumeOptions, 'turn' | 'recent' | 'widen'>): void {
  const { cwd, config, limits, context, strict, budget, seed, mail, setup, turn, recent, widen } = options
  const is = (value: unknown, type: string): boolean => value === undefined || (typeof value === type && value !== null)
  checkOption(at, is(cwd, 'string'), 'has a cwd that is the path of a folder')
  checkOption(at, is(config, 'object'), 'has a config that is an object')
  if (limits !== undefined) checkOptions('limits', limits, Object.keys(LimitsSchema.dict!))
  checkOption(at, is(context, 'function'), 'has a context that is a function of the turn')
  checkOption(at, is(strict, 'boolean'), 'has strict: true or false')
  checkOption(at, budget === undefined || (is(budget, 'object') && typeof budget.check === 'function'), 'has a budget that is a RequestBudget')
  checkOption(at, seed === undefined || Array.isArray(seed), 'has a seed that is a list of messages')
  checkOption(at, is(mail, 'boolean'), 'has mail: true or false')
  checkOption(at, is(setup, 'function'), 'has a setup that is a function of the agent')
  checkOption(at, turn === undefined || turn === 'continue' || turn === 'close', "has turn: 'continue' or 'close'")
  checkOption(at, is(recent, 'boolean'), 'has recent: true or false')
  if (widen === undefined) return
  checkOptions(`${at}: widen`, widen, WIDENING)
  checkChoice(widen.tools)
  if (widen.limits !== undefined) toLimits(widen.limits)
}

function explicitOf({ model, config }: AgentOptions): Partial<CallConfig> {
  return toConfigPatch({ ...config, ...(model !== undefined && { model }) })
}

/** Sortable by creation time: `20261130-141503-8f3a2c`. */
export function newSessionId(now = new Date()): string {
  const stamp = now.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15)
  return `${stamp}-${Math.floor(Math.random() * 0x1000000).toString(16).padStart(6, '0')}`
}

