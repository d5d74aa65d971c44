import { AgentError } from './error.ts'

/**
 * Rejects unknown options, which would be ignored silently. Their values are not shown, since one may be a key.
 *
 * @param at what takes the options, e.g. `agents.create`
 * @throws AgentError
 */
export function checkOptions(at: string, options: object, known: readonly string[]): void {
  // A caller in JavaScript may pass anything.
  const given: unknown = options
  checkOption(at, typeof given === 'object' && given !== null && !Array.isArray(given), `takes { ${known.join(', ')} }`)
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new AgentError('OPTION_UNKNOWN', `${at} has no option ${JSON.stringify(unknown)}; it has ${known.join(', ')}`)
}

/** @throws AgentError for an option of a wrong type or value */
export function checkOption(at: string, fits: boolean, expected: string): void {
  if (!fits) throw new AgentError('OPTION_INVALID', `${at} ${expected}`)
}

/** The names of an interface's fields; the compiler sees to it that none is missing. */
export function namesOf<T>(fields: Readonly<Record<keyof T, true>>): readonly string[] {
  return Object.keys(fields)
}
