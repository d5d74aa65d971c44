import { type Digest, sha256 } from '@headrace/message'
import type { Part } from './gather.ts'
import type { Diagnostic } from './instruction-file.ts'

/** The text told about some files. */
export interface Rendering {
  /** One frame for each file; empty without files. */
  readonly text: string | undefined
  /** Digests of the files that are told whole. */
  readonly whole: ReadonlySet<Digest>
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Frames files, and spends the budget from the last, the most specific, to the first: a text that does not fit is cut,
 * with a notice that names its file.
 *
 * @param budget bytes of text; frames and notices come on top
 * @param shown how a path is told
 */
export function render(parts: readonly Part[], budget: number, shown: (path: string) => string): Rendering {
  let left = budget
  const frames: string[] = []
  const whole = new Set<Digest>()
  const diagnostics: Diagnostic[] = []
  for (const { file, importedBy } of parts.toReversed()) {
    const name = shown(file.path)
    const text = cut(file.text, left)
    left -= Buffer.byteLength(text)
    if (text === file.text) whole.add(file.digest)
    else {
      left = 0
      frames.unshift(`[${text === '' ? `${name} is left out` : `${name} goes on, the rest is left out`}: there is room for ${budget} bytes of instructions. Read the file for what is missing.]`)
      diagnostics.unshift({ code: 'OVER_BUDGET', path: file.path, problem: `${text === '' ? 'is left out' : 'is cut'}: there is room for ${budget} bytes of instructions; shorten the files, or raise budget` })
    }
    if (text !== '') frames.unshift(frame(text, name, importedBy === undefined ? undefined : shown(importedBy)))
  }
  return { text: frames.length === 0 ? undefined : frames.join('\n\n'), whole, diagnostics }
}

/** The exact text between two marks; the closing mark does not occur in the text. */
function frame(text: string, path: string, importedBy: string | undefined): string {
  const id = idOf(text)
  return `<file path="${path}"${importedBy === undefined ? '' : ` imported-by="${importedBy}"`} id="${id}">\n${text}\n</file id="${id}">`
}

/** The first digits of the text's digest: the shortest prefix that the text does not contain. */
function idOf(text: string): string {
  const digest = sha256(text)
  let length = 8
  while (length < digest.length && text.includes(digest.slice(0, length))) length++
  return digest.slice(0, length)
}

/** As much of a text as fits into a number of UTF-8 bytes, cut between characters; empty if only white space fits. */
export function cut(text: string, bytes: number): string {
  // No UTF-16 unit has less than one byte, so a pair that the slice breaks stands behind the cut.
  if (text.length <= bytes && Buffer.byteLength(text) <= bytes) return text
  const encoded = Buffer.from(text.slice(0, bytes))
  let end = Math.min(bytes, encoded.length)
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end--
  const kept = encoded.toString('utf8', 0, end)
  return kept.trim() === '' ? '' : kept
}

/** The words around files. Pure functions of the text, so that a later process can tell what was said. */
export const projectWords = {
  first: (frames: string): string =>
    `Instructions for work in this project, from its AGENTS.md files: the most general first, and where two disagree the later one holds.\n\n${frames}`,
  changed: (text: string): string => `This replaces the instructions for work in this project that were given earlier; those for single folders stand.\n\n${text}`,
  removed: (): string => 'The instructions for work in this project that were given earlier no longer hold: their files are gone. Those for single folders stand.',
} as const

/** The same for a folder that a tool touched. */
export const folderWords = {
  first: (folder: string, frames: string): string => `Instructions for work in ${folder}, from the AGENTS.md files there: where they disagree with more general ones, they hold.\n\n${frames}`,
  changed: (folder: string, text: string): string => `This replaces the instructions for work in ${folder} that were given earlier.\n\n${text}`,
  removed: (folder: string): string => `The instructions for work in ${folder} that were given earlier no longer hold: their files are gone.`,
} as const
