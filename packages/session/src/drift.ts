import { type Owner, sameJson } from '@headrace/message'
import { type EpochHeader, HEADER_FIELDS } from './header.ts'

/** A difference between two headers: the field, the item in it, its owner, and how it changed. */
export interface Drift {
  readonly field: (typeof HEADER_FIELDS)[number]
  /** Name of the config field or tool; number of the section or message, from 0. */
  readonly item: string
  readonly owner: Owner
  readonly change: 'added' | 'removed' | 'changed' | 'moved'
}

/** What drifted between two headers, named by field and owner (L13). Items of a list are matched by content, then by owner. */
export function headerDrift(base: EpochHeader, next: EpochHeader): readonly Drift[] {
  const drift: Drift[] = []
  const compare = (field: Drift['field'], before: readonly Item[], after: readonly Item[]): void => {
    const gone = [...before]
    const come = after.filter((item) => {
      const index = gone.findIndex((other) => sameItem(other, item))
      if (index >= 0) gone.splice(index, 1)
      return index < 0
    })
    if (gone.length === 0 && come.length === 0) {
      const moved = after.filter((item, index) => !sameItem(item, before[index]!))
      for (const { name, owner } of moved) drift.push({ field, item: name, owner, change: 'moved' })
    }
    for (const item of come) {
      const index = gone.findIndex((other) => other.key === item.key)
      if (index >= 0) gone.splice(index, 1)
      drift.push({ field, item: item.name, owner: item.owner, change: index >= 0 ? 'changed' : 'added' })
    }
    for (const item of gone) drift.push({ field, item: item.name, owner: item.owner, change: 'removed' })
  }
  for (const field of HEADER_FIELDS) compare(field, itemsOf(base, field), itemsOf(next, field))
  return drift
}

interface Item {
  readonly key: string
  readonly name: string
  readonly owner: Owner
  readonly value: unknown
}

function sameItem(a: Item, b: Item): boolean {
  return a.key === b.key && sameJson(a.value, b.value)
}

/** An owner by its own key, never an inherited property. */
function keyedOwner(owners: Readonly<Record<string, Owner>> | undefined, name: string): Owner {
  return (owners && Object.hasOwn(owners, name) ? owners[name] : undefined) ?? 'loop'
}

function itemsOf(header: EpochHeader, field: (typeof HEADER_FIELDS)[number]): readonly Item[] {
  switch (field) {
    case 'config': return Object.entries<unknown>({ ...header.config }).map(([name, value]) => ({ key: name, name, value, owner: keyedOwner(header.owners.config, name) }))
    case 'tools': return (header.tools ?? []).map((tool) => ({ key: tool.name, name: tool.name, value: tool, owner: keyedOwner(header.owners.tools, tool.name) }))
    case 'system': return sectionsOf(header).map(({ owner, text }, index) => ({ key: owner, name: `${index}`, value: text, owner }))
    default: return (header[field] ?? []).map((value, index) => {
      const owner = header.owners[field]?.[index] ?? 'loop'
      return { key: owner, name: `${index}`, value, owner }
    })
  }
}

/** Splits the system prompt into its sections; one without recorded sections is a single section of the loop. */
export function sectionsOf(header: Pick<EpochHeader, 'system' | 'owners'>): readonly { readonly owner: Owner; readonly text: string }[] {
  const { system = '', owners } = header
  const sections = owners.system ?? (system === '' ? [] : [{ owner: 'loop', length: system.length }])
  let start = 0
  return sections.map(({ owner, length }) => {
    const text = system.slice(start, start + length)
    start += length + 2
    return { owner, text }
  })
}
