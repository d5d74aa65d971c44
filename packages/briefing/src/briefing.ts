import { type Context, Service } from 'cordis'
import z from 'schemastery'
import { strict } from '@headrace/config'
import { messageOf } from '@headrace/message'
import { type Agent, AgentError, type Turn } from '@headrace/agent'
import { KeyedRegistry, byPlace, pluginOf } from '@headrace/agent/internal'
import type { SessionView } from '@headrace/session'
import { type TellingTools, Told } from './told.ts'
import { type Topic, type TopicEntry, changedWords, unavailable } from './topic.ts'

declare module 'cordis' {
  interface Context {
    briefing: BriefingService
  }
}

/** Config of the briefing service. */
export interface Config {
  /** Milliseconds a topic may take to read; a later one counts as unavailable. */
  readonly readTimeout: number
}

/** The current state of a topic: its text, nothing, or `unavailable`. */
type State = string | undefined | typeof unavailable

/** What the model of a session was told: in its history, and in the prefix of this loop instance. */
interface Ledger {
  readonly told: Told
  /** The agent as the plugin of each topic sees it: what is told is signed by that plugin. */
  readonly views: WeakMap<TopicEntry, Agent>
  /** Text (or nothing) that a topic of the prefix was opened with, by owner. */
  readonly opened: Map<string, string | undefined>
}

/** `ctx.briefing`: topics over the seams. */
export class BriefingService extends Service {
  static override readonly name = 'briefing'
  static inject = ['agents']
  static Config: z<Partial<Config>, Config> = strict(z.object({ readTimeout: z.natural().min(1).default(5_000) }))
  /** Sorted in the order of announcement. */
  private readonly topics: TopicEntry[] = []
  /** Rebuilt when a topic with a tool is added or removed. */
  private tools: TellingTools = new Map()
  private readonly keys = new KeyedRegistry('ctx.briefing.topic', 'topic')
  private readonly ledgers = new WeakMap<SessionView, Ledger>()
  private readonly config: Config

  constructor(ctx: Context, config: Config) {
    super(ctx, 'briefing')
    this.config = config
    ctx.on('agent/prompt-submit', async (agent, turn, _submission, next) => {
      await this.brief(agent, turn)
      return next()
    })
    ctx.on('agent/pre-step', async (agent, turn, _step, next) => {
      // After all other listeners, whatever the load order: topics that compaction hides in this step are told again in this step.
      const decision = await next()
      if (decision === 'go') await this.brief(agent, turn)
      return decision
    })
  }

  /**
   * Registers a topic; goes with the caller's plugin, what it told stays. On `agent.ctx` it is that agent's alone.
   *
   * @throws AgentError for a wrong one, or a key that its plugin has used already
   */
  topic(topic: Topic): () => void {
    const { ctx, topics, keys } = this
    const place = keys.place(ctx, topic, { content: 'a text, or a function (agent) => text', more: ['changed', 'removed', 'baseline', 'tool'] })
    const { plugin, key, order } = place
    const wrong = wrongField(topic)
    if (wrong !== undefined) throw new AgentError('REGISTRATION_INVALID', `plugin ${plugin}: ctx.briefing.topic() of ${JSON.stringify(key)} ${wrong}`)
    const entry: TopicEntry = { ...place, topic: { ...topic }, ctx }
    return ctx.effect(() => {
      const release = keys.take(place)
      topics.push(entry)
      topics.sort(byPlace)
      this.noteTools()
      const close = topic.baseline === 'prefix' ? ctx.get('agents')?.prefix({ key, order, content: (agent) => this.openPrefix(entry, agent) }) : undefined
      return () => {
        topics.splice(topics.indexOf(entry), 1)
        this.noteTools()
        close?.()
        release()
      }
    }, `ctx.briefing.topic(${JSON.stringify(key)})`)
  }

  /**
   * What the agent's model was told last by the caller's plugin, by key: of what is visible in the history and the open step. For plugins
   * that tell something themselves, when it is touched, and announce its changes.
   */
  told(agent: Agent): ReadonlyMap<string, string> {
    return this.ledgerOf(agent).told.from(pluginOf(this.ctx))
  }

