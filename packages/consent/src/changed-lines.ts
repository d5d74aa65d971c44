/** What a change does to a text. */
export interface Changed {
  /** As a unified diff has them: `-` goes, `+` comes, a blank stays. All that changes is between the first and the last of them. */
  readonly lines: readonly string[]
  readonly removed: number
  readonly added: number
}

/** Lines that stay, shown around a change. */
const AROUND = 3

/**
 * The lines from the first to the last that a change touches. It looks for no smaller diff: nothing that changes can hide in one that a
 * clever algorithm chose.
 */
export function changedLines(before: string, after: string): Changed {
  const [old, next] = [before.split('\n'), after.split('\n')]
  const shorter = Math.min(old.length, next.length)
  let start = 0
  while (start < shorter && old[start] === next[start]) start++
  let end = 0
  while (end < shorter - start && old.at(-1 - end) === next.at(-1 - end)) end++
  const removed = old.slice(start, old.length - end)
  const added = next.slice(start, next.length - end)
  const lines = [
    ...old.slice(Math.max(0, start - AROUND), start).map((line) => `  ${line}`),
    ...removed.map((line) => `- ${line}`),
    ...added.map((line) => `+ ${line}`),
    ...old.slice(old.length - end, Math.min(old.length, old.length - end + AROUND)).map((line) => `  ${line}`),
  ]
  return { lines: removed.length + added.length === 0 ? [] : lines, removed: removed.length, added: added.length }
}
