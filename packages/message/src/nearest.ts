/** `; did you mean "clock"?` where one of the names is near enough to be meant, else nothing. */
export function nearest(name: string, names: Iterable<string>): string {
  let best: { readonly name: string; readonly distance: number } | undefined
  for (const other of new Set(names)) {
    // Upper and lower case are a slip, and no letter of another word; they decide between two that are as near.
    const distance = distanceOf(name.toLowerCase(), other.toLowerCase()) + distanceOf(name, other) / 1_000_000
    if (Math.floor(distance) <= Math.max(1, Math.floor(name.length / 4)) && (!best || distance < best.distance))
      best = { name: other, distance }
  }
  return best ? `; did you mean ${JSON.stringify(best.name)}?` : ''
}

/** Letters to insert, remove, replace or swap with their neighbour. */
export function distanceOf(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= a.length; row++) {
    const now = [row]
    for (let column = 1; column <= b.length; column++) {
      const [above, left] = [rows[row - 1]!, now[column - 1]!]
      const same = a[row - 1] === b[column - 1]
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      now.push(
        Math.min(
          above[column]! + 1,
          left + 1,
          above[column - 1]! + (same ? 0 : 1),
          swapped ? rows[row - 2]![column - 2]! + 1 : Infinity,
        ),
      )
    }
    rows.push(now)
  }
  return rows[a.length]![b.length]!
}
