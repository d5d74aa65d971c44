import type { CallConfig, Chunk, ContentInput, ContributionInput, Contribution, Failure, Request, UserMessage } from '@headrace/message'
import type { CallRef, Entry, SessionEvent } from '@headrace/session'
import type { Agent } from './agent.ts'
import type { Permission, CallDecision, ToolCall, ToolOutcome, ToolOutput } from './tool.ts'
import type { Step, Turn } from './turn.ts'

/** What `agent/request-messages` returns: framing around the history, for this request only. */
export interface RequestMessages {
  readonly before: readonly ContributionInput[]
  readonly after: readonly ContributionInput[]
}

/**
 * Something that went wrong and did not stop the agent: who, where, what. Also in Cordis' log. `unknown`: `seam` is no
 * event that there is. `secret`: a key was said.
 */
export interface Report {
  readonly kind: 'lost' | 'late' | 'failed' | 'repaired' | 'loading' | 'unknown' | 'secret'
  readonly plugin: string
  readonly seam: string
  readonly problem: string
}

/** A listener that replaced what others contributed, on purpose. */
export interface OverrideNote {
  readonly plugin: string
  readonly seam: string
  readonly reason: string
  /** Owners of what was left out. */
  readonly dropped: readonly string[]
}

/** A session that works for a call of this one. */
export interface ChildNote extends CallRef {
  /** Its id. */
  readonly session: string
  /** The seq of its log that its work for this call begins at: what it used from there on is the call's. */
  readonly from?: number
}

declare module '@headrace/session' {
  interface EventMap {
    /** A listener left out what others contributed, on purpose (L15). Never surface. */
    'agent/override': OverrideNote
    /**
     * A session was made under a call, or goes on for one. The tool appends it, and flushes, before that session is given anything: where
     * the call is cut off its result says which session it was, how far it came and what it said last. Never surface.
     */
    'agent/child': ChildNote
  }
}

/** A prompt on its way in. */
export interface Submission {
  readonly input: UserMessage
  /** It joins a running turn. */
  readonly steer: boolean
}

/** `agent/prompt-submit`: allow, perhaps with another input or with context to stand behind it, or block. */
export type PromptDecision =
  | { readonly input?: ContentInput; readonly additionalContext?: readonly ContributionInput[] }
  | { readonly block: string }

/** `agent/pre-step`. */
export type StepDecision = 'go' | { readonly stop: string }

/** `agent/request-error`. A `config` is a substitute: its fields replace the seed's for this step only. */
export type ErrorDecision = 'fail' | 'retry' | 'restep' | { readonly retry: { readonly config?: Partial<CallConfig> } }

/** `tools/post-execute`: what the model is told; an `outcome` of its own replaces the tool's. */
export interface PostExecution {
  readonly outcome?: ToolOutput
  /** Stands behind the batch's last result. With a key it is signed `plugin/key`, which is how a topic is told here. */
  readonly additionalContext?: readonly ContributionInput[]
}

/** What `next()` gives in `tools/post-execute`. */
export interface PostExecuted {
  readonly outcome: ToolOutcome
  readonly additionalContext: readonly Contribution[]
}

declare module 'cordis' {
  interface Events {
    /** A prompt or a steer of the app is about to become a user message. */
    'agent/prompt-submit'(agent: Agent, turn: Turn, submission: Submission, next: () => Promise<PromptDecision>): Promise<PromptDecision>
    /** Ahead of a boundary: the seam for content that must reach the coming request, and for `agent.replace()`. */
    'agent/pre-step'(agent: Agent, turn: Turn, step: Step, next: () => Promise<StepDecision>): Promise<StepDecision>
    /** Once per loop instance: openers that are frozen for its life (L5). */
    'agent/session-prefix'(agent: Agent, turn: Turn, prefix: readonly Contribution[], next: () => Promise<readonly Contribution[]>): Promise<readonly ContributionInput[]>
    /** Config only (L6). What is returned is state: it stays until someone returns otherwise. */
    'agent/request'(agent: Agent, turn: Turn, step: Step, config: CallConfig, next: () => Promise<CallConfig>): Promise<CallConfig>
    /** Framing of this request only: before and after the history (L7). */
    'agent/request-messages'(agent: Agent, turn: Turn, step: Step, messages: RequestMessages, next: () => Promise<RequestMessages>): Promise<RequestMessages>
    /** An attempt failed, or a request does not fit. */
    'agent/request-error'(agent: Agent, turn: Turn, step: Step, failure: Failure, next: () => Promise<ErrorDecision>): Promise<ErrorDecision>
    /** Nothing is owed. A listener that steers keeps the turn alive. */
    'agent/turn-stopping'(agent: Agent, turn: Turn): Promise<void> | void
    /** Something went wrong and did not stop the agent. */
    'agent/report'(agent: Agent, report: Report): void
    /** Judges the arguments that will run. */
    'tools/pre-execute'(agent: Agent, turn: Turn, call: ToolCall, next: () => Promise<CallDecision>): Promise<CallDecision>
    /** Asks somebody. No deadline; nobody to answer means deny. */
    'tools/ask'(agent: Agent, turn: Turn, call: ToolCall, question: string, next: () => Promise<Permission>): Promise<Permission>
    /** Runs a call: a sandbox does it elsewhere. */
    'tools/execute'(agent: Agent, turn: Turn, call: ToolCall, next: () => Promise<ToolOutcome>): Promise<ToolOutput>
    'tools/post-execute'(agent: Agent, turn: Turn, call: ToolCall, outcome: ToolOutcome, next: () => Promise<PostExecuted>): Promise<PostExecution>
    /** Streams a request; a replay does it without a model. */
    'llm/stream'(agent: Agent, turn: Turn, request: Request, next: () => AsyncIterable<Chunk>): AsyncIterable<Chunk>
    /**
     * A part of the history is about to give way to a summary, or to be cut. What is given here is told behind it, signed by who gave it:
     * each compaction asks anew, with what was told then among `entries`.
     */
    'compaction/keep'(agent: Agent, entries: readonly Entry[], next: () => Promise<readonly Contribution[]>): Promise<readonly ContributionInput[]>
    /** After an append; guarded, what is returned is ignored. */
    'session/event'(agent: Agent, event: SessionEvent): void
  }
}
