import type { Context } from 'cordis'
import { type CallConfig, isA, messageOf } from '@headrace/message'
import { ContextLog, type RunContext } from '@headrace/run-context'
import type { ContextWeight, RequestBudget } from '@headrace/tokens'
import type { ErrorRecord, EventDraft, Session, SessionEvent, SessionStore, TurnReason } from '@headrace/session'
import { AgentScope } from './agent-scope.ts'
import { Agent } from './agent.ts'
import { Asides } from './side-requests.ts'
import { AgentError, CancelledError, ParkedError, toRecord } from '../contract/error.ts'
import { isRunContext } from '../seams/guards.ts'
import { type TurnHandle, type TurnResult, lastFinish, parkedResult, resultOf, withdrawnResult } from './handle.ts'
import { Driver } from './driver.ts'
import type { Departures } from '../seams/hooks.ts'
import { ConfigSeed } from '../turn/config-seed.ts'
import { Inbox } from './inbox.ts'
import type { AdapterRegistry } from '../services/llm.ts'
import { Loop } from '../turn/loop.ts'
import type { Places } from './turn-slots.ts'
import { LateListeners, type Prefix, recordedPrefix } from '../turn/prefix.ts'
import { Reporter } from '../seams/report.ts'
import { orCancelled } from '../seams/dispatch.ts'
import { Seams } from '../seams/seams.ts'
import type { Settings } from '../contract/settings.ts'
import type { SystemRegistry } from '../services/system.ts'
import type { ToolRegistry } from '../services/tools.ts'
import type { Turn } from '../contract/turn.ts'

/** What an agent is made of. */
export interface CoreOptions {
  /** Of the service: where seams are dispatched. */
  readonly ctx: Context
  /** Of whoever created it. */
  readonly home: Context
  readonly session: Session
  readonly store: SessionStore
  readonly llm: AdapterRegistry
  readonly tools: ToolRegistry
  readonly system: SystemRegistry
  readonly settings: Settings
  readonly departures: Departures
  readonly places: Places
  readonly cwd: string
  /** Fills what nobody said. */
  readonly defaults: Partial<CallConfig>
  /** Beats the log on this instance's first request (L6). */
  readonly explicit: Partial<CallConfig>
  /** Asked once at every `turn/start`; what a prompt brings itself wins. */
  readonly context?: ContextProvider | undefined
  readonly budget?: RequestBudget | undefined
  /** A log that others wrote: the queue waits for `wake()`. */
  readonly resumed: boolean
  /** A log that was copied from another session: it sends that one's prefix. */
  readonly forked: boolean
}

/** Gives what is true for a turn, or nothing. */
export type ContextProvider = (turn: Turn) => RunContext | undefined | Promise<RunContext | undefined>

/** The turn that is running. */
export interface RunningTurn {
  readonly turn: Turn
  readonly controller: AbortController
  requests: number
  context?: RunContext | undefined
  /** The context's weight, taken once. */
  weight?: ContextWeight | undefined
  /** The terms of the last budget decision, for `step/end`. */
  weighed?: { readonly budget?: Readonly<Record<string, number>> }
}

/** A live driver of one session: what the signed {@link Agent}s of all plugins share. */
export class AgentCore {
  readonly id: string
  readonly session: Session
  readonly settings: Settings
  readonly llm: AdapterRegistry
  readonly tools: ToolRegistry
  readonly system: SystemRegistry
  readonly departures: Departures
  readonly reporter: Reporter
  readonly seams: Seams
  readonly inbox: Inbox
  readonly seed: ConfigSeed
  readonly cwd: string
  readonly contexts = new ContextLog()
  readonly asides = new Asides()
  readonly scope: AgentScope
  readonly budget: RequestBudget | undefined
  running: RunningTurn | undefined
  prefix: Prefix | undefined
  /** This instance has written its header snapshot (L13). */
  anchored = false
  private readonly options: CoreOptions
  private readonly views = new Map<string, Agent>()
  private readonly following = new Set<TurnHandle>()
  private result: TurnResult | undefined
  readonly driver: Driver
  private disposing: Promise<void> | undefined
  private readonly late: LateListeners
  /** Called once, when it is disposed. */
  onDispose: () => void = () => undefined

