import {
  type CallConfig,
  type Contribution,
  type ContributionInput,
  type MessageInput,
  type Owner,
  type UserMessage,
  isA,
  isBlank,
  keyOf,
  messageOf,
  toContent,
  toContribution,
  toMessage,
} from '@headrace/message'
import type { ContextLog, RunContext } from '@headrace/run-context'
import { type EntryId, LogError, type Session, type SessionEvent, type Signed } from '@headrace/session'
import { AgentError } from '../contract/error.ts'
import type { TurnHandle } from '../contract/turn.ts'
import { isObject } from '../seams/guards.ts'
import { type PendingTurn, joinTurn, pendingTurn, withdrawnResult } from './handle.ts'
import type { Reporter } from '../seams/report.ts'
import type { LetterOf } from '../turn/letters.ts'
import { ownerOf } from '../seams/owner.ts'
import { type Parameters, toOutputSchema } from '../turn/parameters.ts'

/** What is given along with a prompt. */
export interface PromptParts {
  readonly steer?: boolean
  readonly context?: RunContext | undefined
  readonly config?: Partial<CallConfig> | undefined
  readonly output?: Parameters | undefined
}

/** A steer counts for ten appends: the model answers it, and somebody pays for that. */
const WAKES = 10

/** What goes in between requests, append-only. Accepted means logged. */
export class Inbox {
  private readonly session: Session
  private readonly contexts: ContextLog
  private readonly reporter: Reporter
  private readonly limit: number
  private readonly stop: (reason: string) => void
  private readonly handles = new Map<number, PendingTurn>()
  /** Plugins whose last message was refused as a feedback loop: reported once in a row. */
  private readonly refused = new Set<string>()
  /** Of steers of plugins that wait for a turn. */
  private readonly steers = new Set<PendingTurn>()
  /** Output schemas of this process' prompts, by prompt. */
  private readonly outputs = new Map<number, Parameters>()
  /** Owners of what was given to outlive a compaction. */
  private readonly kept = new WeakMap<object, Owner>()

  constructor(options: { session: Session; contexts: ContextLog; reporter: Reporter; limit: number; stop: (reason: string) => void }) {
    this.session = options.session
    this.contexts = options.contexts
    this.reporter = options.reporter
    this.limit = options.limit
    this.stop = options.stop
  }

  /** @throws AgentError where the prompt is empty or the queue is full */
  prompt(input: unknown, plugin: string, { steer = false, context, config, output }: PromptParts = {}): TurnHandle {
    const message: UserMessage = { role: 'user', content: toContent(input, 'prompt', this.repaired(plugin)) }
    this.checkPrompt(message)
    this.session.admit()
    const owner = plugin === 'app' ? 'user' : ownerOf(plugin, undefined, 'prompt')
    const { seq } = this.session.append({
      type: 'prompt/queued',
      data: {
        input: message,
        owner,
        ...(steer && { steer: true as const }),
        ...(context && { context: this.contexts.encode(context, this.session.length) }),
        ...(config && { config }),
        ...(output && { output: output.schema }),
      },
    })
    const pending = pendingTurn(seq, this.session.flush(), (reason) => this.cancel(seq, reason))
    // A listener may have taken it back while it was appended.
    if (!this.session.ledger.isQueued(seq)) pending.settle(withdrawnResult('it was withdrawn as it was accepted'))
    else {
      this.handles.set(seq, pending)
      if (output) this.outputs.set(seq, output)
    }
    return pending.handle
  }

  private checkPrompt(message: UserMessage): void {
    if (isBlank(message)) throw new AgentError('PROMPT_EMPTY', 'the prompt is empty; say what the agent should do')
    if (this.session.ledger.queue.length >= this.limit) throw new AgentError('QUEUE_FULL', `${this.limit} prompts wait already; wait for one to end, or raise limits.queue`)
  }

  /**
   * Queues a prompt that came by a letter. A steer joins the turn that is open; where none is, it is a prompt like any.
   *
   * @param check completes the prompt's own config
   * @throws AgentError, ConfigError, MessageError
   */
  takeLetter({ id, input, steer, key, config, output, context }: LetterOf<'prompt'>, check: (config: Partial<CallConfig>) => Partial<CallConfig>): void {
    const known = key === undefined ? undefined : this.session.ledger.promptOf(key)
    if (known) throw new AgentError('KEY_REPEATED', `the prompt ${known.seq} came with this key`)
    if (context !== undefined) throw new AgentError('LETTER_INVALID', 'a run context is given by the process that drives the session, not by a letter')
    const message: UserMessage = { role: 'user', content: toContent(input.content, 'prompt') }
    this.checkPrompt(message)
    if (output) toOutputSchema(output)
    this.session.append({
      type: 'prompt/queued',
      data: {
        input: message,
        owner: 'user',
        ...(steer && this.session.ledger.turn && { steer }),
        ...(key !== undefined && { key }),
        letter: id,
        ...(config && { config: check(config) }),
        ...(output && { output }),
      },
    })
  }

  /**
   * A message that the model owes an answer to. What it gives follows the turn that runs, else the next one.
   *
   * @throws AgentError where it is empty
   */
  steer(message: ContributionInput, owner: Owner, running: PendingTurn | undefined): TurnHandle {
    const contribution = this.contribution(message, owner, WAKES)
    if (isBlank(contribution)) throw new AgentError('PROMPT_EMPTY', 'the steer is empty; say what the agent should do')
    const { seq } = this.session.append({ type: 'context/message', data: { message: contribution, owner, steer: true } })
    if (running) return joinTurn(running, this.session.flush())
    const pending = pendingTurn(undefined, this.session.flush(), this.stop)
    // A listener may have rewound the session as soon as it was in the log.
    if (this.session.ledger.owed) this.steers.add(pending)
    else pending.settle(withdrawnResult(`the steer ${seq} was taken back`))
    return pending.handle
  }

