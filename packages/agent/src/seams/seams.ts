import type { Context } from 'cordis'
import { type Chunk, type Failure, type Owner, type Request, type UserMessage, toContent } from '@headrace/message'
import type { Entry, OwnedConfig, Signed } from '@headrace/session'
import type { Agent } from '../contract/agent.ts'
import { configRule } from './config-rule.ts'
import { type Piece, type Pieces, keepRule, mergeList, messagesRule, prefixRule, wireOrder } from './contribution.ts'
import { type Decided, callRule, permissionRule } from './decided.ts'
import { decisionRule, describe, errorRule } from './decision-rule.ts'
import type { ErrorDecision, StepDecision, Submission } from '../contract/events.ts'
import { hasString, isPlainObject, strayKey } from './guards.ts'
import { type Departures, type Hook, Hooks, pluginOfHook } from './listener-owner.ts'
import type { Outcomes } from './outcome.ts'
import { type Reporter, emitGuarded, problemOf } from './report.ts'
import { ownerOf } from './owner.ts'
import { type SeamRule, type SeamRun, cancelled, dispatchSeam, unwrap } from './dispatch.ts'
import { dispatchStream } from './stream-dispatch.ts'
import type { Permission, CallDecision, ToolCall, ToolOutcome, ToolOutput } from '../contract/tool.ts'
import type { Step, Turn } from '../contract/turn.ts'

const NOTHING: readonly never[] = Object.freeze([])
const NO_MESSAGES = Object.freeze({ before: NOTHING, after: NOTHING })

/** The outcome of `agent/prompt-submit`. */
export type Submitted = { readonly block: string } | { readonly rewritten?: Signed<UserMessage>; readonly contexts: readonly Piece[] }

/** The outcome of `tools/post-execute`. */
export interface Finished {
  readonly outcome: ToolOutcome
  /** Who replaced the tool's outcome. */
  readonly owner?: Owner
  readonly contexts: readonly Piece[]
}

/** The seams of one agent; each follows its row of the table in docs/design.md, section 4. */
export class Seams {
  private readonly hooks: Hooks
  private readonly agent: string
  private readonly view: (plugin: string) => Agent
  private readonly departures: Departures
  private readonly reporter: Reporter
  /** Milliseconds that a listener may take. */
  private readonly deadline: number
  private readonly outcomes: Outcomes

  constructor(options: {
    ctx: Context; agent: string; view: (plugin: string) => Agent; departures: Departures; reporter: Reporter
    deadline: number; outcomes: Outcomes
  }) {
    this.hooks = new Hooks(options.ctx)
    this.agent = options.agent
    this.view = options.view
    this.departures = options.departures
    this.reporter = options.reporter
    this.deadline = options.deadline
    this.outcomes = options.outcomes
  }

  /** The current listeners of a seam. */
  listeners(seam: string): readonly Hook[] {
    return this.hooks.of(seam, this.agent)
  }

  promptSubmit(turn: Turn, submission: Submission): Promise<Submitted> {
    return this.dispatch('agent/prompt-submit', turn, [submission], this.promptRule(), (): Submitted => ({ contexts: NOTHING }))
  }

  private promptRule(): SeamRule<Submitted> {
    const merge = { seam: 'agent/prompt-submit', key: 'prompt-submit', reporter: this.reporter, decides: true } as const
    return {
      show: (value) => ('block' in value ? value : Object.freeze({ ...(value.rewritten && { input: value.rewritten.message.content }), additionalContext: Object.freeze(value.contexts.map((piece) => piece.message)) })),
      accept: async (returned, from, below, called) => {
        if (!isPlainObject(returned)) throw new TypeError(`returned ${describe(returned)}, not { input?, additionalContext? } or { block }`)
        if (hasString(returned, 'block')) return { block: returned.block.toWellFormed() }
        if (strayKey(returned, 'input', 'additionalContext') !== undefined) throw new TypeError(`returned ${describe(returned)}; only input and additionalContext, or block, can be told here`)
        const others = called ? await below() : undefined
        const contexts = mergeList(returned.additionalContext ?? NOTHING, from, others && 'contexts' in others ? others.contexts : NOTHING, merge)
        const theirs = others && 'rewritten' in others ? others.rewritten : undefined
        if (returned.input === undefined) return { contexts }
        if (theirs && returned.input === theirs.message.content) return { contexts, rewritten: theirs }
        // The text is the plugin's now, so the plugin signs it (L14).
        const plugin = pluginOfHook(from)
        return { contexts, rewritten: { message: { role: 'user', content: toContent(returned.input, `${plugin}: input`) }, owner: ownerOf(plugin, undefined, 'prompt-submit') } }
      },
    }
  }

  /** No deadline: compaction may take its time. */
  preStep(turn: Turn, step: Step): Promise<StepDecision> {
    const rule = decisionRule("'go' or { stop }", (value): value is StepDecision => value === 'go' || hasString(value, 'stop'))
    return this.dispatch('agent/pre-step', turn, [step], rule, (): StepDecision => 'go', 'none')
  }

  sessionPrefix(turn: Turn): Promise<readonly Piece[]> {
    return this.dispatch('agent/session-prefix', turn, [NOTHING], prefixRule(this.reporter), (): readonly Piece[] => NOTHING)
  }

  request(turn: Turn, step: Step, seed: OwnedConfig): Promise<OwnedConfig> {
    return this.dispatch('agent/request', turn, [step, seed.config], configRule(seed, this.reporter), () => seed)
  }

  requestMessages(turn: Turn, step: Step): Promise<Pieces> {
    return this.dispatch('agent/request-messages', turn, [step, NO_MESSAGES], messagesRule(this.reporter), (): Pieces => NO_MESSAGES)
  }

