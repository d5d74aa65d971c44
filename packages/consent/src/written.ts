/** Nobody sees these as what they are: controls, what has no width, is private or not assigned, separators, spaces but for U+0020. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu
/** Marks that enclose what stands in front of them; and more than three marks on one letter, or one on none. */
const FLOOD = /\p{Me}|(?<=\p{M}{3})\p{M}|(?<![\p{L}\p{N}\p{M}\p{P}\p{S}])\p{M}/gu
/** A word of Latin letters has no others that look like them, and full-width letters are no Latin ones. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu
const LATIN = /\p{Script=Latin}/u
const ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Coptic}]/gu
const WIDE = /[\uff01-\uff5e\u{1d400}-\u{1d7ff}]/gu

/**
 * A text as a person must see it before they consent: every character that is not seen, is seen as another, or hides one is written out,
 * e.g. `\u200b`. Line feeds stay; a tab is `\t`.
 */
export function written(text: string): string {
  return text
    .replace(/[^\n]+/g, (line) => line.replace(FLOOD, escaped).replace(UNSEEN, escaped).replace(WIDE, escaped).replace(WORD, wordWritten))
}

/** The same on one line. */
export function writtenLine(text: string): string {
  return written(text).replaceAll('\n', '\\n')
}

function wordWritten(word: string): string {
  return LATIN.test(word) ? word.replace(ALIKE, escaped) : word
}

function escaped(char: string): string {
  if (char === '\t') return '\\t'
  if (char === '\r') return '\\r'
  const code = char.codePointAt(0)!
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
}
