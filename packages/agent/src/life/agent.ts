import type { Context } from 'cordis'
import {
  type CallConfig, type ContentInput, type Contribution, type ContributionInput, type FileBlock, type ImageBlock, type Json,
  type MessageInput, isA, keyOf, messageOf, toConfigPatch, toContribution,
} from '@headrace/message'
import type { Entry, EntryId, OpenQuestion, RememberedAnswer, SessionEvent, SessionView } from '@headrace/session'
import type {
  Agent, AskOptions, CancelOptions, KeepOptions, PromptOptions, ReplaceOptions, RewindOptions, SideAnswer,
} from '../contract/agent.ts'
import { checkOption, checkOptions } from '../contract/check-options.ts'
import { AgentError } from '../contract/error.ts'
import type { AnswerOptions } from '../contract/question.ts'
import type { TurnHandle } from '../contract/turn.ts'
import { isList, isObject, isRunContext } from '../seams/guards.ts'
import { cutEnd } from '../seams/contribution.ts'
import { ownerOf } from '../seams/owner.ts'
import { toOutputSchema } from '../turn/parameters.ts'
import { ask } from '../turn/side-request.ts'
import type { AgentCore } from './core.ts'
import { rewind } from './rewind.ts'

/** An {@link Agent} as one plugin sees it: what goes in through it is signed with that plugin's name (L14). */
export class AgentView implements Agent {
  /** Private at run time: plugins cannot reach it, not even with a cast. */
  readonly #core: AgentCore
  readonly plugin: string

  constructor(core: AgentCore, plugin: string) {
    this.#core = core
    this.plugin = plugin
    // All of a plugin's listeners share it.
    Object.freeze(this)
  }

  get id(): string {
    return this.#core.id
  }

  get cwd(): string {
    return this.#core.cwd
  }

  get now(): number {
    return this.#core.session.ledger.now
  }

  get session(): SessionView {
    return this.#core.session.view
  }

  get ctx(): Context {
    return this.#core.scope.contextOf(this.plugin)
  }

  get state(): 'idle' | 'waiting' | 'running' {
    return this.#core.driver.state
  }

  get turn(): TurnHandle | undefined {
    return this.#core.handle
  }

  get questions(): readonly OpenQuestion[] {
    return this.#core.questions.open
  }

  get remembered(): readonly RememberedAnswer[] {
    return this.#core.session.ledger.remembered
  }

  async answer(question: number, answer: Json, options: AnswerOptions = {}): Promise<SessionEvent<'question/answered'>> {
    checkOptions('agent.answer', options, ['remember'])
    const { plugin } = this
    const isDoor = plugin === 'app' || this.#core.questions.isAttended(plugin)
    // Consent is a person's (L21): code that decides is a listener of `tools/pre-execute` or `tools/ask`, and signs as that.
    if (!isDoor) throw new AgentError('NO_DOOR', `the plugin ${plugin} is no door: a person answers, through a plugin that called ctx.agents.attend()`)
    const by = plugin === 'app' ? 'user' : ownerOf(plugin, undefined, 'answer')
    this.#core.session.admit()
    const event = this.#core.questions.answer(question, { answer, by, remember: options.remember })
    await this.#core.session.flush()
    return event
  }

  prompt<Output = unknown>(input: ContentInput, options: PromptOptions<Output> = {}): TurnHandle<Output> {
    checkOptions('agent.prompt', options, ['context', 'config', 'output', 'signal'])
    const { context, config, output, signal } = options
    // Validated before the append: an invalid prompt must not be queued.
    checkOption('agent.prompt', context === undefined || isRunContext(context), 'has a context that is a RunContext')
    checkOption('agent.prompt', signal === undefined || isA(signal, AbortSignal), 'has a signal that is an AbortSignal')
    const patch = config === undefined ? undefined : this.#core.header.seed.check(toConfigPatch(config, 'prompt'))
    const schema = output === undefined ? undefined : toOutputSchema(output)
    const handle = this.#core.inbox.prompt(input, this.plugin, { context, config: patch, output: schema })
    if (signal) cancelWith(handle, signal)
    return this.woken(handle) as TurnHandle<Output>
  }

