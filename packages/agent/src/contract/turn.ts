import type { UserMessage } from '@headrace/message'

/** A turn as the seams see it. Frozen. */
export interface Turn {
  /** From 1. */
  readonly number: number
  /** Aborted when the turn is cancelled. */
  readonly signal: AbortSignal
  /** What woke it, as accepted: absent where a message, a steer of a plugin or `wake()` did. */
  readonly prompt?: UserMessage
  /** True for a turn that a resume goes on with. */
  readonly continue?: true
}

/** A step as the seams see it. Frozen. */
export interface Step {
  /** From 1, within the turn. */
  readonly number: number
  /** From 1, within the step. */
  readonly attempt: number
  /** The seq of its `step/start`; absent in `agent/pre-step`, which comes before it. */
  readonly boundary?: number
  /** True where the turn goes on after a resume. */
  readonly continue?: true
}
