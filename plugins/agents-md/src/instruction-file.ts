import { sep } from 'node:path'
import { type FileProblem, type FileSystem, StampedFiles, decodeText, isInside } from '@headrace/files'
import { type Digest, sha256 } from '@headrace/message'
import { findImports } from './imports.ts'

/** What can be wrong with an instruction file. */
export type DiagnosticCode =
  | 'NOT_A_FILE' | 'TOO_LARGE' | 'UNREADABLE' | 'NOT_TEXT' | 'BLANK'
  | 'OUTSIDE' | 'LINK_DANGLING' | 'LINK_LOOP' | 'LINK_AS_TEXT'
  | 'IMPORT_MISSING' | 'IMPORT_CYCLE' | 'IMPORT_DEPTH' | 'IMPORT_LIMIT'
  | 'OVER_BUDGET' | 'OTHER_AGENT'

/** What is wrong with a file, and what was done. Never thrown: the other files are still told. */
export interface Diagnostic {
  readonly code: DiagnosticCode
  /** Absolute. */
  readonly path: string
  /** The text after the path and a colon. */
  readonly problem: string
}

/** One line for people. */
export function diagnosticLine({ path, problem }: Diagnostic): string {
  return `${path}: ${problem}`
}

/** A file that holds text. The same object as long as the file is the same. */
export interface InstructionText {
  readonly path: string
  /** Absolute, without links. */
  readonly real: string
  readonly text: string
  /** Of the text: equal whatever the byte order mark and the kind of line ends. */
  readonly digest: Digest
  /** Paths that it imports with `@`. */
  readonly imports: readonly string[]
}

/** Text, what is wrong with the file, or `undefined`: there is no file. */
export type Found = InstructionText | Diagnostic | undefined

/** Instruction files inside some folders, each read once as long as it does not change. */
export type InstructionFiles = StampedFiles<InstructionText | Diagnostic>

/**
 * @param roots real paths of the folders that a file may be in
 * @param maxSize bytes of one file
 */
export function instructionFiles(files: FileSystem, roots: readonly string[], maxSize: number): InstructionFiles {
  return new StampedFiles({
    files, maxSize,
    admits: (real) => roots.some((root) => isInside(root, real)),
    make: ({ path, real, bytes }) => textOf(path, real, bytes),
    problem: (problem) => ({ code: problem.code, path: problem.path, problem: wordsFor(problem, maxSize) }),
  })
}

function textOf(path: string, real: string, bytes: Uint8Array): InstructionText | Diagnostic {
  const decoded = decodeText(bytes)
  const refused = (code: DiagnosticCode, problem: string): Diagnostic => ({ code, path, problem })
  if ('problem' in decoded) return refused('NOT_TEXT', `${decoded.problem}; it is left out`)
  const text = withoutLineEnds(decoded.text)
  if (text.trim() === '') return refused('BLANK', 'is empty, and is left out')
  if (isLinkText(text)) {
    return refused('LINK_AS_TEXT', 'holds nothing but a path: a symbolic link that was checked out as text; it is left out. '
      + 'Check it out as a link, or import it with @')
  }
  return { path, real, text, digest: sha256(text), imports: findImports(text) }
}

function wordsFor(problem: FileProblem, maxSize: number): string {
  switch (problem.code) {
    case 'LINK_DANGLING': return 'is a symbolic link to nothing, and is left out'
    case 'LINK_LOOP': return 'is a symbolic link that leads in a circle, and is left out'
    case 'OUTSIDE': return 'leads outside of the project, and is not read; name the folder it leads to in roots to allow it'
    case 'NOT_A_FILE': return `is a ${problem.kind}, not a file, and is left out`
    case 'TOO_LARGE': return `is larger than ${maxSize} bytes, and is left out; shorten it, or raise maxFile`
    case 'UNREADABLE': return `cannot be read, and is left out: ${problem.reason}`
  }
}

/** Not a regular expression: `/\n+$/` is quadratic. */
function withoutLineEnds(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return text.slice(0, end)
}

/** True for the text of a symbolic link that was checked out as a file: one relative path and nothing else. */
export function isLinkText(text: string): boolean {
  if (text.length > 4_096 || /[\s:@<>"|?*`]/.test(text)) return false
  return /^\.{0,2}\/./.test(text) || /[^/]\/[^/]/.test(text) || /\.(?:md|mdc|markdown|txt)$/i.test(text)
}

/** A path on one line that closes no quotes: `/` between names, control characters, quotes and angle brackets as `%0A`. */
export function shownPath(path: string): string {
  const slashed = sep === '/' ? path : path.replaceAll(sep, '/')
  return slashed.replace(/[%"<>\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, encodeURIComponent)
}
