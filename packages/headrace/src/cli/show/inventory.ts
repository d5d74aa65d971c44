import type { Registration } from '@headrace/cordis'
import type { Part } from '../base/inventory.ts'
import { count, shownSize, table } from '../base/text.ts'

/** What is loaded, a row for each plugin, and what a first request costs. */
export function* linesOf(parts: readonly Part[]): Generator<string> {
  const rows = parts.map((part) => [part.id, part.tokens === 0 ? '-' : `~${count(part.tokens)}`, part.bytes === 0 ? '-' : shownSize(part.bytes), broughtBy(part)])
  yield* table([['plugin', 'tokens', 'size', 'what it brings'], ...rows])
  const costs = parts.flatMap(({ costs: own }) => own)
  const tokens = (list: typeof costs): number => list.reduce((sum, cost) => sum + cost.tokens, 0)
  yield ''
  yield `a first request: ~${count(tokens(costs))} tokens of theirs; ~${count(tokens(costs.filter(({ kind }) => kind === 'after')))} of them last, paid again on every request`
}

/** `tools bash ~120, edit ~90; topics project ~40; listens agent/pre-step 2`. */
function broughtBy({ registered, costs, plugin }: Part): string {
  const groups = new Map<string, string[]>()
  const seen = new Map<string, number>()
  for (const { what, key } of registered) {
    const name = `${what} ${key ?? ''}`
    seen.set(name, (seen.get(name) ?? 0) + 1)
    if (seen.get(name) === 1) groups.set(what, [...(groups.get(what) ?? []), key ?? ''])
  }
  const shown = [...groups].map(([what, keys]) => {
    const items = keys.sort().map((key) => itemOf({ what, key }, costs, plugin, seen.get(`${what} ${key}`)!))
    return `${WORDS[what] ?? what} ${items.join(', ')}`.trimEnd()
  })
  // Contributions without a registration: those of listeners.
  const keys = new Set(registered.map(({ key }) => `${plugin}/${key}`))
  const said = costs.filter(({ owner }) => !keys.has(owner)).map(({ kind, owner, tokens }) => `${kind} ${owner.slice(plugin.length + 1)} ~${count(tokens)}`)
  return [...shown, ...said].join('; ')
}

/** Names for common registrations; others are shown as they are. */
const WORDS: Readonly<Record<string, string>> = {
  'provide': 'services', 'on': 'listens', 'tools.define': 'tools', 'system.section': 'sections', 'briefing.topic': 'topics',
  'agents.prefix': 'prefix', 'agents.before': 'before', 'agents.after': 'after', 'llm.adapter': 'models', 'sessions.store': 'the store',
}

function itemOf({ what, key }: Registration, costs: Part['costs'], plugin: string, times: number): string {
  const own = what === 'on' || what === 'provide' ? [] : costs.filter((cost) => cost.owner === `${plugin}/${key}` && isOf(what, cost.kind))
  const tokens = own.reduce((sum, cost) => sum + cost.tokens, 0)
  return `${key}${times > 1 ? ` ×${times}` : ''}${tokens > 0 ? ` ~${count(tokens)}` : ''}`
}

/** A tool, a section and a topic may have one key. */
function isOf(what: string, kind: Part['costs'][number]['kind']): boolean {
  if (what === 'tools.define') return kind === 'tool'
  return what === 'system.section' ? kind === 'system' : kind !== 'tool' && kind !== 'system'
}