  requestError(turn: Turn, step: Step, failure: Failure): Promise<ErrorDecision> {
    const seam = 'agent/request-error'
    // A backoff waits here, so there is no deadline but the turn's signal.
    return this.dispatch(seam, turn, [step, failure], errorRule, (): ErrorDecision => 'fail', 'none').catch((error: unknown) => {
      if (turn.signal.aborted) throw error
      this.reporter.failed(error, seam)
      return 'fail'
    })
  }

  preExecute(turn: Turn, call: ToolCall, own: () => Promise<CallDecision>): Promise<Decided<CallDecision>> {
    const inner = async (): Promise<Decided<CallDecision>> => ({ decision: await own(), by: undefined, over: false })
    return this.dispatch('tools/pre-execute', turn, [call], callRule, inner)
  }

  /** No deadline: a person may take their time. @param signal aborted when the question was answered elsewhere, too */
  ask(
    turn: Turn, call: ToolCall, question: string, signal: AbortSignal, inner: () => Promise<Decided<Permission>>,
  ): Promise<Decided<Permission>> {
    return this.dispatch('tools/ask', turn, [call, question], permissionRule, inner, 'none', signal)
  }

  /** A listener may take as long as the tool. `signal` is aborted later than the turn's: a running tool gets a moment to finish. */
  execute(turn: Turn, call: ToolCall, limit: number, signal: AbortSignal, run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    const rule: SeamRule<ToolOutcome> = {
      accept: (returned) => {
        if (returned === undefined) throw new TypeError('returned nothing, not an outcome')
        return this.outcomes.read(returned as ToolOutput, `${call.name} result`)
      },
    }
    return this.dispatch('tools/execute', turn, [call], rule, run, limit, signal)
  }

  postExecute(turn: Turn, call: ToolCall, outcome: ToolOutcome): Promise<Finished> {
    return this.dispatch('tools/post-execute', turn, [call, outcome], this.postRule(), (): Finished => ({ outcome, contexts: NOTHING }))
  }

  private postRule(): SeamRule<Finished> {
    const merge = { seam: 'tools/post-execute', key: 'post-execute', reporter: this.reporter } as const
    return {
      show: ({ outcome, contexts }) => Object.freeze({ outcome, additionalContext: Object.freeze(contexts.map((piece) => piece.message)) }),
      accept: async (returned, from, below, called) => {
        const others = await below()
        const { value, rewrap } = unwrap(returned)
        if (!isPlainObject(value) || strayKey(value, 'outcome', 'additionalContext') !== undefined) throw new TypeError(`returned ${describe(value)}, not { outcome?, additionalContext? }`)
        const contexts = mergeList(rewrap(value.additionalContext ?? NOTHING), from, others.contexts, { ...merge, called })
        if (value.outcome === undefined || value.outcome === others.outcome) return { ...others, contexts }
        return { contexts, outcome: await this.outcomes.read(value.outcome as ToolOutput, 'outcome'), owner: ownerOf(pluginOfHook(from), undefined, 'post-execute') }
      },
    }
  }

  /** A compaction by hand has no turn, so its listeners get none. In wire order. */
  async keep(entries: readonly Entry[], signal: AbortSignal): Promise<readonly Piece[]> {
    const seam = 'compaction/keep'
    const run: SeamRun = {
      hooks: this.hooks, seam, signal, departures: this.departures, deadline: this.deadline,
      args: (plugin) => [this.view(plugin), entries],
    }
    const none = (): readonly Piece[] => NOTHING
    return wireOrder(await dispatchSeam(run, keepRule(this.reporter), none, this.hooks.of(seam, this.agent)))
  }

  /** Calls each listener in turn; one that throws is reported and skipped. */
  async turnStopping(turn: Turn): Promise<void> {
    const seam = 'agent/turn-stopping'
    for (const hook of this.hooks.of(seam, this.agent)) {
      if (!this.hooks.has(seam, hook)) continue
      const alone: SeamRule<void> = { accept: () => undefined }
      const run = this.run(seam, turn, [], this.deadline)
      await dispatchSeam(run, alone, () => undefined, [hook]).catch((error: unknown) => {
        if (turn.signal.aborted) throw cancelled(turn.signal)
        this.reporter.report({ kind: 'failed', plugin: pluginOfHook(hook), seam, problem: problemOf(error) })
      })
    }
  }

  stream(turn: Turn, request: Request, inner: () => AsyncIterable<Chunk>): AsyncIterable<Chunk> {
    return dispatchStream(this.hooks.of('llm/stream', this.agent), (plugin) => [this.view(plugin), turn, request], inner)
  }

  /** `session/event`, for plugins that watch. */
  sessionEvent(event: unknown): void {
    const seam = 'session/event'
    for (const hook of this.hooks.of(seam, this.agent)) {
      const plugin = pluginOfHook(hook)
      emitGuarded([hook], [this.view(plugin), event], (_, error) => this.reporter.report({ kind: 'failed', plugin, seam, problem: problemOf(error) }))
    }
  }

  private dispatch<T>(seam: string, turn: Turn, payload: readonly unknown[], rule: SeamRule<T>, inner: () => Promise<T> | T, deadline: number | 'none' = this.deadline, signal = turn.signal): Promise<T> {
    return dispatchSeam(this.run(seam, turn, payload, deadline, signal), rule, inner, this.hooks.of(seam, this.agent))
  }

  private run(seam: string, turn: Turn, payload: readonly unknown[], deadline: number | 'none', signal = turn.signal): SeamRun {
    return {
      hooks: this.hooks, seam, signal, departures: this.departures,
      deadline: deadline === 'none' ? undefined : deadline,
      args: (plugin) => [this.view(plugin), turn, ...payload],
    }
  }
}
