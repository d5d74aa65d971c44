/** What can be wrong with an instruction file. */
export type DiagnosticCode =
  | 'NOT_A_FILE' | 'TOO_LARGE' | 'UNREADABLE' | 'NOT_TEXT' | 'BLANK'
  | 'OUTSIDE' | 'LINK_DANGLING' | 'LINK_LOOP' | 'LINK_AS_TEXT'
  | 'IMPORT_MISSING' | 'IMPORT_CYCLE' | 'IMPORT_DEPTH' | 'IMPORT_LIMIT'
  | 'OVER_BUDGET'

/** What is wrong with a file, and what became of it. Never an error that is thrown: the other files are told. */
export interface Diagnostic {
  readonly code: DiagnosticCode
  /** Absolute. */
  readonly path: string
  /** What goes behind the path and a colon. */
  readonly problem: string
}

/** One line for people. */
export function diagnosticLine({ path, problem }: Diagnostic): string {
  return `${path}: ${problem}`
}

/** The same files looked at twice, in two folders' accounts, say a thing once. */
export function distinct(diagnostics: Iterable<Diagnostic>): readonly Diagnostic[] {
  return [...new Map([...diagnostics].map((diagnostic) => [`${diagnostic.code} ${diagnosticLine(diagnostic)}`, diagnostic])).values()]
}
