/** UTF-16 units of a run without a word boundary that are counted in one go. No word, number, rule or indentation is as long. */
export const RUN_LIMIT = 256

// The classes between which tokenizers cut a text before they merge; each alternative stops at the limit. Digits are cut by threes anyway.
const RUNS = new RegExp(`[\\p{L}\\p{M}]{1,${RUN_LIMIT}}|[^\\s\\p{L}\\p{N}]{1,${RUN_LIMIT}}|[\\s/]{1,${RUN_LIMIT}}`, 'gu')

/**
 * Cuts a text so that no piece has a long run: merging byte pairs takes time quadratic in the length of a run, and a
 * megabyte of one letter would block for minutes. A text without such a run comes back whole.
 */
export function cutRuns(text: string): readonly string[] {
  if (text.length < RUN_LIMIT) return [text]
  const pieces: string[] = []
  let start = 0
  for (const { 0: run, index } of text.matchAll(RUNS)) {
    if (run.length < RUN_LIMIT) continue
    const end = index + run.length
    pieces.push(text.slice(start, end))
    start = end
  }
  if (start < text.length) pieces.push(text.slice(start))
  return pieces
}
