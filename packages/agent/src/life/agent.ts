import type { Context } from 'cordis'
import { type CallConfig, type ContentInput, type ContributionInput, type ImageBlock, type MessageInput, toConfigPatch } from '@headrace/message'
import type { RunContext } from '@headrace/run-context'
import type { EntryId, SessionEvent, SessionView } from '@headrace/session'
import type { AgentCore } from './core.ts'
import type { TurnHandle } from './handle.ts'
import { checkOptions } from '../contract/options.ts'
import { type RewindOptions, rewind } from './rewind.ts'
import { ownerOf } from '../seams/owner.ts'
import { type AskOptions, type SideAnswer, askAside } from '../turn/side-request.ts'

/**
 * A live driver of one session, as one plugin (or the app) sees it: what goes in through it is signed with that plugin's name (L14).
 *
 * ```ts
 * const agent = await ctx.agents.create({ cwd: process.cwd() })
 * const { text } = await agent.prompt('Why does the test fail?').result
 * ```
 */
export class Agent {
  /** Out of reach of plugins, casts included. */
  readonly #core: AgentCore
  /** The plugin that holds this view; `app` outside of any. */
  readonly plugin: string

  /** @internal */
  constructor(core: AgentCore, plugin: string) {
    this.#core = core
    this.plugin = plugin
    // All of a plugin's listeners share it.
    Object.freeze(this)
  }

  /** The session's id. */
  get id(): string {
    return this.#core.id
  }

  /** Absolute path of the folder it works in. */
  get cwd(): string {
    return this.#core.cwd
  }

  /** The log: to read, and to append events of types that plugins add. */
  get session(): SessionView {
    return this.#core.session.view
  }

  /** A context whose plugins, listeners and tools serve this agent alone, and go with it. */
  get ctx(): Context {
    return this.#core.scope.contextOf(this.plugin)
  }

  /** `waiting`: it has something to do, and waits for a place among the app's turns (`concurrentTurns`). */
  get state(): 'idle' | 'waiting' | 'running' {
    return this.#core.driver.state
  }

  /** The handle of the turn that runs. */
  get turn(): TurnHandle | undefined {
    return this.#core.handle
  }

  /**
   * Queues input as a turn of its own, with what is true for that turn. Durable when `handle.accepted` resolves.
   *
   * @throws AgentError where it is empty or the queue is full
   */
  prompt(input: ContentInput, options: { readonly context?: RunContext } = {}): TurnHandle {
    checkOptions('agent.prompt', options, ['context'])
    const { context } = options
    return this.woken(this.#core.inbox.prompt(input, this.plugin, { context }))
  }

  /** From the app: input for the running turn, at its next boundary; a prompt when idle. From a plugin: a message, that wakes the agent. */
  steer(input: ContributionInput): TurnHandle | SessionEvent<'context/message'> {
    if (this.plugin !== 'app') return this.woken(this.#core.inbox.steer(input, ownerOf(this.plugin, undefined, 'steer')))
    const content: ContentInput = typeof input === 'string' || Array.isArray(input) ? (input as ContentInput) : (input as { content: ContentInput }).content
    return this.woken(this.#core.inbox.prompt(content, this.plugin, { steer: this.#core.running !== undefined }))
  }

  private woken<T>(accepted: T): T {
    this.#core.driver.wake()
    return accepted
  }

  /** Adds a message to the history; the model sees it at the next boundary. Does not wake. Blank text is dropped. */
  inject(message: ContributionInput, { key }: { readonly key?: string } = {}): SessionEvent<'context/message'> | undefined {
    return this.#core.inbox.inject(message, ownerOf(this.plugin, key, 'inject'))
  }

  /**
   * Puts messages, of any role, in the place of a part of the history (`surface/replace`). Not while a step is open: do it in
   * `agent/pre-step`.
   *
   * @throws LogError
   */
  replace(first: EntryId, last: EntryId, messages: readonly (ContributionInput | MessageInput)[], { reason, key }: { readonly reason: string; readonly key?: string }): SessionEvent<'surface/replace'> {
    return this.#core.inbox.replace(first, last, messages, ownerOf(this.plugin, key, 'replace'), reason)
  }

  /**
   * Takes back the last turn, or more: the history is again what it was when that turn began. Durable when it resolves. The log keeps
   * everything; what tools did stays done; what topics told and it hid is told again.
   *
   * ```ts
   * await agent.rewind()                 // the last turn
   * await agent.rewind({ turns: 2 })     // the last two
   * await agent.rewind({ to: 5 })        // to where turn 5 began
   * ```
   *
   * @throws AgentError while a turn runs (see `cancel`), or where there is no such turn; StoreError
   */
  rewind(options: RewindOptions = {}): Promise<SessionEvent<'surface/rewind'>> {
    return rewind(this.#core, ownerOf(this.plugin, undefined, 'rewind'), options, options.reason ?? `rewound by ${this.plugin}`)
  }

  /** Changes the seed of the next request (L6). @throws ConfigError */
  configure(patch: Partial<CallConfig>): void {
    this.#core.seed.patch(toConfigPatch(patch, 'configure'), ownerOf(this.plugin, undefined, 'configure'))
  }

  /** A side request: a summary, a title, a judgement, on the warm cache. It answers nothing that is owed. @throws AgentError, ModelError */
  ask(messages: readonly ContributionInput[], options: AskOptions): Promise<SideAnswer> {
    return askAside(this.#core, ownerOf(this.plugin, options.purpose), messages, options)
  }

  /** Keeps bytes beside the log and gives the block that names them. */
  async putImage(bytes: Uint8Array, mediaType: string): Promise<ImageBlock> {
    return { type: 'image', digest: await this.#core.putBlob(bytes), mediaType }
  }

  /** Reports what went wrong and does not stop the agent: `agent/report`, and Cordis' log. */
  report(seam: string, problem: string): void {
    this.#core.reporter.report({ kind: 'failed', plugin: this.plugin, seam, problem })
  }

  /** Takes back a prompt that waits. */
  withdraw(prompt: number, reason = `withdrawn by ${this.plugin}`): void {
    this.#core.inbox.withdraw(prompt, reason)
  }

  /**
   * Ends the turn that runs, or that is open and waits for a place. Steers that wait are withdrawn; prompts are kept, unless `queue` says
   * otherwise.
   */
  cancel(reason = `cancelled by ${this.plugin}`, { queue = 'keep' }: { readonly queue?: 'keep' | 'withdraw' } = {}): void {
    this.#core.cancel(reason, queue)
  }

  /** Runs what waits in the queue; needed after a resume. */
  wake(): void {
    this.#core.driver.wake()
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    return this.#core.driver.idle()
  }

  /** Cancels, flushes, and gives the session back. */
  dispose(): Promise<void> {
    return this.#core.dispose()
  }

  /**
   * Stops what runs without ending its turn, flushes, and gives the session back: a resume, in this process or another, goes on with it, as
   * after a kill. For a host that goes down. The handle's result says `parked`.
   */
  park(): Promise<void> {
    return this.#core.park()
  }
}
