import { MAX_DEPTH, isOurs } from '@headrace/message'

/**
 * What is wrong with the texts of a parsed value: half a character in one of them, or in a key. `undefined` where nothing is; what is our
 * own copy was looked through when it was made.
 */
export function textProblem(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : LONE
  if (typeof value !== 'object' || value === null || isOurs(value)) return undefined
  if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH}`
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const problem = textProblem(value[index], depth + 1)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  for (const key in value) {
    if (!key.isWellFormed()) return LONE
    const problem = textProblem((value as Record<string, unknown>)[key], depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

const LONE = 'has a lone surrogate, half a character; it is no text'
