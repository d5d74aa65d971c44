const WHITE_SPACE = /^\p{White_Space}$/u

/** A text without its trailing Unicode White_Space. `trimEnd` knows another set: it leaves U+0085 and takes U+FEFF. */
export function stripTrailing(text: string): string {
  // By hand, from the end: an unanchored /\p{White_Space}+$/ is quadratic in a long run of spaces. All of White_Space is one code unit.
  let end = text.length
  while (end > 0 && WHITE_SPACE.test(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/** True for a text of nothing but Unicode White_Space. */
export function isBlankText(text: string): boolean {
  return stripTrailing(text) === ''
}

/** Texts as paragraphs: joined by one blank line. */
export function paragraphs(texts: readonly string[]): string {
  return texts.join('\n\n')
}

/** One row, in a context's facts and in an environment block. */
export function row(key: string, value: string): string {
  return `- ${key}: ${value}`
}
