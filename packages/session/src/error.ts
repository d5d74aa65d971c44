import { HeadraceError } from '@headrace/message'

/** A log that breaks its own rules, or an append that would make it so. `seq` is where. */
export class LogError extends HeadraceError {
  readonly seq: number | undefined

  constructor(problem: string, seq?: number, code = 'LOG_INVALID') {
    super(code, seq === undefined ? problem : `event ${seq}: ${problem}`)
    this.seq = seq
  }
}

/** Codes that mean no damage: the log was written by a version of headrace that this one cannot read. */
export const OTHER_VERSION: ReadonlySet<string> = new Set(['LOG_VERSION', 'LOG_UNKNOWN_REQUIRED'])

/** The session is leased by another writer (L18). `holder` says who, e.g. `pid 4711 on host since …`. */
export class SessionBusyError extends HeadraceError {
  readonly holder: string

  constructor(id: string, holder: string) {
    super('SESSION_BUSY', `session ${id} is being written by ${holder}; end that one, or start a new session`)
    this.holder = holder
  }
}

export class SessionNotFoundError extends HeadraceError {
  constructor(id: string) {
    super('SESSION_NOT_FOUND', `there is no session ${JSON.stringify(id)}`)
  }
}

export class SessionExistsError extends HeadraceError {
  constructor(id: string) {
    super('SESSION_EXISTS', `there is a session ${JSON.stringify(id)} already; resume it, or choose another id`)
  }
}

/** The session takes no more events: it was closed, its lease was lost, or its store failed. What was appended before stands. */
export class SessionClosedError extends HeadraceError {
  constructor(id: string, why: string, options?: ErrorOptions) {
    super('SESSION_CLOSED', `session ${id} takes no more events: ${why}`, options)
  }
}