  constructor(options: CoreOptions) {
    const { session, settings, ctx } = options
    this.options = options
    this.id = session.id
    this.session = session
    this.settings = settings
    this.llm = options.llm
    this.tools = options.tools
    this.system = options.system
    this.departures = options.departures
    this.cwd = options.cwd
    this.budget = options.budget
    this.scope = new AgentScope(options.home, this.id)
    if (options.forked) this.prefix = recordedPrefix(session)
    this.reporter = new Reporter(ctx, this.id, (plugin) => this.view(plugin), settings.strict, (data) => void session.append({ type: 'agent/override', data }))
    this.seams = new Seams({
      ctx, agent: this.id, view: (plugin) => this.view(plugin), departures: this.departures, reporter: this.reporter,
      deadline: settings.seamTimeout, toolOutput: settings.limits.toolOutput,
    })
    this.late = new LateListeners(this.reporter)
    this.inbox = new Inbox({ session, contexts: this.contexts, reporter: this.reporter, limit: settings.limits.queue, stop: (reason) => this.stop(reason) })
    this.seed = new ConfigSeed(session, options.defaults, options.explicit)
    const loop = new Loop(this)
    this.driver = new Driver({ session, places: options.places, held: options.resumed, turn: () => loop.turn(), fail: (error) => this.fail(error) })
    for (const event of session.eventsOf('run/context', 'prompt/queued')) this.contexts.apply(event)
    session.live.onError = (error) => this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'session.live', problem: messageOf(error) })
    session.live.on('event', (event) => this.tell(event))
    session.live.on('chunk', (chunk) => { for (const handle of this.following) handle.push(chunk) })
  }

  /** The agent as a plugin sees it: what it adds is signed with the plugin's name. */
  view(plugin: string): Agent {
    let view = this.views.get(plugin)
    if (!view) this.views.set(plugin, (view = new Agent(this, plugin)))
    return view
  }

  get blobs(): { blob(digest: string): Promise<Uint8Array | undefined> } {
    return { blob: (digest) => this.options.store.getBlob(this.id, digest) }
  }

  putBlob(bytes: Uint8Array): Promise<string> {
    return this.options.store.putBlob(this.id, bytes)
  }

  // Life.

  /** The log takes no more: everyone who waits is told. */
  private fail(error: unknown): void {
    this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'session', problem: messageOf(error) })
    for (const handle of this.following) handle.settle({ ...withdrawnResult(messageOf(error)), reason: 'error' })
    this.following.clear()
    this.inbox.close('error', messageOf(error))
    this.running = undefined
  }

  cancel(reason: string, queue: 'keep' | 'withdraw'): void {
    this.inbox.withdrawAll(reason, queue)
    this.stop(reason)
  }

  private stop(reason: string): void {
    if (this.running) this.running.controller.abort(new CancelledError(reason))
    else if (this.session.ledger.turn && !this.disposing) this.closeTurn(new CancelledError(reason))
  }

  /** Ends a turn that is open and does not run: it waits for a place, or a store that failed left it. */
  private closeTurn(why: CancelledError): void {
    try {
      if (this.session.ledger.turn?.step) this.session.closeStep('cancelled')
      this.endTurn('cancelled', toRecord(why))
      this.settleTurn()
      this.driver.reconsider()
    } catch (error) {
      this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'session', problem: messageOf(error) })
    }
  }

  dispose(): Promise<void> {
    return (this.disposing ??= this.end(new CancelledError('the agent was disposed')))
  }

  /** As {@link dispose}, but the turn that runs stays open in the log. */
  park(): Promise<void> {
    return (this.disposing ??= this.end(new ParkedError()))
  }

  private async end(why: Error): Promise<void> {
    this.driver.end()
    this.running?.controller.abort(why)
    this.asides.cancel('the agent was disposed')
    await this.driver.idle()
    await this.asides.settled()
    this.tools.forget(this.id)
    this.system.forget(this.id)
    try {
      await this.scope.dispose()
    } finally {
      // In the frame in which the log closes: a plugin of its own may have prompted it until now.
      this.inbox.close(isA(why, ParkedError) ? 'parked' : 'withdrawn', `${why.message}; the prompt waits in the log`)
      // Also where its store failed: the session can be resumed.
      await this.session.close().finally(() => this.onDispose())
    }
  }

  // For the loop.

  /** Takes a prompt's handle into the turn; gives the turn its own where no prompt woke it. */
  follow(prompt: number | undefined): void {
    this.following.add(this.inbox.take(prompt))
  }

  get handle(): TurnHandle | undefined {
    return [...this.following][0]
  }

  /** What is true for a turn: the prompt's own context, else what the provider says. @throws AgentError for what is no RunContext */
  async contextFor(turn: Turn, prompt: number | undefined): Promise<RunContext | undefined> {
    const queued = prompt === undefined ? undefined : this.session.at(prompt)
    if (queued?.type === 'prompt/queued' && queued.data.context !== undefined) return this.contexts.decode(queued.data.context)
    const context: unknown = await orCancelled(turn.signal, Promise.resolve(this.options.context?.(turn)))
    if (context === undefined || isRunContext(context)) return context
    throw new AgentError('CONTEXT_INVALID', 'the context of an agent is a function that gives a RunContext or undefined; it gave something else')
  }

  /** The `run/context` that the turn's first dispatch owes; one that cannot be encoded is reported. */
  contextOwed({ turn, context }: RunningTurn): EventDraft<'run/context'> | undefined {
    const last = this.contexts.last?.data
    if (!context || (last?.turn === turn.number && last.digest === context.digest)) return undefined
    try {
      return { type: 'run/context', data: { turn: turn.number, ...this.contexts.encode(context, this.session.length) } }
    } catch (error) {
      this.reporter.failed(error, 'run/context')
      return undefined
    }
  }

  /** Ends the turn, in the frame of the last look at what is owed. Who waits for it is told by {@link settleTurn}, when that is durable. */
  endTurn(reason: TurnReason, error?: ErrorRecord): void {
    const { session } = this
    const turn = session.ledger.turn!
    const finish = lastFinish(session, turn.seq)
    const { data } = session.append({ type: 'turn/end', data: { turn: turn.number, reason, settled: session.length - 1, ...(finish && { finish }), ...(error && { error }) } })
    this.running = undefined
    this.result = resultOf(session, turn.seq, data)
  }

  /** Leaves the turn open in the log, for a resume to go on with. */
  parkTurn(why: ParkedError): void {
    this.running = undefined
    this.result = parkedResult(why)
  }

  settleTurn(): void {
    for (const handle of this.following) handle.settle(this.result!)
    this.following.clear()
  }

  /** Why this instance's first header event is a snapshot (L13). */
  get anchor(): 'initial' | 'resume' | 'fork' | undefined {
    if (this.anchored) return undefined
    return this.session.headers.header ? (this.options.forked ? 'fork' : 'resume') : 'initial'
  }

  /** Where plugins are looked for that are still loading. */
  get rootContext(): Context {
    return this.options.ctx.root
  }

  /** A listener that comes too late to say what the prefix should be is reported by name (L5). */
  reportLatePrefix(): void {
    this.late.report(this.prefix, this.seams.listeners('agent/session-prefix'))
  }

  private tell(event: SessionEvent): void {
    if (event.type === 'prompt/withdrawn') this.driver.reconsider()
    this.contexts.apply(event)
    for (const handle of this.following) handle.push(event)
    this.seams.sessionEvent(event)
  }
}
