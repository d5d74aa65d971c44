import type { Context } from 'cordis'
import { nearest } from '@headrace/message'
import { type Hook, Hooks, pluginOfHook } from './hooks.ts'
import type { Reporter } from './report.ts'

/**
 * Every event under a name of ours; a test holds them to what is declared. Those of the loader and of skills are here
 * as a slip in them is as silent.
 */
export const EVENTS: readonly string[] = Object.freeze([
  'agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request', 'agent/request-messages', 'agent/request-error', 'agent/turn-stopping', 'agent/report',
  'tools/pre-execute', 'tools/ask', 'tools/execute', 'tools/post-execute', 'llm/stream', 'session/event', 'compaction/keep', 'loader/report', 'skills/diagnostic',
])

const SPACES = ['agent', 'tools', 'llm', 'session', 'loader', 'skills'] as const

/** Names behind the slash that are nobody's but ours, whatever stands in front of it. */
const OWN_WORDS: ReadonlySet<string> = new Set(['prompt-submit', 'pre-step', 'session-prefix', 'request-messages', 'turn-stopping'].map(plain))

/** Words in front of the slash that are no name of an app's own, and that one may take for ours. */
const LIKE_OURS: ReadonlySet<string> = new Set(['agent', 'tool', 'llm', 'session', 'model', 'turn', 'step', 'prompt', 'call', 'headrace', 'hook', 'seam', ''])

/** Once each, whichever agent is the first to tell. */
const told = new WeakSet<Hook>()

/** Reports listeners of events that nobody dispatches: Cordis takes any name, and a deny rule under a mistyped one denies nothing. */
export function reportUnknownEvents(root: Context, agent: string, reporter: Reporter): void {
  const hooks = new Hooks(root)
  for (const event of hooks.events()) {
    if (EVENTS.includes(event)) continue
    const meant = meantBy(event)
    if (meant === undefined) continue
    for (const hook of hooks.of(event, agent)) {
      if (told.has(hook)) continue
      told.add(hook)
      reporter.report({ kind: 'unknown', plugin: pluginOfHook(hook), seam: event, problem: `there is no such event, so it is never called${meant}` })
    }
  }
}

/** What was meant by a name that is no event; `undefined` where it may be an event of somebody's own. */
function meantBy(event: string): string | undefined {
  const same = EVENTS.find((known) => plain(known) === plain(event))
  if (same !== undefined) return `; did you mean ${JSON.stringify(same)}?`
  const slash = event.indexOf('/')
  const [space, word] = [event.slice(0, Math.max(0, slash)), event.slice(slash + 1)]
  const known = EVENTS.find((one) => plain(one.slice(one.indexOf('/') + 1)) === plain(word))
  // `toolz/pre-execute`, `sesion/event`.
  const isSlip = slash > 4 && nearest(space, SPACES) !== ''
  const isOurs = OWN_WORDS.has(plain(word)) || isSlip || (slash >= 0 && LIKE_OURS.has(plain(space))) || (slash < 0 && plain(word).includes(' '))
  if (known !== undefined && isOurs) return `; did you mean ${JSON.stringify(known)}?`
  if ((SPACES as readonly string[]).includes(space)) return nearest(event, EVENTS) || `; there is ${EVENTS.filter((one) => one.startsWith(`${space}/`)).join(', ')}`
  // A slip in both parts: `agents/pre-stpe`.
  return slash >= 0 && LIKE_OURS.has(plain(space)) ? nearest(event, EVENTS) || undefined : undefined
}

/** A name without what people write now so, now so: case, `_`, `-`, `.`, `:` and `/`, camel case, the plural. */
function plain(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z0-9]+/)
  return words.map((word) => word.replace(/(?<=..)s$/, '')).join(' ').trim()
}