  /** Takes the steers that no turn has taken yet. */
  takeSteers(): readonly PendingTurn[] {
    const pending = [...this.steers]
    this.steers.clear()
    return pending
  }

  /** Settles waiting steers that a rewind took out of the history. */
  dropSteers(reason: string): void {
    for (const pending of this.takeSteers()) pending.settle(withdrawnResult(reason))
  }

  /** Adds a message that the model sees at the next boundary. Blank text is dropped, and so is an endless feedback loop. */
  inject(message: ContributionInput, owner: Owner, plugin: string): SessionEvent<'context/message'> | undefined {
    let contribution: Contribution
    try {
      contribution = this.contribution(message, owner)
      this.refused.delete(plugin)
    } catch (error) {
      // Thrown from a listener's timer, it would crash the process.
      if (!isA(error, LogError) || error.code !== 'LOG_FEEDBACK' || this.session.live.depth > 0) throw error
      if (!this.refused.has(plugin)) this.reporter.report({ kind: 'failed', plugin, seam: 'session/event', problem: messageOf(error) })
      this.refused.add(plugin)
      return undefined
    }
    if (isBlank(contribution)) return undefined
    return this.session.append({ type: 'context/message', data: { message: contribution, owner } })
  }

  /** @param sign gives the owner of the event, and with a key that of a message that has it */
  replace(
    first: EntryId, last: EntryId, messages: readonly (ContributionInput | MessageInput)[],
    { sign, reason }: { readonly sign: (key?: string) => Owner; readonly reason: string },
  ): SessionEvent<'surface/replace'> {
    this.session.admit()
    const owner = sign()
    const known = this.standing(first, last)
    const signed: Signed[] = messages.map((message) => known(message) ?? (isContribution(message)
      ? { message: this.contribution(message, owner), owner: sign(keyOf(message, owner)) }
      : { message: toMessage(message, owner, this.repaired(owner)), owner }))
    return this.session.append({ type: 'surface/replace', data: { first, last, messages: signed, owner, reason } })
  }

  /** Notes whose messages these are, for a replace that puts them somewhere (L14). */
  known(pieces: readonly Signed<Contribution>[]): readonly Contribution[] {
    for (const { message, owner } of pieces) this.kept.set(message, owner)
    return Object.freeze(pieces.map(({ message }) => message))
  }

  /** What stands in a part of the history, and what was given to be kept, with its owner. */
  private standing(first: EntryId, last: EntryId): (message: unknown) => Signed | undefined {
    const part = this.session.surface.between(first, last)
    return (message) => {
      const entry = part.find((one) => one.message === message)
      if (entry) return { message: entry.message, owner: entry.owner }
      const owner = isObject(message) ? this.kept.get(message) : undefined
      return owner === undefined ? undefined : { message: message as Contribution, owner }
    }
  }

  private contribution(message: ContributionInput, owner: Owner, weight = 1): Contribution {
    this.session.admit(weight)
    return toContribution(message, owner, this.repaired(owner))
  }

  private repaired(who: string): (at: string) => void {
    return (at) => this.reporter.report({ kind: 'repaired', plugin: who, seam: 'inbox', problem: `${at} had a lone surrogate; it was replaced` })
  }

  withdraw(prompt: number, reason: string, letter?: string): void {
    this.session.append({ type: 'prompt/withdrawn', data: { prompt, reason: reason.toWellFormed(), ...(letter !== undefined && { letter }) } })
    this.outputs.delete(prompt)
    this.take(prompt)?.settle(withdrawnResult(reason))
  }

  /** Withdraws the steers that wait, and the prompts too where it is said so. */
  withdrawAll(reason: string, queue: 'keep' | 'withdraw'): void {
    for (const { seq, steer } of this.session.ledger.queue) {
      if (steer || queue === 'withdraw') this.withdraw(seq, reason)
    }
  }

  /** What the answer to a prompt must be; from the log where another process took the prompt. */
  outputOf(prompt: number): Parameters | undefined {
    const known = this.outputs.get(prompt)
    if (known) return known
    const event = this.session.at(prompt)
    return event?.type === 'prompt/queued' && event.data.output ? toOutputSchema(event.data.output) : undefined
  }

  /** Drops the output schema of a prompt whose turn ended. */
  forget(prompt: number): void {
    this.outputs.delete(prompt)
  }

  private cancel(prompt: number, reason: string): void {
    if (this.session.ledger.isQueued(prompt)) this.withdraw(prompt, reason)
    else this.stop(reason)
  }

  /** The handle of a prompt that is taken. */
  take(prompt: number | undefined): PendingTurn {
    const pending = prompt === undefined ? undefined : this.handles.get(prompt)
    if (pending) this.handles.delete(prompt!)
    return pending ?? pendingTurn(prompt, Promise.resolve(), this.stop)
  }

  /** Settles everything that waits: its turn will not come in this process. */
  close(reason: 'withdrawn' | 'parked' | 'error', message: string): void {
    for (const pending of [...this.handles.values(), ...this.takeSteers()]) pending.settle({ ...withdrawnResult(message), reason })
    this.handles.clear()
  }
}

/** A contribution as people write it, which needs no role. */
function isContribution(message: ContributionInput | MessageInput): message is ContributionInput {
  return !isObject(message) || !('role' in message) || 'key' in message
}
