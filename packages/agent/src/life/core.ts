import type { Context } from 'cordis'
import { type ContributionInput, type Owner, isA, messageOf } from '@headrace/message'
import type { ErrorRecord, Session, SessionEvent, SessionStore, ToolChoice, TurnReason } from '@headrace/session'
import type { RequestBudget } from '@headrace/tokens'
import type { Agent } from '../contract/agent.ts'
import { AgentError, CancelledError, ParkedError, toRecord } from '../contract/error.ts'
import type { Settings } from '../contract/settings.ts'
import type { TurnEvent, TurnHandle, TurnResult } from '../contract/turn.ts'
import type { Departures } from '../seams/listener-owner.ts'
import { Outcomes } from '../seams/outcome.ts'
import { Reporter } from '../seams/report.ts'
import { Seams } from '../seams/seams.ts'
import type { AdapterRegistry } from '../turn/adapters.ts'
import { ConfigSeed } from '../turn/config-seed.ts'
import type { RunningTurn, TurnHost } from '../turn/host.ts'
import { InstanceHeader } from '../turn/instance-header.ts'
import { type LetterOf, Letters } from '../turn/letters.ts'
import { Loop } from '../turn/loop.ts'
import { readOutput } from '../turn/output.ts'
import type { Parameters } from '../turn/parameters.ts'
import { Questions } from '../turn/questions.ts'
import { RunContexts } from '../turn/run-contexts.ts'
import type { SystemRegistry } from '../turn/system-registry.ts'
import type { ToolRegistry } from '../turn/tool-registry.ts'
import { AgentScope } from './agent-scope.ts'
import { AgentView } from './agent.ts'
import type { CoreOptions } from './core-options.ts'
import { TurnCosts } from './turn-costs.ts'
import { pauseAbove } from './clocks.ts'
import { Driver } from './driver.ts'
import { type PendingTurn, lastFinish, parkedResult, resultOf, withdrawnResult } from './handle.ts'
import { Endings } from './endings.ts'
import { Inbox } from './inbox.ts'
import { mailTakers } from './mail.ts'
import { SaidKeys } from './said-keys.ts'
import { SideRequests } from './side-requests.ts'

