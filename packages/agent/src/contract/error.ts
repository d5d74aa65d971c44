import { type Failure, HeadraceError, defined, isA, messageOf } from '@headrace/message'
import type { ErrorRecord } from '@headrace/session'

/** A listener that broke the contract of its seam: threw, was late, called `next()` twice, returned the wrong type, lost a contribution. */
export class SeamError extends HeadraceError {
  readonly plugin: string
  readonly seam: string
  /** The message without who and where. */
  readonly problem: string

  constructor(plugin: string, seam: string, problem: string, options?: ErrorOptions) {
    super('SEAM_FAILED', `plugin ${plugin} in ${seam}: ${problem}`, options)
    this.plugin = plugin
    this.seam = seam
    this.problem = problem
  }
}

/** The turn was cancelled. */
export class CancelledError extends HeadraceError {
  constructor(reason: string, code = 'CANCELLED') {
    super(code, reason)
  }
}

/** The turn stops here, and goes on where its session is resumed. */
export class ParkedError extends CancelledError {
  constructor() {
    super('the agent was parked; its session goes on when it is resumed', 'PARKED')
  }
}

/** The turn reached one of its limits. */
export class LimitError extends HeadraceError {
  constructor(limit: string, value: number) {
    super('LIMIT_REACHED', `the turn reached its limit of ${value} ${limit === 'time' ? 'ms' : limit} (limits.${limit}); raise it if that is too little`)
  }
}

/** Something that the agent cannot do now; the message says what to do instead. */
export class AgentError extends HeadraceError {}

/** An attempt that failed at the provider or on the way there. The message holds no key. */
export class ModelError extends HeadraceError {
  readonly failure: Failure

  constructor(failure: Failure, options?: ErrorOptions) {
    super('MODEL_FAILED', failure.message, options)
    // It goes into the log: a provider's words may be cut in the middle of a character.
    this.failure = Object.freeze({ ...defined(failure), message: messageOf(this) })
  }
}

/** An error as the log keeps it. */
export function toRecord(error: unknown): ErrorRecord {
  const message = messageOf(error)
  if (isA(error, SeamError)) return { code: error.code, message, plugin: error.plugin, seam: error.seam }
  if (isA(error, ModelError)) return { code: error.code, message, failure: error.failure }
  return { code: isA(error, HeadraceError) ? error.code : 'UNEXPECTED', message }
}
