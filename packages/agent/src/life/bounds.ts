import { defined } from '@headrace/message'
import type { ToolChoice } from '@headrace/session'
import { AgentError } from '../contract/error.ts'
import type { AgentOptions, Widening } from '../contract/options.ts'
import { type Limits, type Settings, toLimits } from '../contract/settings.ts'

/** What a session was created with, as its `session/open` has it. */
interface Opened {
  readonly limits?: Readonly<Record<string, number>>
  readonly tools?: ToolChoice
}

/** What bounds one life of a session. */
export interface Bounds {
  readonly settings: Settings
  readonly tools: ToolChoice | undefined
}

/**
 * The bounds of a life: the app's, narrowed by what the session was created with, narrowed by what is given now. Only `widen` may say more
 * than the log.
 *
 * @throws AgentError, and the schema's own error for a limit that is none
 */
export function boundsOf(app: Settings, opened: Opened, given: AgentOptions & { readonly widen?: Widening }): Bounds {
  const { widen } = given
  const logged = { ...known(opened.limits ?? {}), ...defined(widen?.limits ?? {}) }
  const wanted = toLimits({ ...app.limits, ...logged, ...defined(given.limits ?? {}) })
  const limits = toLimits({ ...wanted, ...narrowed(wanted, logged) })
  return { settings: { ...app, limits, strict: given.strict ?? app.strict }, tools: checkChoice(widen?.tools ?? opened.tools) }
}

/** A newer version may have written limits that this one does not know. */
function known(limits: Readonly<Record<string, number>>): Partial<Limits> {
  const names = Object.keys(toLimits({}))
  return Object.fromEntries(Object.entries(limits).filter(([name]) => names.includes(name)))
}

/** The smaller value of each field; a `time` of 0 means no limit. */
function narrowed(given: Limits, logged: Partial<Limits>): Partial<Limits> {
  const fields = Object.entries(logged).map(([name, value]) => {
    const wanted = given[name as keyof Limits]
    const [a, b] = name === 'time' ? [wanted || Infinity, value || Infinity] : [wanted, value]
    return [name, Math.min(a, b) === Infinity ? 0 : Math.min(a, b)]
  })
  return Object.fromEntries(fields) as Partial<Limits>
}

/** @throws AgentError for what is neither `{ only }` nor `{ without }` of names */
export function checkChoice(choice: ToolChoice | undefined): ToolChoice | undefined {
  if (choice === undefined) return undefined
  const [[key, names] = ['', undefined], ...more] = Object.entries((choice as object | null) ?? {}) as [string, unknown][]
  const isNames = Array.isArray(names) && names.every((name) => typeof name === 'string')
  if (!['only', 'without'].includes(key) || more.length > 0 || !isNames) {
    throw new AgentError('TOOLS_INVALID', 'tools is { only: [names] } or { without: [names] }')
  }
  return choice
}
