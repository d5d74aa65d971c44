import { HeadraceError } from '@headrace/message'

/** A position in a file; lines and columns count from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** A problem of an app, and its position. It quotes no value of a config. */
export interface Problem {
  readonly place: Place
  /** The entry it is about. */
  readonly entry?: string
  readonly message: string
}

/** `cordis.yml:4:3: clock: …`. */
export function lineOf({ place: { file, line, column }, entry, message }: Problem): string {
  return `${file}:${line}:${column}: ${entry === undefined ? '' : `${entry}: `}${message}`
}

/** An app that cannot be booted as its file says: `APP_INVALID` before anything was started, else `APP_NOT_ACTIVE`. */
export class LoaderError extends HeadraceError {
  readonly problems: readonly Problem[]

  constructor(code: 'APP_INVALID' | 'APP_NOT_ACTIVE', problems: readonly Problem[]) {
    super(code, problems.map(lineOf).join('\n'))
    this.problems = problems
  }
}