/** A live driver of one session: what the signed {@link Agent}s of all plugins share. */
export class AgentCore implements TurnHost {
  readonly id: string
  readonly root: Context
  readonly session: Session
  readonly settings: Settings
  readonly choice: ToolChoice | undefined
  readonly llm: AdapterRegistry
  readonly tools: ToolRegistry
  readonly system: SystemRegistry
  readonly departures: Departures
  readonly reporter: Reporter
  readonly seams: Seams
  readonly outcomes: Outcomes
  readonly header: InstanceHeader
  readonly contexts: RunContexts
  readonly inbox: Inbox
  private readonly saidKeys: SaidKeys
  private readonly costs: TurnCosts
  readonly cwd: string
  readonly sideRequests = new SideRequests()
  readonly scope: AgentScope
  readonly budget: RequestBudget | undefined
  readonly driver: Driver
  readonly questions: Questions
  readonly letters: Letters
  /** What is called at the end of this life. */
  readonly endings = new Endings((error) => this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'agents.setup', problem: messageOf(error) }))
  readonly blobs: { blob(digest: string): Promise<Uint8Array | undefined> }
  running: RunningTurn | undefined
  /** Called once, when it is disposed. */
  onDispose: () => void = () => undefined
  private readonly store: SessionStore
  private readonly views = new Map<string, Agent>()
  /** Handles of the running turn. */
  private readonly following = new Set<PendingTurn>()
  private result: TurnResult | undefined
  private disposing: Promise<void> | undefined
  /** Why it ended, once it was told to. */
  private ended: CancelledError | undefined
  /** The turn whose cancel this life has put on record. */
  cancelled: number | undefined

  constructor(options: CoreOptions) {
    const { session, settings, ctx, store } = options
    this.id = session.id
    this.root = ctx.root
    this.session = session
    this.settings = settings
    this.choice = options.choice
    this.store = store
    this.llm = options.llm
    this.tools = options.tools
    this.system = options.system
    this.departures = options.departures
    this.cwd = options.cwd
    this.budget = options.budget
    this.scope = new AgentScope(options.home, this.id)
    this.blobs = { blob: (digest) => store.getBlob(this.id, digest) }
    const view = (plugin: string): Agent => this.view(plugin)
    this.reporter = new Reporter(ctx, this.id, view, settings.strict, (data) => void session.append({ type: 'agent/override', data }))
    this.outcomes = new Outcomes(settings.limits, (bytes) => this.putBlob(bytes), this.llm.keys)
    const { id: agent, departures, reporter, outcomes } = this
    this.seams = new Seams({ ctx, agent, view, departures, reporter, deadline: settings.seamTimeout, outcomes })
    this.header = new InstanceHeader(session, new ConfigSeed(session, options.defaults, options.explicit), this.reporter, options.forked)
    this.contexts = new RunContexts(session, this.reporter, options.context)
    this.inbox = new Inbox({
      session, contexts: this.contexts.log, reporter: this.reporter, limit: settings.limits.queue, stop: (reason) => this.stop(reason),
    })
    const hold = (): readonly ((() => void) | undefined)[] => (
      [this.running?.clock?.pause(), options.slots.lend(), ...pauseAbove(this, options.live)]
    )
    const answer = (letter: LetterOf<'answer'>): void => this.questions.take(letter)
    this.letters = new Letters(session, this.reporter, { answer, ...(options.mail && mailTakers(this)) })
    this.questions = new Questions({ session, attendance: options.attendance, letters: this.letters, hold })
    this.saidKeys = new SaidKeys(session, this.llm.keys, this.reporter)
    this.costs = new TurnCosts(session, this.llm.info)
    const loop = new Loop(this)
    this.driver = new Driver({
      session,
      slots: options.slots,
      held: options.resumed,
      turn: () => loop.turn(),
      fail: (error) => this.fail(error),
    })
    session.live.onError = (error) => this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'session.live', problem: messageOf(error) })
    session.live.on('event', (event) => this.take(event))
    session.live.on('chunk', (chunk) => this.tell(chunk))
  }

  /** The agent as a plugin sees it: what it adds is signed with the plugin's name. */
  view(plugin: string): Agent {
    let view = this.views.get(plugin)
    if (!view) this.views.set(plugin, (view = new AgentView(this, plugin)))
    return view
  }

  putBlob(bytes: Uint8Array): Promise<string> {
    return this.store.putBlob(this.id, bytes)
  }

  /** The handle of the turn that runs. */
  get handle(): TurnHandle | undefined {
    const [pending] = this.following
    return pending?.handle
  }

  /** The log takes no more events: settles everything that waits. */
  private fail(error: unknown): void {
    this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'session', problem: messageOf(error) })
    for (const pending of this.following) pending.settle({ ...withdrawnResult(messageOf(error)), reason: 'error' })
    this.following.clear()
    this.inbox.close('error', messageOf(error))
    this.running = undefined
  }

  cancel(reason: string, queue: 'keep' | 'withdraw', letter?: string): void {
    this.inbox.withdrawAll(reason, queue)
    this.stop(reason, letter)
  }

  private stop(reason: string, letter?: string): void {
    this.sayCancelled(reason, letter)
    if (this.running) this.running.controller.abort(new CancelledError(reason))
    else if (this.session.ledger.turn && !this.disposing) this.closeTurn(new CancelledError(reason))
  }

  /** Each cancel is on record, once a turn: after a crash, a turn that was being cancelled does not go on. */
  private sayCancelled(reason: string, letter?: string): void {
    const { turn } = this.session.ledger
    if (!turn || turn.number === this.cancelled || this.disposing) return
    this.cancelled = turn.number
    try {
      this.session.append({ type: 'turn/cancel', data: { turn: turn.number, reason: reason.toWellFormed(), ...(letter !== undefined && { letter }) } })
    } catch (error) {
      this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'session', problem: messageOf(error) })
    }
  }

  /** Ends a turn that is open and does not run: it waits for a slot, or a store that failed left it. */
  private closeTurn(why: CancelledError): void {
    try {
      if (this.session.ledger.turn?.step) this.session.closeStep('cancelled')
      this.joinSteers()
      this.endTurn('cancelled', toRecord(why))
      this.settleTurn()
      this.driver.reconsider()
    } catch (error) {
      this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'session', problem: messageOf(error) })
    }
  }

  dispose(): Promise<void> {
    this.sayCancelled('the agent was disposed')
    return (this.disposing ??= this.end(new CancelledError('the agent was disposed')))
  }

  /** As {@link dispose}, but the turn that runs stays open in the log. */
  park(): Promise<void> {
    return (this.disposing ??= this.end(new ParkedError()))
  }

  private async end(why: CancelledError): Promise<void> {
    this.ended = why
    const taken = this.letters.close()
    this.driver.end()
    this.running?.controller.abort(why)
    this.sideRequests.cancel('the agent was disposed')
    await this.driver.idle()
    await taken
    await this.sideRequests.settled()
    this.tools.forget(this.id)
    this.system.forget(this.id)
    try {
      await this.endScope()
    } finally {
      this.endings.run()
      // In the same frame as the log's close: the agent's own plugins may have prompted it until now.
      this.inbox.close(isA(why, ParkedError) ? 'parked' : 'withdrawn', `${why.message}; the prompt waits in the log`)
      // Also where its store failed: the session can be resumed.
      await this.session.close(`${why.message.replace(/;.*/, '')}; ctx.agents.resume() goes on with it`).finally(() => this.onDispose())
    }
  }

  /** @throws AgentError where it was parked or disposed, instead of an error about a closed session or an open turn */
  checkAlive(): void {
    if (!this.ended) return
    const how = isA(this.ended, ParkedError) ? 'parked' : 'disposed'
    throw new AgentError(how === 'parked' ? 'AGENT_PARKED' : 'AGENT_DISPOSED', `the agent was ${how}; go on with ctx.agents.resume(${JSON.stringify(this.id)})`)
  }

  /** Ends the agent's own plugins; one whose end waits for the agent's does not hold it up. */
  private async endScope(): Promise<void> {
    const { grace } = this.settings
    if (!(await this.scope.disposeWithin(grace))) this.reporter.report({ kind: 'failed', plugin: 'app', seam: 'agent.ctx', problem: `its plugins did not end within ${grace} ms; the agent ended without them` })
  }

  follow(prompt: number | undefined): void {
    this.following.add(this.inbox.take(prompt))
    this.joinSteers()
  }

  /** A plugin's steer: it follows the turn that runs, or waits for the next one. */
  steer(message: ContributionInput, owner: Owner): TurnHandle {
    return this.inbox.steer(message, owner, this.running ? [...this.following][0] : undefined)
  }

  /** Steers that waited follow the turn. */
  private joinSteers(): void {
    for (const pending of this.inbox.takeSteers()) this.following.add(pending)
  }

  outputOf(prompt: number): Parameters | undefined {
    return this.inbox.outputOf(prompt)
  }

  withdraw(prompt: number, reason: string): void {
    this.inbox.withdraw(prompt, reason)
  }

  endTurn(reason: TurnReason, error?: ErrorRecord): void {
    const { session } = this
    const turn = session.ledger.turn!
    const finish = lastFinish(session, turn.seq)
    const settled = session.length - 1
    const schema = reason === 'done' && turn.prompt !== undefined ? this.outputOf(turn.prompt) : undefined
    const output = schema && readOutput(session, turn.seq, schema)
    const { data } = session.append({ type: 'turn/end', data: { turn: turn.number, reason, settled, ...(finish && { finish }), ...(error && { error }) } })
    this.running = undefined
    this.result = { ...resultOf(session, turn.seq, data, this.costs.take()), ...(output && 'value' in output && { output: output.value }) }
    if (turn.prompt !== undefined) this.inbox.forget(turn.prompt)
  }

  parkTurn(why: ParkedError): void {
    this.running = undefined
    this.result = parkedResult(why)
  }

  settleTurn(): void {
    for (const pending of this.following) pending.settle(this.result!)
    this.following.clear()
  }

  tell(event: TurnEvent): void {
    for (const pending of this.following) pending.push(event)
  }

  private take(event: SessionEvent): void {
    if (event.type === 'prompt/withdrawn') this.driver.reconsider()
    if (event.type === 'surface/rewind') this.inbox.dropSteers('the history was rewound to where it was not there')
    this.contexts.log.apply(event)
    this.tell(event)
    if (event.type === 'assistant/message') this.saidKeys.look()
    this.seams.sessionEvent(event)
  }
}