  /** Announces topics whose state changed, in the order `(order, plugin, key)`. */
  private async brief(agent: Agent, turn: Turn): Promise<void> {
    const entries = this.topics.filter(({ scope }) => scope === undefined || scope === agent.id)
    const readings = entries.map((entry) => this.read(entry, agent))
    const known = readings.every((reading) => !(reading instanceof Promise))
    const states = known ? readings as readonly State[] : await Promise.all(readings.map(async (reading) => reading))
    if (turn.signal.aborted) return
    const ledger = this.ledgerOf(agent)
    for (const [index, entry] of entries.entries()) {
      const state = states[index]!
      if (state !== unavailable && this.topics.includes(entry)) this.tell(entry, state, agent, ledger)
    }
  }

  /** Announces a state, unless the model was told it already. */
  private tell(entry: TopicEntry, state: string | undefined, agent: Agent, { told, opened }: Ledger): void {
    const inPrefix = entry.topic.baseline === 'prefix'
    if (inPrefix && !opened.has(entry.owner)) return
    const before = told.by(entry.owner) ?? (inPrefix ? opened.get(entry.owner) : undefined)
    if (before === state) return
    const view = this.viewOf(entry, agent)
    try {
      const words = before === undefined ? state! : changedWords(entry, state)
      if (before !== words) view?.inject({ key: entry.key, content: words })
    } catch (error) {
      view?.report(`topic ${entry.key}`, `${messageOf(error)}; what was told stands`)
    }
  }

  /** The opener of a topic in the prefix. It counts as told until the topic is announced again. */
  private async openPrefix(entry: TopicEntry, agent: Agent): Promise<string | undefined> {
    const state = await this.read(entry, agent)
    const text = state === unavailable ? undefined : state
    this.ledgerOf(agent).opened.set(entry.owner, text)
    return text
  }

  private ledgerOf(agent: Agent): Ledger {
    let ledger = this.ledgers.get(agent.session)
    if (!ledger) this.ledgers.set(agent.session, (ledger = { told: new Told(agent, this.tools), views: new WeakMap(), opened: new Map() }))
    ledger.told.use(this.tools)
    return ledger
  }

  private noteTools(): void {
    this.tools = new Map(this.topics.flatMap(({ owner, topic: { tool } }) => (tool === undefined ? [] : [[tool, owner] as const])))
  }

  /** Reads the current state, synchronously if possible. A reader that throws or is late is reported, and what was told stands. */
  private read(entry: TopicEntry, agent: Agent): State | Promise<State> {
    const view = this.viewOf(entry, agent)
    if (!view) return unavailable
    const failed = (error: unknown): typeof unavailable => {
      view.report(`topic ${entry.key}`, `${messageOf(error)}; what was told stands`)
      return unavailable
    }
    try {
      const { topic } = entry
      const reading: unknown = typeof topic.content === 'string' ? topic.content : topic.content(view)
      return isThenable(reading) ? within(this.config.readTimeout, reading).then(stateOf).catch(failed) : stateOf(reading)
    } catch (error) {
      return failed(error)
    }
  }

  private viewOf(entry: TopicEntry, agent: Agent): Agent | undefined {
    const { views } = this.ledgerOf(agent)
    // Cached: reading a context's services goes through proxies at every step.
    const view = views.get(entry) ?? entry.ctx.get('agents')?.get(agent.id)
    if (view) views.set(entry, view)
    return view
  }
}

/** The first problem with the fields that only a topic has. */
function wrongField({ changed, removed, baseline, tool }: Topic): string | undefined {
  if (changed !== undefined && typeof changed !== 'function') return 'needs changed to be a function (text) => text'
  if (removed !== undefined && typeof removed !== 'function') return 'needs removed to be a function () => text'
  if (baseline !== undefined && baseline !== 'history' && baseline !== 'prefix') return `has a baseline of history or prefix, not ${JSON.stringify(baseline) ?? typeof baseline}`
  if (tool !== undefined && typeof tool !== 'string') return `names its tool by a text, not ${JSON.stringify(tool) ?? typeof tool}`
  return undefined
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}

/** @throws TypeError for what is no text */
function stateOf(reading: unknown): State {
  if (reading === unavailable) return unavailable
  if (typeof reading === 'string') return reading.trim() === '' ? undefined : reading.toWellFormed()
  if (reading === undefined || reading === null) return undefined
  throw new TypeError(`it gave ${typeof reading}, not text`)
}

async function within<T>(limit: number, value: PromiseLike<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it was not read within ${limit} ms`)), limit)
  })
  return Promise.race([value, late]).finally(() => clearTimeout(timer))
}
