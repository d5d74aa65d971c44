import type { Context } from 'cordis'
import { distanceOf, nearest } from '@headrace/message'
import { type Hook, Hooks, pluginOfHook } from './listener-owner.ts'
import type { Reporter } from './report.ts'

/**
 * Every event under a name of ours; a test holds them to what is declared. Those of the loader and of skills are here
 * as a slip in them is as silent.
 */
export const EVENTS: readonly string[] = Object.freeze([
  'agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request', 'agent/request-messages',
  'agent/request-error', 'agent/turn-stopping', 'agent/report',
  'tools/pre-execute', 'tools/ask', 'tools/execute', 'tools/post-execute', 'llm/stream', 'session/event',
  'compaction/keep', 'loader/report', 'skills/diagnostic',
])

const SPACES = ['agent', 'tools', 'llm', 'session', 'loader', 'skills'] as const

/** Prefixes that are easily mistaken for ours, and unlikely to be an app's own. */
const LIKE_OURS: ReadonlySet<string> = new Set([
  'agent', 'tool', 'llm', 'session', 'model', 'turn', 'step', 'prompt', 'call', 'headrace', 'hook', 'seam', '',
])

/** Events that two words behind the slash identify by themselves; `request-error` does not: apps use it too. */
const TELLING = [
  'agent/prompt-submit', 'agent/pre-step', 'agent/session-prefix', 'agent/request-messages', 'agent/turn-stopping',
  'tools/pre-execute', 'tools/post-execute',
]

/** Those that no app would use for its own, whatever the prefix. */
const OWN_WORDS: ReadonlySet<string> = new Set(TELLING.slice(0, 5).map((event) => plain(tailOf(event))))

/** Names of the same hook in other agent frameworks. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  SessionStart: 'agent/session-prefix', PreCompact: 'agent/pre-step', Stop: 'agent/turn-stopping', SubagentStop: 'agent/turn-stopping',
}

/** Synonyms in names of hooks; words without a meaning of their own map to nothing. */
const SAME_WORDS: Readonly<Record<string, string>> = {
  before: 'pre', after: 'post', use: 'execute', call: 'execute', run: 'execute', exec: 'execute', execution: 'execute',
  submission: 'submit', stop: 'stopping', end: 'stopping', on: '', hook: '', user: '', headrace: '', agent: '',
}

/** Each listener is reported once, by whichever agent comes first. */
const told = new WeakSet<Hook>()

/** Reports listeners of events that nobody dispatches: Cordis takes any name, and a deny rule under a mistyped one denies nothing. */
export function reportUnknownEvents(root: Context, agent: string, reporter: Reporter): void {
  const hooks = new Hooks(root)
  for (const event of hooks.events()) {
    if (EVENTS.includes(event)) continue
    const meant = meaningOf(event)
    if (meant === undefined) continue
    for (const hook of hooks.of(event, agent)) {
      if (told.has(hook)) continue
      told.add(hook)
      const problem = `there is no such event, so it is never called${meant}`
      reporter.report({ kind: 'unknown', plugin: pluginOfHook(hook), seam: event, problem })
    }
  }
}

/** What is known of event names: a turn asks for all of them again, and the comparison costs more than a step. */
const meanings = new Map<string, string | undefined>()

function meaningOf(event: string): string | undefined {
  if (meanings.has(event)) return meanings.get(event)
  if (meanings.size >= 1_000) meanings.clear()
  const meant = meantBy(event)
  meanings.set(event, meant)
  return meant
}

/** A suggestion for an unknown event name; `undefined` where it may be an app's own event. */
function meantBy(event: string): string | undefined {
  const meant = ELSEWHERE[event] ?? sameName(event) ?? sameWords(event) ?? sameTail(event)
  if (meant !== undefined) return `; did you mean ${JSON.stringify(meant)}?`
  const [space] = event.split('/', 1) as [string]
  const spaces: readonly string[] = SPACES
  if (event.includes('/') && spaces.includes(space)) {
    return nearest(event, EVENTS) || `; there is ${EVENTS.filter((one) => one.startsWith(`${space}/`)).join(', ')}`
  }
  // A slip in both parts: `agents/pre-stpe`.
  return event.includes('/') && LIKE_OURS.has(plain(space)) ? nearest(event, EVENTS) || undefined : undefined
}

/** `tool/preexecute`, `turn/stopping`: the same letters, but for one in eight, as an event or what stands behind its slash. */
function sameName(event: string): string | undefined {
  const name = lettersOf(event)
  const isNear = (other: string): boolean => other.length > 6 && distanceOf(name, other) <= Math.floor(Math.max(8, other.length) / 8)
  return EVENTS.find((known) => lettersOf(known) === name)
    ?? TELLING.find((known) => isNear(lettersOf(tailOf(known))))
    ?? EVENTS.find((known) => isNear(lettersOf(known)))
}

/** `PreToolUse`, `beforeToolCall`, `step/before`: the same words, in any order. */
function sameWords(event: string): string | undefined {
  const words = wordsOf(event)
  return TELLING.find((known) => wordsOf(known) === words)
}

function wordsOf(name: string): string {
  const words = plain(name).split(' ').map((word) => SAME_WORDS[word] ?? word)
  return [...new Set(words.filter((word) => word !== ''))].sort().join(' ')
}

/** `call/pre-execute`, `toolz/pre-execute`: the name behind the slash, and something like our word in front of it. */
function sameTail(event: string): string | undefined {
  const slash = event.indexOf('/')
  const [space, word] = [event.slice(0, Math.max(0, slash)), plain(event.slice(slash + 1))]
  const known = EVENTS.find((one) => plain(tailOf(one)) === word)
  const isSlip = slash > 4 && nearest(space, SPACES) !== ''
  const isOurs = OWN_WORDS.has(word) || isSlip || (slash < 0 ? word.includes(' ') : LIKE_OURS.has(plain(space)))
  return isOurs ? known : undefined
}

function tailOf(event: string): string {
  return event.slice(event.indexOf('/') + 1)
}

function lettersOf(name: string): string {
  return plain(name).replaceAll(' ', '')
}

/** A name without its spelling variants: case, separators, camel case, the plural. */
function plain(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z0-9]+/)
  return words.map((word) => word.replace(/(?<=..)s$/, '')).join(' ').trim()
}
