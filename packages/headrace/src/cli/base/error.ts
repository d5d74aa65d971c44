import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { HeadraceError, messageOf } from '@headrace/message'

/** Exit codes of the command. */
export const DONE = 0
export const FAILED = 1
export const USAGE = 2
/**
 * The turn is done, and its last answer is none or not a whole one: refused, cut off at the output limit, empty, or
 * stopped for a reason of its own.
 */
export const NO_ANSWER = 3
/** The turn is done, and calls were denied that no person said no to: nobody was there to ask, or a rule denied them. */
export const DENIED = 4
export const CANCELLED = 130

/** An invalid command line: exit code 2. The message says what to type instead. */
export class UsageError extends HeadraceError {
  constructor(problem: string) {
    super('USAGE', problem)
  }
}

/** A command that failed: exit code 1. */
export class CommandError extends HeadraceError {
  constructor(problem: string, options?: ErrorOptions) {
    super('COMMAND_FAILED', problem, options)
  }
}

/** The lines to show for an error, with its stack if asked for. An app's file may have several problems, a line each. */
export function describeError(error: unknown, debug: boolean): readonly string[] {
  const problems = error instanceof HeadraceError && error.code.startsWith('APP_') ? error.message.split('\n') : [messageOf(error)]
  const stack = debug && !(error instanceof UsageError) ? inspect(error).split('\n') : []
  return [...problems.map((problem) => `headrace: ${problem}`), ...stack]
}

/** Ends the process once the output is flushed, even if a tool or plugin left something running. */
export async function leave(code: number): Promise<never> {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writable) await new Promise<void>((resolve) => stream.write('', () => resolve()))
  }
  process.exit(code)
}

/** Of this package, and of every other of ours: they are published in step. */
export function version(): string {
  return (JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }).version
}
