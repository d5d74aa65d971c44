type Part =
  | { readonly kind: 'literal'; readonly char: string }
  | { readonly kind: 'any' | 'star' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] }

/**
 * A glob for one name: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before a character that means itself.
 *
 * Matching takes at most pattern × name steps. The well-known glob libraries compile to a backtracking expression, where
 * eight stars on a name of sixty characters take minutes.
 */
export function compileSegment(segment: string): (name: string) => boolean {
  const parts = parse(segment)
  if (parts.every((part) => part.kind === 'literal')) {
    const literal = parts.map((part) => part.char).join('')
    return (name) => name === literal
  }
  return (name) => matches(parts, Array.from(name))
}

/** True where a segment says more than one name. */
export function isMagic(segment: string): boolean {
  for (let at = 0; at < segment.length; at++) {
    if (segment[at] === '\\') at++
    else if ('*?[{'.includes(segment[at] as string)) return true
  }
  return false
}

function parse(segment: string): Part[] {
  const chars = Array.from(segment)
  const parts: Part[] = []
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] as string
    if (char === '*') {
      parts.push({ kind: 'star' })
    } else if (char === '?') {
      parts.push({ kind: 'any' })
    } else if (char === '[') {
      const end = classEnd(chars, at)
      parts.push(end < 0 ? { kind: 'literal', char } : parseClass(chars.slice(at + 1, end)))
      if (end >= 0) at = end
    } else {
      if (char === '\\' && at + 1 < chars.length) at++
      parts.push({ kind: 'literal', char: chars[at] as string })
    }
  }
  return parts
}

/** A `]` right behind `[` or `[!` is a member. */
function classEnd(chars: readonly string[], start: number): number {
  let at = start + 1
  if (chars[at] === '!' || chars[at] === '^') at++
  if (chars[at] === ']') at++
  for (; at < chars.length; at++) {
    if (chars[at] === '\\') at++
    else if (chars[at] === ']') return at
  }
  return -1
}

function parseClass(body: readonly string[]): Part {
  const negated = body[0] === '!' || body[0] === '^'
  const members = body.slice(negated ? 1 : 0)
  const ranges: (readonly [string, string])[] = []
  let at = 0
  const next = (): string => {
    if (members[at] === '\\' && at + 1 < members.length) at++
    return members[at++] as string
  }
  while (at < members.length) {
    const low = next()
    const isRange = members[at] === '-' && at + 1 < members.length
    if (isRange) at++
    ranges.push([low, isRange ? next() : low])
  }
  return { kind: 'class', negated, ranges }
}

/** On a mismatch only the last star takes one character more: an earlier one could not help. */
function matches(parts: readonly Part[], name: readonly string[]): boolean {
  let part = 0
  let char = 0
  let star = -1
  let starChar = 0
  while (char < name.length) {
    const wanted = parts[part]
    if (wanted?.kind === 'star') {
      star = part++
      starChar = char
    } else if (wanted !== undefined && takes(wanted, name[char] as string)) {
      part++
      char++
    } else if (star >= 0) {
      part = star + 1
      char = ++starChar
    } else {
      return false
    }
  }
  while (parts[part]?.kind === 'star') part++
  return part === parts.length
}

function takes(part: Part, char: string): boolean {
  if (part.kind === 'literal') return part.char === char
  if (part.kind === 'class') return part.ranges.some(([low, high]) => inRange(char, low, high)) !== part.negated
  return part.kind === 'any'
}

function inRange(char: string, low: string, high: string): boolean {
  const code = char.codePointAt(0) ?? 0
  return code >= (low.codePointAt(0) ?? 0) && code <= (high.codePointAt(0) ?? 0)
}
