/** How a text is folded before it is searched. */
export interface Folding {
  /** Takes composed and decomposed characters (NFC, NFD), and spaces that do not break (NBSP) and plain ones, for the same. */
  readonly loose: boolean
}

/** A folded text: line breaks are `\n`. Offsets in it map to the original. */
export interface FoldedText {
  readonly text: string
  /**
   * The offset in the original of an offset in `text`; `undefined` for one inside a character or a line break there.
   * `at` up to its length.
   */
  originalAt(at: number): number | undefined
}

const BREAK = /\r\n?/g
// A character with marks behind it, or Hangul syllables written as their letters; line breaks; spaces that do not break.
const LOOSE = /\r\n?|[\u00a0\u2007\u202f]|[\u1100-\u115f][\u1160-\u11ff]+|[^\p{M}\r\n][\p{M}]+|[\u0340\u0341\u0374\u037e\u0387\u1f71-\u1ffd\u212a\u212b\uf900-\ufaff]/gu

/** Folds a text. One that needs no folding is its own. */
export function fold(original: string, { loose }: Folding): FoldedText {
  const pattern = loose ? LOOSE : BREAK
  const pieces: string[] = []
  const changes: Change[] = []
  let from = 0
  let length = 0
  for (const { 0: found, index } of original.matchAll(pattern)) {
    const folded = foldPiece(found)
    if (folded === found) continue
    pieces.push(original.slice(from, index), folded)
    length += index - from
    changes.push({ at: length, length: folded.length, original: index, originalLength: found.length })
    length += folded.length
    from = index + found.length
  }
  pieces.push(original.slice(from))
  return { text: pieces.join(''), originalAt: (at) => originalAt(at, changes) }
}

function foldPiece(piece: string): string {
  if (piece.startsWith('\r')) return '\n'
  return /^[\u00a0\u2007\u202f]$/.test(piece) ? ' ' : piece.normalize('NFC')
}

/** A piece that differs in the folded text: its offsets and lengths in both. */
interface Change {
  readonly at: number
  readonly length: number
  readonly original: number
  readonly originalLength: number
}

function originalAt(at: number, changes: readonly Change[]): number | undefined {
  let [low, high] = [0, changes.length]
  // The last change that begins before the place.
  while (low < high) {
    const middle = (low + high) >> 1
    if (changes[middle]!.at < at) low = middle + 1
    else high = middle
  }
  const change = changes[low - 1]
  if (!change) return at
  const behind = at - change.at - change.length
  return behind < 0 ? undefined : change.original + change.originalLength + behind
}
