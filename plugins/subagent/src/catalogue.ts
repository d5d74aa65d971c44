import { byCodeUnits } from '@headrace/files'
import type { Definition } from './definition.ts'

/** UTF-16 units of the whole list; descriptions are left out where they do not fit. */
const MAX_LENGTH = 16_000

/** The topic's text: which agents files define, and for what. Nothing where there are none. */
export function catalogueOf(definitions: Iterable<Definition>): string | undefined {
  const list = [...definitions].sort((a, b) => byCodeUnits(a.name, b.name))
  if (list.length === 0) return undefined
  const full = listed(list.map(({ name, description }) => `- ${name}: ${escaped(description)}`))
  if (full.length <= MAX_LENGTH) return full
  return listed(list.map(({ name }) => `- ${name}`)).slice(0, MAX_LENGTH)
}

export function changedCatalogue(text: string): string {
  return `The agents for the subagent tool have changed. These are all there are now:\n${text}`
}

export function removedCatalogue(): string {
  return 'There are no agents for the subagent tool any more that have a name; without one it still works.'
}

function listed(lines: readonly string[]): string {
  return ['<available_subagents>', 'Kinds of subagents, which the subagent tool takes as agent.', ...lines, '</available_subagents>'].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
