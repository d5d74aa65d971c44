import type { Context } from 'cordis'
import { nearest } from '@headrace/message'
import { type Hook, Hooks, pluginOfHook } from './hooks.ts'
import type { Reporter } from './report.ts'

/** Every event under a name of ours; a test holds them to what is declared. Those of the loader and of skills are here as a slip in them is as silent. */
export const EVENTS: readonly string[] = Object.freeze([
  'agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request', 'agent/request-messages', 'agent/request-error', 'agent/turn-stopping', 'agent/report',
  'tools/pre-execute', 'tools/ask', 'tools/execute', 'tools/post-execute', 'llm/stream', 'session/event', 'loader/report', 'skills/diagnostic',
])

const OURS = /^(?:agent|tools|llm|session|loader|skills)\//

/** Once each, whichever agent is the first to tell. */
const told = new WeakSet<Hook>()

/** Reports listeners of events that nobody dispatches: Cordis takes any name, and a deny rule under a mistyped one denies nothing. */
export function reportUnknownEvents(root: Context, agent: string, reporter: Reporter): void {
  const hooks = new Hooks(root)
  for (const event of hooks.events()) {
    if (!OURS.test(event) || EVENTS.includes(event)) continue
    for (const hook of hooks.of(event, agent)) {
      if (told.has(hook)) continue
      told.add(hook)
      reporter.report({ kind: 'unknown', plugin: pluginOfHook(hook), seam: event, problem: `there is no such event, so it is never called${meant(event)}` })
    }
  }
}

function meant(event: string): string {
  const [space] = event.split('/', 1)
  return nearest(event, EVENTS) || `; there is ${EVENTS.filter((known) => known.startsWith(`${space}/`)).join(', ')}`
}
