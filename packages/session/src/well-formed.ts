import { MAX_DEPTH, depthOfOurs } from '@headrace/message'

/**
 * What is wrong with the texts of a parsed value, or with its nesting: half a character in a text or a key, or more than `MAX_DEPTH`
 * levels. `undefined` where nothing is; the texts of what is our own copy were looked through when it was made.
 *
 * @param level of the value itself, where the outermost is 1
 */
export function textProblem(value: unknown, level = 1): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : LONE
  if (typeof value !== 'object' || value === null) return undefined
  const depth = depthOfOurs(value)
  if (level + (depth ?? 1) - 1 > MAX_DEPTH) return DEEP
  if (depth !== undefined) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const problem = textProblem(value[index], level + 1)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  for (const key in value) {
    if (!key.isWellFormed()) return LONE
    const problem = textProblem((value as Record<string, unknown>)[key], level + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The first keys on the way to what is nested too deeply, such as `.header.tools.3.parameters…`. */
export function deepPlace(value: unknown, level = 1): string {
  const trail = deepTrail(value, level) ?? []
  return trail.slice(0, 6).map((key) => `.${key}`).join('') + (trail.length > 6 ? '…' : '')
}

function deepTrail(value: unknown, level: number): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (level > MAX_DEPTH) return []
  for (const key in value) {
    const trail = deepTrail((value as Record<string, unknown>)[key], level + 1)
    if (trail) return [key, ...trail]
  }
  return undefined
}

const LONE = 'has a lone surrogate, half a character; it is no text'
export const DEEP = `is nested deeper than ${MAX_DEPTH} levels, counted from the event`