  steer(input: ContributionInput): TurnHandle {
    const isInput = this.plugin === 'app' && (!isObject(input) || (input.key === undefined && input.role !== 'system'))
    if (!isInput) return this.woken(this.#core.steer(input, ownerOf(this.plugin, keyOf(input, 'steer'), 'steer')))
    const content: ContentInput = isObject(input) ? toContribution(input, 'steer').content : input
    return this.woken(this.#core.inbox.prompt(content, this.plugin, { steer: this.#core.running !== undefined }))
  }

  private woken<T>(accepted: T): T {
    this.#core.driver.wake()
    return accepted
  }

  inject(message: ContributionInput): SessionEvent<'context/message'> | undefined {
    return this.#core.inbox.inject(message, ownerOf(this.plugin, keyOf(message, 'inject'), 'inject'), this.plugin)
  }

  replace(
    first: EntryId, last: EntryId, messages: readonly (ContributionInput | MessageInput)[], options: ReplaceOptions,
  ): SessionEvent<'surface/replace'> {
    checkOptions('agent.replace', options, ['reason', 'key'])
    const { reason, key } = options
    checkOption('agent.replace', isText(reason), "needs a reason, for the log: { reason: 'compacted' }")
    checkOption('agent.replace', key === undefined || isText(key), 'has a key that is a text, and not empty')
    checkOption('agent.replace', Array.isArray(messages), 'takes a list of messages')
    return this.#core.inbox.replace(first, last, messages, { sign: (own = key) => ownerOf(this.plugin, own, 'replace'), reason })
  }

  async keep(entries: readonly Entry[], options: KeepOptions = {}): Promise<readonly Contribution[]> {
    checkOptions('agent.keep', options, ['signal', 'limit'])
    const { signal = new AbortController().signal, limit = () => Infinity } = options
    const standing = new Set(this.session.entries())
    checkOption('agent.keep', isList(entries) && entries.every((entry) => standing.has(entry)), 'takes entries of agent.session.entries()')
    checkOption('agent.keep', isA(signal, AbortSignal), 'has a signal that is an AbortSignal')
    const pieces = await this.#core.seams.keep(Object.freeze([...entries]), signal)
    return this.#core.inbox.known(pieces.map(({ message, owner }) => ({ message: cutEnd(message, limit(message)), owner })))
  }

  rewind(options: RewindOptions = {}): Promise<SessionEvent<'surface/rewind'>> {
    return rewind(this.#core, ownerOf(this.plugin, undefined, 'rewind'), options, `rewound by ${this.plugin}`)
  }

  setTitle(title: string): void {
    if (typeof title !== 'string' || title.trim() === '') throw new AgentError('TITLE_EMPTY', 'a title is a text that is not blank')
    this.#core.session.admit()
    this.#core.session.append({ type: 'session/title', data: { title: title.toWellFormed(), owner: ownerOf(this.plugin, undefined, 'title') } })
  }

  configure(patch: Partial<CallConfig>): void {
    this.#core.header.seed.patch(toConfigPatch(patch, 'configure'), ownerOf(this.plugin, undefined, 'configure'))
  }

  async ask(messages: readonly ContributionInput[], options: AskOptions): Promise<SideAnswer> {
    this.#core.checkAlive()
    return this.#core.sideRequests.run((ending) => ask(this.#core, this.plugin, messages, options, ending))
  }

  async putImage(bytes: Uint8Array, mediaType: string): Promise<ImageBlock> {
    checkOption('agent.putImage', isA(bytes, Uint8Array) && /^image\/./.test(mediaType), 'takes bytes and the type of an image, e.g. image/png')
    return { type: 'image', digest: await this.#core.putBlob(bytes), mediaType }
  }

  async putFile(bytes: Uint8Array, mediaType: string, name?: string): Promise<FileBlock> {
    const fits = isA(bytes, Uint8Array) && /^[^/\s]+\/[^/\s]+$/.test(mediaType) && (name === undefined || typeof name === 'string')
    checkOption('agent.putFile', fits, 'takes bytes, the type of a file, e.g. application/pdf, and a name, if it has one')
    return { type: 'file', digest: await this.#core.putBlob(bytes), mediaType, ...(name !== undefined && { name: name.toWellFormed() }) }
  }

  report(seam: string, problem: string): void {
    checkOption('agent.report', isText(seam) && isText(problem), 'takes where it went wrong, and what, as texts')
    this.#core.reporter.report({ kind: 'failed', plugin: this.plugin, seam, problem })
  }

  withdraw(prompt: number, reason = `withdrawn by ${this.plugin}`): void {
    checkOption('agent.withdraw', Number.isSafeInteger(prompt), 'takes the seq of a prompt that waits, as handle.prompt has it')
    checkOption('agent.withdraw', typeof reason === 'string', 'has a reason that is a text')
    this.#core.inbox.withdraw(prompt, reason)
  }

  cancel(reason = `cancelled by ${this.plugin}`, options: CancelOptions = {}): void {
    checkOption('agent.cancel', typeof reason === 'string', 'has a reason that is a text')
    checkOptions('agent.cancel', options, ['queue'])
    const { queue = 'keep' } = options
    checkOption('agent.cancel', queue === 'keep' || queue === 'withdraw', "has queue: 'keep' or 'withdraw'")
    this.#core.cancel(reason, queue)
  }

  wake(): void {
    this.#core.driver.wake()
  }

  idle(): Promise<void> {
    return this.#core.driver.idle()
  }

  dispose(): Promise<void> {
    return this.#core.dispose()
  }

  park(): Promise<void> {
    return this.#core.park()
  }
}

// Frozen: a plugin must not intercept what others say through their views (L14).
Object.freeze(AgentView.prototype)

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Cancels a turn when a signal is aborted, now or later. */
function cancelWith(handle: TurnHandle, signal: AbortSignal): void {
  const cancel = (): void => handle.cancel(messageOf(signal.reason))
  if (signal.aborted) return cancel()
  signal.addEventListener('abort', cancel, { once: true })
  void handle.result.then(() => signal.removeEventListener('abort', cancel))
}
