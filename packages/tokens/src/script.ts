/** First code unit behind a block of scripts, and tokens per code unit in it; in order. Rounded up from running text under o200k_base. */
const blocks: readonly (readonly [end: number, weight: number])[] = [
  [0x00C0, 1], // Latin-1 signs
  [0x0250, 0.4], // Latin with diacritics: the rest of the word is counted as a word
  [0x0370, 0.7], // phonetic, combining marks
  [0x0400, 0.5], // Greek
  [0x0530, 0.38], // Cyrillic
  [0x0590, 0.6], // Armenian
  [0x0600, 0.56], // Hebrew
  [0x0780, 0.45], // Arabic, Syriac
  [0x0900, 0.8],
  [0x0980, 0.45], // Devanagari
  [0x0E00, 0.55], // other scripts of India
  [0x0E80, 0.45], // Thai
  [0x1100, 0.8], // Lao, Tibetan, Burmese, Georgian
  [0x1200, 0.8], // Hangul Jamo
  [0x1E00, 0.9],
  [0x2000, 0.5], // Latin with more diacritics, Greek with more
  [0x3000, 1], // punctuation, arrows, box drawing, symbols
  [0x3040, 0.9], // CJK punctuation
  [0x3100, 0.85], // Hiragana, Katakana
  [0x3400, 1],
  [0x4E00, 1.5], // rare Han
  [0xA000, 0.92], // Han
  [0xAC00, 1],
  [0xD7B0, 0.82], // Hangul
  [0xE000, 1.1], // surrogates: emoji and the rest, by halves
  [0xFF00, 1],
  [0x10000, 1], // full-width forms
]

/** Tokens per code unit outside ASCII. */
export function scriptWeight(code: number): number {
  let low = 0
  let high = blocks.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (code < (blocks[middle]?.[0] ?? 0)) high = middle
    else low = middle + 1
  }
  return blocks[low]?.[1] ?? 1
}
