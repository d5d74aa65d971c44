import type { CallConfig, MessageInput } from '@headrace/message'
import type { RunContext } from '@headrace/run-context'
import type { RequestBudget } from '@headrace/tokens'
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
  readonly limits?: Partial<Limits>
  readonly strict?: boolean
  /** Says what is true for each turn, when it starts. */
  readonly context?: ContextProvider
  /** Refuses requests that their model's window cannot hold. Count what others billed with a counter per budget. */
  readonly budget?: RequestBudget
  /** The history so far. On `create` it begins the log; on `resume` it is compared with the log, which is refused where they differ. */
  readonly seed?: readonly MessageInput[]
}

/** Options of `ctx.agents.create()`. */
export interface CreateOptions extends AgentOptions {
  /** Default: made of the time and a random part. */
  readonly id?: string
}

/** Options of `ctx.agents.resume()`. */
export interface ResumeOptions extends AgentOptions {
  /** What becomes of a turn that was cut off: it goes on (the default), or ends `lost`. */
  readonly turn?: 'continue' | 'close'
}

/** Options of `ctx.agents.fork()`. */
export interface ForkOptions extends ResumeOptions {
  /** The last event that the child has. Default: the newest. */
  readonly at?: number
  /** The child's id. Default: made of the time and a random part. */
  readonly id?: string
}

