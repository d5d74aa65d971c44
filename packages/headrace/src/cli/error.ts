import { HeadraceError, messageOf } from '@headrace/message'
import { inspect } from 'node:util'
import { visible } from './visible.ts'

/** Exit codes of the command. */
export const DONE = 0
export const FAILED = 1
export const USAGE = 2
export const CANCELLED = 130

/** A command line that cannot be: exit code 2. The message says what to type instead. */
export class UsageError extends HeadraceError {
  constructor(problem: string) {
    super('USAGE', problem)
  }
}

/** A command that cannot do what it was asked to: exit code 1. */
export class CommandError extends HeadraceError {
  constructor(problem: string, options?: ErrorOptions) {
    super('COMMAND_FAILED', problem, options)
  }
}

/** The one line a person gets; the stack too where they asked for it. */
export function describeError(error: unknown, debug: boolean): string {
  // An app's file may have several things wrong with it, each on its own line.
  const problems = error instanceof HeadraceError && error.code.startsWith('APP_') ? error.message.split('\n') : [messageOf(error)]
  const line = problems.map((problem) => `headrace: ${visible(problem)}`).join('\n')
  return debug && !(error instanceof UsageError) ? `${line}\n${visible(inspect(error))}` : line
}
