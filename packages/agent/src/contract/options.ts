import type { CallConfig, MessageInput } from '@headrace/message'
import type { RunContext } from '@headrace/run-context'
import type { ToolChoice, Under } from '@headrace/session'
import type { RequestBudget } from '@headrace/tokens'
import type { Agent } from './agent.ts'
import type { Limits } from './settings.ts'
import type { Turn } from './turn.ts'

/** Gives what is true for a turn, or nothing. */
export type ContextProvider = (turn: Turn) => RunContext | undefined | Promise<RunContext | undefined>

/** What an agent is made with, new or not; a field that is left out is the log's, then the app's. */
export interface AgentOptions {
  /** Folder it works in. Default: the session's, else the process's. */
  readonly cwd?: string
  /** `provider/name`, as `config.model`; beats it, and what the log says. */
  readonly model?: string
  readonly config?: Partial<CallConfig>
  /** On `create` they stand in the log and bound each later life; later they can be made smaller only (see `widen`). */
  readonly limits?: Partial<Limits>
  readonly strict?: boolean
  /** Says what is true for each turn, when it starts. */
  readonly context?: ContextProvider
  /** Refuses requests that their model's window cannot hold. Count what others billed with a counter per budget. */
  readonly budget?: RequestBudget
  /** The history so far. On `create` it begins the log; on `resume` it is compared with the log, which is refused where they differ. */
  readonly seed?: readonly MessageInput[]
  /**
   * Takes the letters that any process posts to the session (`store.post()`), signed `user`: prompts, which wake it, cancels, withdrawals,
   * and answers. One that cannot count is on record as `letter/refused`. Where the session's store fails, or its lease is lost, the agent
   * is parked. Default: only answers, while a question waits.
   */
  readonly mail?: boolean
  /**
   * Called once this life has begun, before the agent does anything. What it returns is called at its end. Where it throws, the agent
   * is parked and nobody gets it.
   */
  readonly setup?: (agent: Agent) => void | (() => void) | Promise<void | (() => void)>
}

/** Options of `ctx.agents.create()`. */
export interface CreateOptions extends AgentOptions {
  /** Default: made of the time and a random part. */
  readonly id?: string
  /** The call of the parent session that it was created for, such as a subagent's. `last` and `--continue` skip it. */
  readonly under?: Under
  /** What kind of session it is, in the creator's words, e.g. `subagent`. */
  readonly kind?: string
  readonly title?: string
  /** Which tools of the app it has, now and in each later life. Default: all. */
  readonly tools?: ToolChoice
}

/** What a life may have beyond what its session was created with. */
export interface Widening {
  readonly tools?: ToolChoice
  readonly limits?: Partial<Limits>
}

/** Options of `ctx.agents.resume()`. */
export interface ResumeOptions extends AgentOptions {
  /**
   * What becomes of a turn that was cut off: it goes on, or ends `lost`. Default: it goes on; one that was being
   * cancelled ends `cancelled`, unless `continue` is said.
   */
  readonly turn?: 'continue' | 'close'
  /** Only what came since the last turn's end is read at once (`session.first`); for what is older there is `session.read()`. */
  readonly recent?: boolean
  /** Takes the place of the tools or limits that the session was created with, for this life. */
  readonly widen?: Widening
}

/** Options of `ctx.agents.fork()`. */
export interface ForkOptions extends ResumeOptions {
  /** The last event that the child has. Default: the newest. */
  readonly at?: number
  /** The child's id. Default: made of the time and a random part. */
  readonly id?: string
}

