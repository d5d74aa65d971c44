import { posix } from 'node:path'
import type { Import } from './imports.ts'

/** Rooms: folders in a folder of sources, the highest first. A file imports from its own room and from rooms below. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  'packages/agent/src': ['services', 'life', 'turn', 'seams', 'contract'],
  'packages/headrace/src/cli': ['commands', 'show', 'base'],
}

/** An import of one file of a package by another, both from the package's folder: `src/turn/loop.ts`. */
export interface Arrow {
  readonly from: string
  readonly to: string
}

/** What files of a package import of each other; types count. */
export function arrowsOf(imports: readonly Import[]): readonly Arrow[] {
  return imports.filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ file, specifier }) => ({ from: file, to: posix.join(posix.dirname(file), specifier) }))
}

/** Arrows from a room to one above it, each as a line; the rooms are in `folder`, which is of the package. */
export function upward(arrows: readonly Arrow[], folder: string, order: readonly string[]): readonly string[] {
  const floorOf = (file: string): number => order.findIndex((room) => file.startsWith(`${folder}/${room}/`))
  return [...new Set(arrows.flatMap(({ from, to }) => {
    const [own, other] = [floorOf(from), floorOf(to)]
    return other >= 0 && other < own ? [`${from} imports ${to}: ${order[other]}/ is above ${order[own]}/`] : []
  }))]
}

/**
 * Files of which each reaches all the others by imports, where there are more than two: the smallest circle in each such group, as a line,
 * and how many files the group has.
 */
export function circles(arrows: readonly Arrow[]): readonly string[] {
  const next = new Map<string, Set<string>>()
  for (const { from, to } of arrows) if (from !== to) next.set(from, (next.get(from) ?? new Set()).add(to))
  const reach = new Map([...next.keys()].map((file) => [file, reachable(file, next)]))
  const left = new Set(next.keys())
  const found: string[] = []
  for (const file of left) {
    const group = [...reach.get(file)!].filter((other) => reach.get(other)?.has(file)).toSorted()
    for (const other of group) left.delete(other)
    if (group.length < 3) continue
    const inside = new Map(group.map((one) => [one, new Set([...next.get(one)!].filter((other) => group.includes(other)))]))
    const shortest = group.map((one) => circleThrough(one, inside)).toSorted((a, b) => a.length - b.length).find(({ length }) => length > 3)
    found.push(`${group.length} files import each other in a circle: ${(shortest ?? group).join(' → ')}`)
  }
  return found
}

function reachable(start: string, next: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const seen = new Set<string>()
  const waiting = [start]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    for (const other of next.get(file) ?? []) {
      if (seen.has(other)) continue
      seen.add(other)
      waiting.push(other)
    }
  }
  return seen
}

/** The shortest way of a file back to itself, both ends named. */
function circleThrough(start: string, next: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const ways: (readonly string[])[] = [[start]]
  const seen = new Set<string>()
  for (let way = ways.shift(); way; way = ways.shift()) {
    for (const other of next.get(way.at(-1)!) ?? []) {
      if (other === start) return [...way, start]
      if (seen.has(other)) continue
      seen.add(other)
      ways.push([...way, other])
    }
  }
  return []
}
