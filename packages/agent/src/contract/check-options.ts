import { AgentError } from './error.ts'

/**
 * Rejects unknown options: ignored, one would look as if it worked. Its value is not shown, for it may be a key.
 *
 * @param at what takes the options, e.g. `agents.create`
 * @throws AgentError
 */
export function checkOptions(at: string, options: object, known: readonly string[]): void {
  // In JavaScript it may be anything.
  const given: unknown = options
  checkOption(at, typeof given === 'object' && given !== null && !Array.isArray(given), `takes { ${known.join(', ')} }`)
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new AgentError('OPTION_UNKNOWN', `${at} has no option ${JSON.stringify(unknown)}; it has ${known.join(', ')}`)
}

/** @throws AgentError where an option does not fit, which would be heard of late, or never */
export function checkOption(at: string, fits: boolean, expected: string): void {
  if (!fits) throw new AgentError('OPTION_INVALID', `${at} ${expected}`)
}

/** The names of an interface's fields; the compiler sees to it that none is missing. */
export function namesOf<T>(fields: Readonly<Record<keyof T, true>>): readonly string[] {
  return Object.keys(fields)
}
